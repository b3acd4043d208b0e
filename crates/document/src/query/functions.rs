//! The functions of JMESPath.

use super::QueryError;
use super::eval::{Found, Run, order};
use super::plan::{Argument, Plan};
use crate::{Array, Node, Object};
use serde_json::Number;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A function, known when the query was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Avg,
    Ceil,
    Contains,
    EndsWith,
    Floor,
    Join,
    Keys,
    Length,
    Map,
    Max,
    MaxBy,
    Merge,
    Min,
    MinBy,
    NotNull,
    Reverse,
    Sort,
    SortBy,
    StartsWith,
    Sum,
    ToArray,
    ToNumber,
    ToString,
    Type,
    Values,
}

/// What each function is called, and what it takes: `v` a value, `e` an expression, `*` one or more values.
const ALL: [(&str, Function, &str); 26] = [
    ("abs", Function::Abs, "v"),
    ("avg", Function::Avg, "v"),
    ("ceil", Function::Ceil, "v"),
    ("contains", Function::Contains, "vv"),
    ("ends_with", Function::EndsWith, "vv"),
    ("floor", Function::Floor, "v"),
    ("join", Function::Join, "vv"),
    ("keys", Function::Keys, "v"),
    ("length", Function::Length, "v"),
    ("map", Function::Map, "ev"),
    ("max", Function::Max, "v"),
    ("max_by", Function::MaxBy, "ve"),
    ("merge", Function::Merge, "*"),
    ("min", Function::Min, "v"),
    ("min_by", Function::MinBy, "ve"),
    ("not_null", Function::NotNull, "*"),
    ("reverse", Function::Reverse, "v"),
    ("sort", Function::Sort, "v"),
    ("sort_by", Function::SortBy, "ve"),
    ("starts_with", Function::StartsWith, "vv"),
    ("sum", Function::Sum, "v"),
    ("to_array", Function::ToArray, "v"),
    ("to_number", Function::ToNumber, "v"),
    ("to_string", Function::ToString, "v"),
    ("type", Function::Type, "v"),
    ("values", Function::Values, "v"),
];

impl Function {
    pub(super) fn find(name: &str) -> Option<Self> {
        ALL.iter().find(|(known, ..)| *known == name).map(|(_, function, _)| *function)
    }

    fn name(self) -> &'static str {
        ALL.iter().find(|(_, function, _)| *function == self).map_or("?", |(name, ..)| name)
    }

    /// What is wrong with the number or the kind of the arguments.
    pub(super) fn check(self, arguments: &[Argument]) -> Result<(), String> {
        let takes = ALL.iter().find(|(_, function, _)| *function == self).map_or("", |(.., takes)| takes);
        let name = self.name();
        let (is_right, wanted) = match takes {
            "*" => (!arguments.is_empty(), "at least 1 argument".to_owned()),
            "v" => (arguments.len() == 1, "1 argument".to_owned()),
            _ => (arguments.len() == takes.len(), format!("{} arguments", takes.len())),
        };
        if !is_right {
            return Err(format!("{name}() takes {wanted}, not {}", arguments.len()));
        }
        for (at, argument) in arguments.iter().enumerate() {
            let wants_expression = takes.as_bytes().get(at) == Some(&b'e');
            if wants_expression != matches!(argument, Argument::Expression(_)) {
                let kind = if wants_expression { "an expression like &name" } else { "a value" };
                return Err(format!("argument {} of {name}() must be {kind}", at + 1));
            }
        }
        Ok(())
    }
}

/// A function at work, for its errors.
struct Call {
    function: Function,
    offset: usize,
}

impl Run<'_, '_, '_> {
    pub(super) fn call<'a>(
        &mut self,
        function: Function,
        arguments: &'a [Argument],
        offset: usize,
        data: &'a Node,
    ) -> Found<'a> {
        let call = Call { function, offset };
        let mut values = Vec::with_capacity(arguments.len());
        let mut by = &Plan::Current;
        for argument in arguments {
            match argument {
                Argument::Value(plan) => values.push(self.eval(plan, data)?),
                Argument::Expression(plan) => by = plan,
            }
        }
        match (function, &*values) {
            (Function::MaxBy | Function::MinBy, [list]) => self.extreme_by(&call, list, by).map(Cow::Owned),
            (Function::SortBy, [list]) => self.sort_by(&call, list, by).map(Cow::Owned),
            (Function::Map, [list]) => {
                let items =
                    self.array(&call, list)?.iter().map(|item| self.eval(by, item).map(Cow::into_owned));
                Ok(Cow::Owned(items.collect::<Result<Vec<_>, _>>()?.into()))
            }
            (Function::NotNull, _) => {
                let found = values.into_iter().find(|value| !matches!(**value, Node::Null));
                Ok(found.unwrap_or(Cow::Owned(Node::Null)))
            }
            (Function::Merge, _) => self.merge(&call, &values).map(Cow::Owned),
            (Function::ToArray, [value]) if !matches!(**value, Node::Array(_)) => {
                Ok(Cow::Owned(vec![value.clone().into_owned()].into()))
            }
            (Function::ToArray, _) => Ok(values.swap_remove(0)),
            (Function::Contains | Function::EndsWith | Function::StartsWith | Function::Join, [a, b]) => {
                self.of_two(&call, a, b).map(Cow::Owned)
            }
            (_, [value]) => self.of_one(&call, value).map(Cow::Owned),
            _ => Err(self.wrong(&call, "something else", &Node::Null)),
        }
    }

    fn of_one(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        Ok(match call.function {
            Function::Abs => absolute(self.number(call, value)?),
            Function::Ceil => rounded(self.number(call, value)?, f64::ceil),
            Function::Floor => rounded(self.number(call, value)?, f64::floor),
            Function::Sum => self.sum(call, value)?,
            Function::Avg => self.average(call, value)?,
            Function::Keys => {
                let object = self.object(call, value)?;
                Node::Array(object.iter().map(|(name, _)| Node::Text(name.clone())).collect())
            }
            Function::Values => {
                let object = self.object(call, value)?;
                Node::Array(object.iter().map(|(_, node)| node.clone()).collect())
            }
            Function::Length => match value {
                Node::Text(text) => Node::Number(text.chars().count().into()),
                Node::Array(array) => Node::Number(array.len().into()),
                Node::Object(object) => Node::Number(object.len().into()),
                other => return Err(self.wrong(call, "a string, an array or an object", other)),
            },
            Function::Max => self.extreme(call, value, Ordering::Greater)?,
            Function::Min => self.extreme(call, value, Ordering::Less)?,
            Function::Reverse => self.reverse(call, value)?,
            Function::Sort => self.sort(call, value)?,
            Function::ToNumber => match value {
                Node::Number(_) => value.clone(),
                Node::Text(text) => match Node::parse(text.trim()) {
                    Ok(number @ Node::Number(_)) => number,
                    _ => Node::Null,
                },
                _ => Node::Null,
            },
            Function::ToString => match value {
                Node::Text(_) => value.clone(),
                other => self.to_text(other)?,
            },
            Function::Type => value.type_name().into(),
            other => return Err(QueryError::nowhere(format!("{}() lacks an argument", other.name()))),
        })
    }

    fn of_two(&mut self, call: &Call, a: &Node, b: &Node) -> Result<Node, QueryError> {
        Ok(match call.function {
            Function::Contains => match (a, b) {
                (Node::Text(text), Node::Text(part)) => {
                    self.budget.spend(text.len() as u64 / 8)?;
                    Node::Bool(text.contains(&**part))
                }
                (Node::Text(_), _) => Node::Bool(false),
                (Node::Array(array), wanted) => {
                    for item in array {
                        self.budget.spend(1)?;
                        if self.same(item, wanted)? {
                            return Ok(Node::Bool(true));
                        }
                    }
                    Node::Bool(false)
                }
                (other, _) => return Err(self.wrong(call, "an array or a string", other)),
            },
            Function::EndsWith => Node::Bool(self.text(call, a)?.ends_with(self.text(call, b)?)),
            Function::StartsWith => Node::Bool(self.text(call, a)?.starts_with(self.text(call, b)?)),
            _ => {
                let glue = self.text(call, a)?;
                let mut joined = String::new();
                for (at, part) in self.array(call, b)?.iter().enumerate() {
                    let part = self.text(call, part)?;
                    self.budget.spend((glue.len() + part.len()) as u64 / 8 + 1)?;
                    if at > 0 {
                        joined.push_str(glue);
                    }
                    joined.push_str(part);
                }
                joined.as_str().into()
            }
        })
    }

    fn merge(&mut self, call: &Call, values: &[Cow<'_, Node>]) -> Result<Node, QueryError> {
        let mut fields = Vec::new();
        for value in values {
            let object = self.object(call, value)?;
            self.budget.spend(object.len() as u64)?;
            fields.extend(object.iter().map(|(name, node)| (name.clone(), node.clone())));
        }
        Ok(Node::Object(fields.into_iter().collect()))
    }

    fn to_text(&mut self, value: &Node) -> Result<Node, QueryError> {
        let max_bytes = usize::try_from(self.budget.left()).unwrap_or(usize::MAX);
        let text = value.to_json_within(max_bytes);
        let text = text.ok_or_else(|| QueryError::nowhere("to_string() would make too much text"))?;
        self.budget.spend(text.len() as u64)?;
        Ok(text.as_str().into())
    }

    fn reverse(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        match value {
            Node::Text(text) => Ok(text.chars().rev().collect::<String>().as_str().into()),
            Node::Array(array) => {
                self.budget.spend(array.len() as u64)?;
                let mut items: Vec<Node> = array.iter().cloned().collect();
                items.reverse();
                Ok(items.into())
            }
            other => Err(self.wrong(call, "an array or a string", other)),
        }
    }

    fn sum(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.budget.spend(array.len() as u64)?;
        let (mut whole, mut any) = (Some(0i128), 0.0);
        for item in array {
            let number = self.number(call, item)?;
            any += number.as_f64().unwrap_or_default();
            whole = whole.zip(crate::node::whole(number)).and_then(|(sum, more)| sum.checked_add(more));
        }
        let exact = whole.and_then(|sum| i64::try_from(sum).ok()).map(Number::from);
        Ok(exact.or_else(|| Number::from_f64(any)).map_or(Node::Null, Node::Number))
    }

    fn average(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.budget.spend(array.len() as u64)?;
        let mut sum = 0.0;
        for item in array {
            sum += self.number(call, item)?.as_f64().unwrap_or_default();
        }
        // None at all have no average, which JSON has no number for.
        Ok(Number::from_f64(sum / array.len() as f64).map_or(Node::Null, Node::Number))
    }

    fn extreme(&mut self, call: &Call, value: &Node, wanted: Ordering) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.check_comparable(call, array.iter(), "an array of numbers or an array of strings")?;
        let better = |best: &'_ Node, item: &'_ Node| compare(item, best) == wanted;
        let mut items = array.iter();
        let Some(mut best) = items.next() else { return Ok(Node::Null) };
        for item in items {
            if better(best, item) {
                best = item;
            }
        }
        Ok(best.clone())
    }

    fn sort(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.check_comparable(call, array.iter(), "an array of numbers or an array of strings")?;
        self.budget.spend(cost_of_sorting(array.len()))?;
        let mut items: Vec<Node> = array.iter().cloned().collect();
        items.sort_by(compare);
        Ok(items.into())
    }

    fn extreme_by(&mut self, call: &Call, list: &Node, by: &Plan) -> Result<Node, QueryError> {
        let keyed = self.keyed(call, list, by)?;
        let wanted = if call.function == Function::MaxBy { Ordering::Greater } else { Ordering::Less };
        let better = |best: (Node, Node), item: (Node, Node)| {
            if compare(&item.0, &best.0) == wanted { item } else { best }
        };
        Ok(keyed.into_iter().reduce(better).map_or(Node::Null, |(_, item)| item))
    }

    fn sort_by(&mut self, call: &Call, list: &Node, by: &Plan) -> Result<Node, QueryError> {
        let mut keyed = self.keyed(call, list, by)?;
        self.budget.spend(cost_of_sorting(keyed.len()))?;
        keyed.sort_by(|a, b| compare(&a.0, &b.0));
        Ok(Node::Array(keyed.into_iter().map(|(_, item)| item).collect()))
    }

    /// Each item with what it is compared by.
    fn keyed(&mut self, call: &Call, list: &Node, by: &Plan) -> Result<Vec<(Node, Node)>, QueryError> {
        let array = self.array(call, list)?;
        let mut keyed = Vec::with_capacity(array.len());
        for item in array {
            keyed.push((self.eval(by, item)?.into_owned(), item.clone()));
        }
        self.check_comparable(
            call,
            keyed.iter().map(|(key, _)| key),
            "an expression that gives numbers or strings",
        )?;
        Ok(keyed)
    }

    fn check_comparable<'a>(
        &mut self,
        call: &Call,
        mut items: impl Iterator<Item = &'a Node>,
        wanted: &str,
    ) -> Result<(), QueryError> {
        let Some(first) = items.next() else { return Ok(()) };
        let is_fine = |node: &Node| {
            matches!(node, Node::Number(_) | Node::Text(_)) && node.type_name() == first.type_name()
        };
        if !is_fine(first) {
            return Err(self.wrong(call, wanted, first));
        }
        for item in items {
            self.budget.spend(1)?;
            if !is_fine(item) {
                return Err(self.wrong(call, wanted, item));
            }
        }
        Ok(())
    }

    fn number<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a Number, QueryError> {
        match node {
            Node::Number(number) => Ok(number),
            other => Err(self.wrong(call, "a number", other)),
        }
    }

    fn text<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a str, QueryError> {
        node.as_text().ok_or_else(|| self.wrong(call, "a string", node))
    }

    fn array<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a Array, QueryError> {
        node.as_array().ok_or_else(|| self.wrong(call, "an array", node))
    }

    fn object<'a>(&self, call: &Call, node: &'a Node) -> Result<&'a Object, QueryError> {
        node.as_object().ok_or_else(|| self.wrong(call, "an object", node))
    }

    fn wrong(&self, call: &Call, wanted: &str, given: &Node) -> QueryError {
        let message = format!("{}() wants {wanted} and got {}", call.function.name(), given.type_name());
        QueryError::at(self.text, call.offset, message)
    }
}

fn cost_of_sorting(len: usize) -> u64 {
    let len = len as u64;
    len.saturating_mul(u64::from(64 - len.leading_zeros()))
}

/// Numbers by value, texts by code point; others were refused before.
fn compare(a: &Node, b: &Node) -> Ordering {
    match (a, b) {
        (Node::Number(a), Node::Number(b)) => order(a, b).unwrap_or(Ordering::Equal),
        (Node::Text(a), Node::Text(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

fn absolute(number: &Number) -> Node {
    if number.as_i64().is_some_and(i64::is_negative) {
        return Node::Number(number.as_i64().unwrap_or_default().unsigned_abs().into());
    }
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) => Number::from_f64(value.abs()).map_or(Node::Null, Node::Number),
        None => Node::Number(number.clone()),
    }
}

/// Whole again where it fits, as others write it.
fn rounded(number: &Number, round: fn(f64) -> f64) -> Node {
    let Some(value) = number.as_f64().filter(|_| number.is_f64()).map(round) else {
        return Node::Number(number.clone());
    };
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = (value.abs() <= EXACT).then_some(value as i64).map(Number::from);
    whole.or_else(|| Number::from_f64(value)).map_or(Node::Null, Node::Number)
}
