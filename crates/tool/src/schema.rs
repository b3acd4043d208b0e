//! JSON Schema checks whose messages a person or a model can act on.

mod arguments;
mod bounds;
mod graph;
mod references;

use crate::salvage::escaped;
use crate::{Error, Problem, Result};
use bounds::Bounds;
use document::nearest;
use jsonschema::error::{TypeKind, ValidationErrorKind as Fault};
use jsonschema::{ReferencingError, ValidationError, ValidationOptions, Validator};
use serde_json::Value;
use std::collections::HashSet;

/// Problems listed at the most, so that a hostile input cannot make an endless answer.
pub(crate) const MAX_PROBLEMS: usize = 50;

/// A compiled JSON Schema.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    bounds: Bounds,
    noun: &'static str,
    /// The names of fields, those of the outermost object first.
    names: Vec<String>,
    /// How many of them are the outermost object's.
    outermost: usize,
}

/// The name of a format, and whether a text has it.
pub type Format = (&'static str, fn(&str) -> bool);

/// A problem with the place it is about, as a JSON Pointer.
#[derive(Debug, Clone)]
pub(crate) struct Complaint {
    pub(crate) pointer: String,
    pub(crate) problem: Problem,
}

impl Schema {
    /// Compiles a schema. `noun` is what messages call the things in it, e.g. `parameter`.
    /// References to other documents are never fetched.
    ///
    /// # Errors
    /// When it is no valid schema.
    pub fn compile(schema: &Value, noun: &'static str) -> Result<Self> {
        Self::compiled(&jsonschema::options(), schema, noun)
    }

    /// The same, where a value must also be what `format` says, which JSON Schema leaves to whoever checks; `own` are
    /// formats with another meaning than the usual one.
    ///
    /// # Errors
    /// Those of `compile`.
    pub fn compile_with_formats(schema: &Value, noun: &'static str, own: &[Format]) -> Result<Self> {
        let options = jsonschema::options().should_validate_formats(true);
        let options = own.iter().fold(options, |options, (name, fits)| options.with_format(*name, *fits));
        Self::compiled(&options, schema, noun)
    }

    fn compiled(options: &ValidationOptions<'_>, schema: &Value, noun: &'static str) -> Result<Self> {
        let invalid = |why: String| Error::invalid_config(format!("the JSON schema is invalid: {why}"));
        let bounds = Bounds::of(schema).map_err(invalid)?;
        let built = bounds.roomy(|| options.build(schema).map_err(|error| wrong(&error)));
        let validator = built.unwrap_or_else(|| Err("it cannot be read".to_owned())).map_err(invalid)?;
        let mut names = Vec::new();
        collect_names(schema, &mut names);
        let outermost = schema["properties"].as_object().map_or(0, serde_json::Map::len).min(names.len());
        Ok(Self { validator, bounds, noun, names, outermost })
    }

    /// Whether nothing is wrong; much cheaper than asking what is.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        self.bounds.within(value, || self.validator.is_valid(value)).unwrap_or(false)
    }

    /// Everything that is wrong, in the order of the schema.
    #[must_use]
    pub fn check(&self, value: &Value) -> Vec<Problem> {
        self.complaints(value).into_iter().map(|complaint| complaint.problem).collect()
    }

    /// The same, with the exact places.
    pub(crate) fn complaints(&self, value: &Value) -> Vec<Complaint> {
        let complaints = |error: ValidationError<'_>| {
            let at = error.instance_path().as_str();
            let place = |(name, problem): (Option<String>, Problem)| {
                let field = name.map(|name| format!("/{}", escaped(&name))).unwrap_or_default();
                Complaint { pointer: format!("{at}{field}"), problem }
            };
            self.explain(&error).into_iter().map(place).collect::<Vec<_>>()
        };
        let all = || self.validator.iter_errors(value).take(MAX_PROBLEMS).flat_map(complaints).collect();
        let Some(mut all): Option<Vec<_>> = self.bounds.within(value, all) else {
            let message =
                format!("The schema of the {}s asks more about this value than can be checked", self.noun);
            return vec![Complaint { pointer: String::new(), problem: Problem::new("", "Invalid", message) }];
        };
        // Whatever else is wrong with a value of the wrong type follows from that.
        let has_wrong_type = |complaint: &Complaint| complaint.problem.code == "WrongType";
        let mistyped: HashSet<_> =
            all.iter().filter(|one| has_wrong_type(one)).map(|one| one.pointer.clone()).collect();
        all.retain(|one| has_wrong_type(one) || !mistyped.contains(&one.pointer));
        all
    }

    /// The problems of one error, each with the field of the object that it is about, if it is one.
    fn explain(&self, error: &ValidationError<'_>) -> Vec<(Option<String>, Problem)> {
        let at = path_of(error.instance_path().as_str());
        let noun = self.noun;
        let subject = || if at.is_empty() { format!("the {noun}s") } else { format!("{noun} '{at}'") };
        let one = |code, message| vec![(None, Problem::new(at.clone(), code, capitalized(message)))];
        match error.kind() {
            Fault::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let path = join(&at, name);
                let problem = Problem::new(&path, "Required", format!("Missing required {noun} '{path}'"));
                vec![(Some(name.to_owned()), problem)]
            }
            Fault::AdditionalProperties { unexpected } | Fault::UnevaluatedProperties { unexpected } => {
                unexpected
                    .iter()
                    .map(|name| {
                        let path = join(&at, name);
                        let meant = self.meant(&at, name).map(|meant| format!("did you mean '{meant}'?"));
                        let advice = meant.as_deref().unwrap_or("leave it out");
                        let message = format!("Unknown {noun} '{path}'; {advice}");
                        (Some(name.clone()), Problem::new(&path, "Unknown", message))
                    })
                    .collect()
            }
            Fault::Type { kind } => {
                let found = type_name(error.instance());
                one("WrongType", format!("{} must be {}, not {found}", subject(), expected_types(kind)))
            }
            Fault::Enum { options } => {
                let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
                let options: Vec<_> = options.iter().take(20).map(Value::to_string).collect();
                one("NotAllowed", format!("{} must be one of {}", subject(), options.join(", ")))
            }
            Fault::Constant { expected_value } => {
                one("NotAllowed", format!("{} must be {expected_value}", subject()))
            }
            Fault::Minimum { limit } => one("TooSmall", format!("{} must be at least {limit}", subject())),
            Fault::Maximum { limit } => one("TooLarge", format!("{} must be at most {limit}", subject())),
            Fault::MinLength { limit } => {
                one("TooShort", format!("{} must have at least {limit} characters", subject()))
            }
            Fault::MaxLength { limit } => {
                one("TooLong", format!("{} must have at most {limit} characters", subject()))
            }
            Fault::MinItems { limit } => {
                one("TooFew", format!("{} must have at least {limit} items", subject()))
            }
            Fault::MaxItems { limit } => {
                one("TooMany", format!("{} must have at most {limit} items", subject()))
            }
            Fault::Pattern { pattern } => one("WrongFormat", format!("{} must match {pattern}", subject())),
            Fault::Format { format } => one("WrongFormat", format!("{} must be a valid {format}", subject())),
            // The library's own words would repeat the value, which may be a secret.
            other => one("Invalid", format!("{} must {}", subject(), rule(other))),
        }
    }
}

impl Schema {
    /// The field that was probably meant by one that is unknown there. One of that very name is known in another place,
    /// where it is of no use.
    fn meant(&self, at: &str, name: &str) -> Option<&str> {
        let outermost = || self.names[..self.outermost].iter().map(String::as_str);
        let is_longer =
            |known: &&str| known.strip_suffix(name).is_some_and(|beginning| beginning.ends_with('_'));
        let beside = || nearest(name, outermost()).or_else(|| outermost().find(is_longer));
        let others = self.names.iter().map(String::as_str).filter(|known| *known != name);
        at.is_empty().then(beside).flatten().or_else(|| nearest(name, others))
    }
}

/// The fields that a schema knows, level by level.
fn collect_names(schema: &Value, names: &mut Vec<String>) {
    const MAX_NAMES: usize = 500;
    let mut level = vec![schema];
    while !level.is_empty() && names.len() < MAX_NAMES {
        let properties = level.iter().filter_map(|schema| schema.get("properties")?.as_object());
        names.extend(properties.flat_map(|fields| fields.keys().cloned()).take(MAX_NAMES));
        level = level.iter().flat_map(|schema| inner(schema)).take(MAX_NAMES).collect();
    }
    names.truncate(MAX_NAMES);
}

/// The values in a value.
fn inner(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// What keeps a schema from being compiled. The library's words for references are for its own users.
fn wrong(error: &ValidationError<'_>) -> String {
    let Fault::Referencing(error) = error.kind() else { return error.to_string() };
    match error {
        ReferencingError::Unretrievable { uri, .. } => {
            format!(
                "the $ref '{uri}' leads to another document, which is not followed; put that schema in here"
            )
        }
        ReferencingError::PointerToNowhere { pointer } => format!("the $ref '#{pointer}' leads nowhere"),
        ReferencingError::NoSuchAnchor { anchor } => format!("the $ref '#{anchor}' leads nowhere"),
        _ => "a $ref or $schema in it is no address".to_owned(),
    }
}

/// `/a/0/b` as `a[0].b`.
fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            path = join(&path, &part);
        }
    }
    path
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn capitalized(mut message: String) -> String {
    if let Some(first) = message.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    message
}

fn expected_types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => with_article(&one.to_string()).to_owned(),
        TypeKind::Multiple(many) => {
            let many: Vec<_> = many.iter().map(|one| with_article(&one.to_string()).to_owned()).collect();
            many.join(" or ")
        }
    }
}

fn with_article(type_name: &str) -> &'static str {
    match type_name {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "a boolean",
        "array" => "an array",
        "object" => "an object",
        _ => "null",
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// What a rule of JSON Schema demands, after "must".
fn rule(fault: &Fault) -> String {
    match fault {
        Fault::ExclusiveMinimum { limit } => format!("be more than {limit}"),
        Fault::ExclusiveMaximum { limit } => format!("be less than {limit}"),
        Fault::MultipleOf { multiple_of } => format!("be a multiple of {multiple_of}"),
        Fault::UniqueItems => "not hold the same item twice".to_owned(),
        Fault::Contains => "hold an item that its schema asks for".to_owned(),
        Fault::Not { .. } => "not have the form that its schema rules out".to_owned(),
        Fault::AnyOf { .. } | Fault::OneOfNotValid { .. } => {
            "have one of the forms that its schema allows".to_owned()
        }
        Fault::OneOfMultipleValid { .. } => {
            "have one and only one of the forms that its schema allows".to_owned()
        }
        Fault::MinProperties { limit } => format!("have at least {limit} fields"),
        Fault::MaxProperties { limit } => format!("have at most {limit} fields"),
        Fault::PropertyNames { .. } => "have fields with other names".to_owned(),
        other => format!("keep to the rule '{}' of its schema", other.keyword()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(schema: &Value, value: &Value) -> Vec<String> {
        let schema = Schema::compile(schema, "parameter").unwrap();
        assert_eq!(schema.accepts(value), schema.check(value).is_empty());
        schema.check(value).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn tells_a_model_what_to_change() {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 2 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 20 },
                "sort": { "type": "string", "enum": ["up", "down"] },
                "tags": { "type": "array", "items": { "type": "string" } },
                "at": { "type": "object", "properties": { "x": {} }, "required": ["x"] }
            },
            "required": ["query"],
            "additionalProperties": false
        });
        let cases = [
            (json!({}), "Missing required parameter 'query'"),
            (json!({"query": 7}), "Parameter 'query' must be a string, not a number"),
            (json!({"query": "x"}), "Parameter 'query' must have at least 2 characters"),
            (json!({"query": "xx", "limit": "5"}), "Parameter 'limit' must be an integer, not a string"),
            (json!({"query": "xx", "limit": 0}), "Parameter 'limit' must be at least 1"),
            (json!({"query": "xx", "sort": "left"}), "Parameter 'sort' must be one of \"up\", \"down\""),
            (json!({"query": "xx", "sort": 1}), "Parameter 'sort' must be a string, not a number"),
            (json!({"query": "xx", "tags": ["a", 1]}), "Parameter 'tags[1]' must be a string, not a number"),
            (json!({"query": "xx", "at": {}}), "Missing required parameter 'at.x'"),
            (json!({"query": "xx", "page": 2}), "Unknown parameter 'page'; leave it out"),
            (json!([]), "The parameters must be an object, not an array"),
        ];
        for (value, expected) in cases {
            assert_eq!(messages(&schema, &value), [expected]);
        }
        assert_eq!(messages(&schema, &json!({"a": 1, "limit": true})).len(), 3);
    }

    #[test]
    fn names_what_was_meant_and_never_the_unknown_name_itself() {
        let tool = json!({ "type": "object", "properties": { "headers": {}, "path": {} }, "additionalProperties": false });
        let schema = json!({
            "type": "object",
            "properties": { "base_url": {}, "default_headers": {}, "tools": { "items": tool } },
            "additionalProperties": false
        });
        for (value, expected) in [
            (json!({ "headers": 3 }), "Unknown parameter 'headers'; did you mean 'default_headers'?"),
            (json!({ "base-url": 3 }), "Unknown parameter 'base-url'; did you mean 'base_url'?"),
            (json!({ "pth": 3 }), "Unknown parameter 'pth'; did you mean 'path'?"),
            (json!({ "path": 3 }), "Unknown parameter 'path'; leave it out"),
            (
                json!({ "tools": [{ "heders": 3 }] }),
                "Unknown parameter 'tools[0].heders'; did you mean 'headers'?",
            ),
            (json!({ "tools": [{ "base_url": 3 }] }), "Unknown parameter 'tools[0].base_url'; leave it out"),
        ] {
            assert_eq!(messages(&schema, &value), [expected]);
        }
    }

    #[test]
    fn never_fetches_a_remote_schema() {
        let schema = json!({ "$ref": "http://127.0.0.1:9/schema.json" });
        let error = Schema::compile(&schema, "parameter").unwrap_err();
        let expected = "the JSON schema is invalid: the $ref 'http://127.0.0.1:9/schema.json' leads to another document, \
                        which is not followed; put that schema in here";
        assert_eq!(error.message(), expected);
    }

    #[test]
    fn says_which_reference_is_wrong() {
        for (reference, expected) in [
            ("#/nowhere", "the $ref '#/nowhere' leads nowhere"),
            ("#nowhere", "the $ref '#nowhere' leads nowhere"),
            ("other.json", "leads to another document"),
            ("http://[", "is no address"),
        ] {
            let error = Schema::compile(&json!({ "$ref": reference }), "parameter").unwrap_err();
            assert!(error.message().contains(expected), "{reference}: {error}");
        }
    }

    #[test]
    fn does_not_repeat_values_that_may_be_secret() {
        let schema = json!({ "properties": { "token": { "type": "integer", "not": {} } } });
        let all = messages(&schema, &json!({ "token": "hunter2" })).join("\n");
        assert!(!all.contains("hunter2") && !all.is_empty(), "{all}");
    }
}
