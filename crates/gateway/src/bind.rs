//! Binding: from what the caller sent to what the tool takes.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tool::schema::Schema;
use tool::{Arguments, Error, Result};

/// Fills in defaults and checks arguments against the tool's schema.
#[derive(Debug, Default)]
pub(crate) struct Binder {
    schema: Option<Schema>,
    defaults: Vec<(String, Value)>,
    required: Vec<String>,
}

impl Binder {
    /// The binder for a tool's input schema.
    pub(crate) fn for_schema(schema: &RawValue) -> Result<Self> {
        let schema: Value = serde_json::from_str(schema.get())
            .map_err(|error| Error::invalid_config(format!("the input schema is unusable: {error}")))?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let defaults = properties
            .into_iter()
            .flatten()
            .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())));
        let defaults = defaults.collect();
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(Self { schema: Some(Schema::compile(&schema, "parameter")?), defaults, required })
    }

    /// The arguments as the tool takes them: untouched where nothing was missing.
    pub(crate) fn bind(&self, arguments: Arguments) -> Result<Arguments> {
        let Some(schema) = &self.schema else { return Ok(arguments) };
        let arguments = self.with_defaults(arguments)?;
        let value = arguments.as_value()?;
        if schema.accepts(value) || self.without_nulls(value).is_some_and(|value| schema.accepts(&value)) {
            return Ok(arguments);
        }
        let problems = schema.check(value);
        let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
        let error = Error::invalid_input(messages.join("; "));
        let error = match problems.first() {
            Some(problem) => error.with("parameter", &problem.path),
            None => error,
        };
        Err(error.with_problems(problems))
    }

    /// The arguments without those that are null and not required: many programs write null for
    /// what they do not give.
    fn without_nulls(&self, arguments: &Value) -> Option<Value> {
        let given = arguments.as_object()?;
        let is_given = |(name, value): &(&String, &Value)| !value.is_null() || self.required.contains(name);
        if given.iter().all(|pair| is_given(&pair)) {
            return None;
        }
        let kept = given.iter().filter(is_given).map(|(name, value)| (name.clone(), value.clone()));
        Some(Value::Object(kept.collect()))
    }

    fn with_defaults(&self, arguments: Arguments) -> Result<Arguments> {
        let given = arguments.as_map()?;
        let is_missing = |(name, _): &&(String, Value)| !given.contains_key(name);
        if !self.defaults.iter().any(|default| is_missing(&default)) {
            return Ok(arguments);
        }
        let mut map: Map<String, Value> = given.clone();
        map.extend(self.defaults.iter().filter(is_missing).cloned());
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bind(schema: &Value, arguments: &str) -> Result<String> {
        let schema = serde_json::value::to_raw_value(schema).unwrap();
        let arguments = Arguments::from_raw(RawValue::from_string(arguments.into()).unwrap())?;
        Binder::for_schema(&schema)?.bind(arguments).map(|bound| bound.to_raw().get().to_owned())
    }

    #[test]
    fn takes_null_for_what_need_not_be_given_and_leaves_it_as_it_is() {
        let schema = json!({ "type": "object", "required": ["b"], "properties": {
            "a": { "type": "boolean" }, "b": { "type": "integer" } } });
        assert_eq!(bind(&schema, r#"{"a":null,"b":1}"#).unwrap(), r#"{"a":null,"b":1}"#);
        assert!(bind(&schema, r#"{"b":null}"#).is_err());
    }

    /// HT-5.2
    #[test]
    fn names_the_missing_parameter() {
        let schema = json!({ "type": "object", "required": ["query"] });
        let error = bind(&schema, "{}").unwrap_err();
        assert_eq!(error.message(), "Missing required parameter 'query'");
        assert_eq!(error.context("parameter"), Some("query"));
    }

    #[test]
    fn fills_in_defaults_and_keeps_the_rest_as_it_came() {
        let schema = json!({ "properties": { "limit": { "type": "integer", "default": 20 } } });
        assert_eq!(bind(&schema, r#"{"a":1}"#).unwrap(), r#"{"a":1,"limit":20}"#);
        assert_eq!(bind(&schema, r#"{"limit": 5, "n":1.0}"#).unwrap(), r#"{"limit": 5, "n":1.0}"#);
    }

    #[test]
    fn lists_every_problem() {
        let schema = json!({ "required": ["a", "b"], "properties": { "c": { "type": "string" } } });
        let error = bind(&schema, r#"{"c":1}"#).unwrap_err();
        assert_eq!(error.problems().len(), 3);
    }
}
