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
        Ok(Self { schema: Some(Schema::compile(&schema, "parameter")?), defaults })
    }

    /// The arguments as the tool takes them: untouched where nothing was missing.
    pub(crate) fn bind(&self, arguments: Arguments) -> Result<Arguments> {
        let Some(schema) = &self.schema else { return Ok(arguments) };
        let arguments = self.with_defaults(arguments)?;
        let value = arguments.as_value()?;
        if schema.accepts(value) {
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
