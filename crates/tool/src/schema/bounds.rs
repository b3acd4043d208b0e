//! What a schema may cost: whoever writes one decides how much is asked about a value, and how deep.
//!
//! The library asks without a budget, and calls itself for every schema in a schema. A schema of some lines whose
//! references lead to one another twice each would keep it busy for years, and a long chain of them end the process.

use super::graph::Graph;
use serde_json::Value;

/// Schemas in one another, references followed.
const MAX_LEVELS: usize = 1000;
/// With fewer of them, and no more schemas in all than these, nothing that is asked about a value is worth counting.
const PLAIN_LEVELS: usize = 64;
const PLAIN_SIZE: usize = 10_000;
/// Questions about one value with all its parts.
const MAX_QUESTIONS: usize = 1_000_000;
/// Questions that follow from one another.
const MAX_DEPTH: usize = 10_000;
/// Enough for as many levels and as deep questions as there may be.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// What is asked about a value is counted first, since the schema may ask without end.
#[derive(Debug)]
pub(super) struct Bounds(Option<Graph>);

impl Bounds {
    /// # Errors
    /// A schema that is too deep, or that has to be asked before it can be asked.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let graph = Graph::of(schema);
        if let Some(reference) = circle(&graph) {
            return Err(format!("the $ref '{reference}' leads back to itself"));
        }
        let extent = Extent::of(&graph);
        if extent.levels > MAX_LEVELS {
            return Err(format!("its schemas stand more than {MAX_LEVELS} levels deep in one another"));
        }
        let is_plain = !extent.is_recursive && extent.levels <= PLAIN_LEVELS && extent.size <= PLAIN_SIZE;
        Ok(Self((!is_plain).then_some(graph)))
    }

    /// Does what needs the schema to be walked, on a stack that is large enough.
    pub(super) fn roomy<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Option<T> {
        if self.0.is_none() {
            return Some(work());
        }
        std::thread::scope(|scope| {
            let thread =
                std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).ok()?;
            thread.join().ok()
        })
    }

    /// Asks about the value, unless the schema asks too much about it.
    pub(super) fn within<T: Send>(&self, value: &Value, ask: impl FnOnce() -> T + Send) -> Option<T> {
        let Some(graph) = &self.0 else { return Some(ask()) };
        let (mut open, mut questions) = (vec![(0, value, 0)], 0);
        let mut deepest = 0;
        while let Some((node, value, depth)) = open.pop() {
            questions += 1;
            deepest = deepest.max(depth);
            if questions + open.len() > MAX_QUESTIONS || depth > MAX_DEPTH {
                return None;
            }
            graph.nodes[node].about(value, &mut |node, value| open.push((node, value, depth + 1)));
        }
        if deepest <= PLAIN_LEVELS { Some(ask()) } else { self.roomy(ask) }
    }
}

/// How much there is of a schema, references followed.
#[derive(Clone, Copy, Default)]
struct Extent {
    levels: usize,
    size: usize,
    is_recursive: bool,
}

impl Extent {
    fn of(graph: &Graph) -> Self {
        let mut extents: Vec<Option<Self>> = vec![None; graph.nodes.len()];
        let mut is_recursive = false;
        let asked: Vec<Vec<usize>> = graph.nodes.iter().map(|node| node.all().collect()).collect();
        walk(&asked, &mut |step| match step {
            Step::Back(_) => is_recursive = true,
            Step::Done(node) => {
                let inner = asked[node].iter().filter_map(|inner| extents[*inner]);
                let sum = inner.fold(Self::default(), |sum, inner| Self {
                    levels: sum.levels.max(inner.levels),
                    size: sum.size.saturating_add(inner.size),
                    is_recursive: false,
                });
                let (levels, size) = (sum.levels + 1, sum.size.saturating_add(1));
                extents[node] = Some(Self { levels, size, is_recursive: false });
            }
        });
        Self { is_recursive, ..extents.first().copied().flatten().unwrap_or_default() }
    }
}

/// The reference that leads back to itself without looking at a part of the value first.
fn circle(graph: &Graph) -> Option<String> {
    let same: Vec<Vec<usize>> = graph.nodes.iter().map(|node| node.same.clone()).collect();
    let mut found = None;
    walk(&same, &mut |step| {
        if let Step::Back(node) = step
            && found.is_none()
        {
            found = Some(graph.nodes[node].reference.clone().unwrap_or_else(|| "#".to_owned()));
        }
    });
    found
}

enum Step {
    /// Everything behind this one was seen.
    Done(usize),
    /// This one leads back to one that it stands in.
    Back(usize),
}

/// Visits everything once, what is asked before what asks it, without calling itself.
fn walk(edges: &[Vec<usize>], step: &mut dyn FnMut(Step)) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Open,
        Done,
    }
    let mut seen = vec![Seen::Not; edges.len()];
    for start in 0..edges.len() {
        let mut open = if seen[start] == Seen::Not { vec![(start, 0)] } else { Vec::new() };
        while let Some((node, next)) = open.pop() {
            seen[node] = Seen::Open;
            let Some(inner) = edges[node].get(next).copied() else {
                seen[node] = Seen::Done;
                step(Step::Done(node));
                continue;
            };
            open.push((node, next + 1));
            match seen[inner] {
                Seen::Not => open.push((inner, 0)),
                Seen::Open => step(Step::Back(node)),
                Seen::Done => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::Schema;
    use serde_json::{Value, json};

    fn chain(length: usize, link: impl Fn(&str) -> Value, last: &Value) -> Value {
        let mut types: serde_json::Map<_, _> =
            (0..length).map(|at| (format!("T{at}"), link(&format!("#/$defs/T{}", at + 1)))).collect();
        types.insert(format!("T{length}"), last.clone());
        json!({ "$ref": "#/$defs/T0", "$defs": types })
    }

    fn nested(levels: usize, innermost: Value) -> Value {
        (0..levels).fold(innermost, |inner, _| json!({ "x": inner }))
    }

    /// FL-17: a small schema that asks the same again and again is not asked at all.
    #[test]
    fn what_would_be_asked_without_end_is_not_asked() {
        let twice = |next: &str| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] });
        let in_fields =
            |next: &str| json!({ "properties": { "x": { "anyOf": [{ "$ref": next }, { "$ref": next }] } } });
        let itself = json!({ "properties": { "x": { "oneOf": [{ "$ref": "#" }, { "$ref": "#" }, { "type": "integer" }] } } });
        let named = json!({ "$id": "http://a/b", "allOf": [{ "$ref": "c" }], "$defs": { "c": {
            "$id": "http://a/c", "$ref": "#t0", "$defs": (0..61).map(|at| { let next = format!("#t{}", at + 1);
                (format!("T{at}"), json!({ "$anchor": format!("t{at}"), "allOf": [{ "$ref": next }, { "$ref": next }] })) })
                .chain([("T61".to_owned(), json!({ "$anchor": "t61" }))]).collect::<serde_json::Map<_, _>>() } } });
        for (schema, value) in [
            (chain(60, twice, &json!({ "type": "integer" })), json!(1)),
            (chain(60, in_fields, &json!({ "type": "integer" })), nested(60, json!(1))),
            (itself, nested(60, json!("no"))),
            (named, json!(1)),
        ] {
            let schema = Schema::compile(&schema, "value").unwrap();
            assert!(!schema.accepts(&value));
            let problems = schema.check(&value);
            assert_eq!(problems.len(), 1);
            assert!(problems[0].message.contains("asks more"), "{problems:?}");
        }
    }

    /// FL-17: types of themselves are asked as far as a value goes, on any stack.
    #[test]
    fn what_ends_with_the_value_is_asked() {
        let tree = json!({ "type": "object", "properties": { "x": { "anyOf": [{ "$ref": "#" }, { "type": "null" }] } } });
        let long = chain(200, |next| json!({ "$ref": next }), &json!({ "type": "integer" }));
        let looped = chain(
            100,
            |next| json!({ "allOf": [{ "$ref": next }] }),
            &json!({ "properties": { "x": { "$ref": "#/$defs/T0" } } }),
        );
        let work = move || {
            let tree = Schema::compile(&tree, "value").unwrap();
            assert!(tree.accepts(&nested(100, Value::Null)) && !tree.accepts(&nested(100, json!(1))));
            let message = &tree.check(&nested(3, json!(1)))[0].message;
            assert!(message.contains("x"), "{message}");
            let long = Schema::compile(&long, "value").unwrap();
            assert!(long.accepts(&json!(1)) && !long.accepts(&json!("no")));
            assert!(Schema::compile(&looped, "value").unwrap().accepts(&nested(40, json!({}))));
        };
        std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
    }

    /// FL-17: circles in which no value is looked at, and what is too deep, are no schemas.
    #[test]
    fn what_can_never_be_asked_is_refused() {
        let refused = |schema: &Value| Schema::compile(schema, "value").unwrap_err().message().to_owned();
        let circle = json!({ "$ref": "#/$defs/A", "$defs": {
            "A": { "anyOf": [{ "$ref": "#/$defs/B" }, { "type": "null" }] }, "B": { "$ref": "#/$defs/A" } } });
        assert!(refused(&circle).contains("leads back to itself"), "{}", refused(&circle));
        assert!(refused(&json!({ "$ref": "#" })).contains("'#' leads back"));
        let long = chain(5000, |next| json!({ "$ref": next }), &json!({}));
        assert!(refused(&long).contains("more than 1000 levels"), "{}", refused(&long));
    }
}
