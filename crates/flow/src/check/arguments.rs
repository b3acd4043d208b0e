//! Arguments of calls: those that are written against the tool's schema, those that are not bound by name.

use super::scope::{Named, Walk};
use super::{Bound, Lookup};
use crate::document::{Call, Data, Field, Key, Node};
use crate::problem::{Code, Problem};
use document::did_you_mean;
use serde_json::{Map, Value, json};
use tool::Uri;
use tool::schema::Schema;

/// What sub-flows inherit, unless their arguments say otherwise.
const INHERITED: [&str; 2] = ["tenantId", "buCode"];

impl Walk<'_> {
    /// Everything about the arguments of a call.
    pub(super) fn arguments(&mut self, node: &Node, call: &Call, uri: &Uri) {
        let schema = match self.tools.find(uri) {
            Lookup::Found { input } => input,
            Lookup::Missing(reason) => return self.at_call(call, Problem::error, Code::UnknownTool, reason),
            Lookup::Unchecked(reason) => {
                return self.at_call(call, Problem::warning, Code::Unchecked, reason);
            }
        };
        // What is computed as a whole is known when it is run.
        let Some(given) = given(&call.args) else { return };
        let is_flow = uri.scheme() == tool::runs::SCHEME;
        // What a sub-flow sees as these may always be said.
        let named = given.iter().filter(|(key, _)| !(is_flow && INHERITED.contains(&key.name.as_str())));
        self.written(node, &named.copied().collect::<Vec<_>>(), &schema);
        self.left_out(node, call, &given, &schema);
    }

    /// A tool that an agent in place may call: whether it does says its model.
    pub(super) fn tool(&mut self, call: &Call, uri: &Uri) {
        match self.tools.find(uri) {
            Lookup::Found { .. } => {}
            Lookup::Missing(reason) => self.at_call(call, Problem::error, Code::UnknownTool, reason),
            Lookup::Unchecked(reason) => self.at_call(call, Problem::warning, Code::Unchecked, reason),
        }
    }

    /// The arguments that the author wrote.
    fn written(&mut self, node: &Node, given: &[(&Key, &Data)], schema: &Value) {
        let properties = properties(schema);
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        for (key, data) in given {
            match properties.and_then(|properties| properties.get(&key.name)) {
                Some(property) => self.argument(node, key, data, property, schema),
                None if is_closed && !self.problems.is_full() => {
                    let meant = did_you_mean(
                        &key.name,
                        properties.into_iter().flat_map(Map::keys).map(String::as_str),
                    );
                    let message = format!("the tool has no parameter '{}'{meant}", key.name);
                    self.at_argument(node, key, Code::UnknownArgument, message);
                }
                None => {}
            }
        }
    }

    /// The parameters that the author left out: bound by name, or missing.
    fn left_out(&mut self, node: &Node, call: &Call, given: &[(&Key, &Data)], schema: &Value) {
        let is_given = |name: &str| given.iter().any(|(key, _)| key.name == name);
        let left = properties(schema).into_iter().flatten().filter(|(name, _)| !is_given(name));
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        for (name, property) in left {
            let is_required = is_required(name);
            let fitting = if is_required { fits } else { surely_fits };
            let is_bound = call.binds && self.bind(node, name, property, fitting);
            if !is_bound && is_required && property.get("default").is_none() {
                let message =
                    format!("the parameter '{name}' is missing, and there is nothing of that name to take");
                self.at_call(call, Problem::error, Code::MissingArgument, message);
            }
        }
    }

    fn at_call(
        &mut self,
        call: &Call,
        problem: fn(Code, &str, crate::source::Place, String) -> Problem,
        code: Code,
        message: String,
    ) {
        self.problems.add(problem(code, call.origin.path(), call.origin.start(), message));
    }

    fn at_argument(&mut self, node: &Node, key: &Key, code: Code, message: String) {
        let path = format!("{}.args.{}", node.path, key.name);
        self.problems.add(Problem::error(code, &path, key.at, message));
    }

    /// A written argument fits its parameter, as far as that can be told.
    fn argument(&mut self, node: &Node, key: &Key, data: &Data, property: &Value, schema: &Value) {
        let message = match data {
            Data::Literal(value) => literal_problem(&key.name, value, property, schema),
            Data::Text(template, _) => self.name_problem(&key.name, template.as_name(), property),
            Data::Formula(formula) => self.name_problem(&key.name, formula.expression.as_name(), property),
            Data::List(_) | Data::Fields(_) => None,
        };
        if let Some(message) = message {
            self.at_argument(node, key, Code::TypeMismatch, message);
        }
    }

    fn name_problem(&self, parameter: &str, name: Option<&str>, property: &Value) -> Option<String> {
        let schema = self.type_of(name?)?;
        let message = format!(
            "the parameter '{parameter}' is {}, but '{}' is {}",
            word(property),
            name?,
            word(&schema)
        );
        (!fits(&schema, property)).then_some(message)
    }

    /// Takes a parameter's value from what has its name, if there is such a thing and it fits.
    fn bind(
        &mut self,
        node: &Node,
        parameter: &str,
        property: &Value,
        fits: fn(&Value, &Value) -> bool,
    ) -> bool {
        let is_offered = match self.resolve(parameter) {
            Some(Named::Local | Named::LoopVar | Named::Var | Named::Input) => true,
            Some(Named::Node { is_upstream }) => is_upstream,
            Some(Named::Given) => matches!(parameter, "tenantId" | "buCode"),
            None => false,
        };
        let schema = self.type_of(parameter).unwrap_or_default();
        if !is_offered || !fits(&schema, property) {
            return false;
        }
        self.used.insert(parameter.to_owned());
        let (parameter, name) = (parameter.to_owned(), parameter.to_owned());
        self.bound.push(Bound { node: node.path.clone(), parameter, name });
        true
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The arguments by name; `None` where some are computed as a whole.
fn given<'a>(args: &'a Data) -> Option<Vec<(&'a Key, &'a Data)>> {
    let Data::Fields(fields) = args else { return None };
    let pair = |field: &'a Field| match field {
        Field::Set(key, data) => Some((key, data)),
        Field::Spread(_) => None,
    };
    fields.iter().map(pair).collect()
}

/// What the schema of the tool says about the value of one parameter.
fn literal_problem(name: &str, value: &Value, property: &Value, schema: &Value) -> Option<String> {
    let mut alone = json!({"properties": {name: property}});
    for definitions in ["$defs", "definitions"] {
        if let Some(found) = schema.get(definitions) {
            alone[definitions] = found.clone();
        }
    }
    let schema = Schema::compile(&alone, "parameter").ok()?;
    let problem = schema.check(&json!({name: value})).into_iter().next()?;
    Some(problem.message)
}

/// The types that a schema names; none says nothing.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Some value of the one type is one of the other.
fn fits(from: &Value, to: &Value) -> bool {
    let (from, to) = (types(from), types(to));
    let is_number = |name: &&str| matches!(*name, "number" | "integer");
    from.is_empty()
        || to.is_empty()
        || from.iter().any(|one| to.contains(one))
        || from.iter().any(is_number) && to.iter().any(is_number)
}

/// Something is known of the one type, and every value of it is one of the other; null is never given.
fn surely_fits(from: &Value, to: &Value) -> bool {
    const NARROWED_BY: [&str; 8] = ["$ref", "allOf", "anyOf", "const", "enum", "if", "not", "oneOf"];
    let is_narrow = |to: &Value| NARROWED_BY.iter().any(|word| to.get(word).is_some());
    let (given, taken) = (types(from), types(to));
    let is_taken =
        |one: &&str| *one == "null" || taken.contains(one) || *one == "integer" && taken.contains(&"number");
    let is_open = taken.is_empty() && !is_narrow(to);
    !given.is_empty() && (is_open || given.iter().all(is_taken))
}

fn word(schema: &Value) -> String {
    match types(schema).as_slice() {
        [] => "anything".to_owned(),
        names => names.join(" or "),
    }
}
