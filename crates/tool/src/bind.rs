//! Binding: from what the caller sent to what the tool takes.

use crate::schema::{MAX_PROBLEMS, Schema};
use crate::{Arguments, Error, Problem, Result, Tool, Uri, readable};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// Fills in defaults and checks arguments against the tool's schema.
///
/// A schema is compiled when its tool is first called: most tools of a large catalog never are.
#[derive(Debug)]
pub struct Binder {
    tool: Arc<Tool>,
    /// The tool's address, for the log.
    uri: Uri,
    rules: OnceLock<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    schema: Option<Schema>,
    defaults: Vec<(String, Value)>,
    /// Of parameters that must be given, where defaults are not filled in.
    required_defaults: Vec<(String, Value)>,
    /// Parameters for which `null` is passed on without a look at the schema.
    nullable: HashSet<String>,
}

impl Binder {
    /// The binder for the tool at `uri`.
    #[must_use]
    pub fn new(tool: Arc<Tool>, uri: Uri) -> Self {
        Self { tool, uri, rules: OnceLock::new() }
    }

    /// The arguments as the tool takes them: untouched where nothing was missing. Connectors trust them.
    ///
    /// # Errors
    /// `InvalidInput` with every argument that does not fit.
    pub fn bind(&self, arguments: Arguments) -> Result<Arguments> {
        self.rules().bind(arguments)
    }

    /// What stands in for a parameter that must be given, where the service leaves that to those who build the request.
    #[must_use]
    pub fn required_default_of(&self, name: &str) -> Option<&Value> {
        self.rules().required_defaults.iter().find(|(key, _)| key == name).map(|(_, default)| default)
    }

    fn rules(&self) -> &Rules {
        self.rules.get_or_init(|| {
            Rules::of_tool(&self.tool).unwrap_or_else(|error| {
                let uri = &self.uri;
                tracing::warn!(tool = %uri, %error, "arguments of {uri} are not checked: {error}");
                Rules::default()
            })
        })
    }
}

impl Rules {
    fn of_tool(tool: &Tool) -> Result<Self> {
        let schema: Value = serde_json::from_str(&readable(tool.input_schema().get()))
            .map_err(|error| Error::invalid_config(format!("the input schema is unusable: {error}")))?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let defaults = properties
            .into_iter()
            .flatten()
            .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())));
        let mut defaults: Vec<(String, Value)> = defaults.collect();
        let mut required_defaults = Vec::new();
        if !tool.fills_defaults() {
            // They are notes of the service, which knows best what to do without them.
            let optional = optional_of(&schema);
            required_defaults = std::mem::take(&mut defaults);
            required_defaults.retain(|(name, _)| !optional.contains(name));
        }
        let nullable = if tool.takes_null() { optional_of(&schema) } else { HashSet::new() };
        let schema = Some(Schema::compile(&schema, "parameter")?);
        Ok(Self { schema, defaults, required_defaults, nullable })
    }

    fn bind(&self, arguments: Arguments) -> Result<Arguments> {
        let Some(schema) = &self.schema else {
            // Nothing is known of them; but what is sent must be what everybody reads.
            arguments.as_map()?;
            return Ok(arguments);
        };
        let arguments = self.with_defaults(arguments)?;
        let value = arguments.as_value()?;
        if schema.accepts(value) {
            return Ok(arguments);
        }
        let told = schema.check(value);
        let is_cut = told.len() >= MAX_PROBLEMS;
        let mut problems = self.without_nulls(told, value);
        if problems.is_empty() && is_cut {
            // So many nulls that what is wrong behind them was not told.
            problems = schema.check(&self.without_optional_nulls(value));
        }
        if problems.is_empty() {
            return Ok(arguments);
        }
        let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
        let error = Error::invalid_input(messages.join("; "));
        let error = match problems.first() {
            Some(problem) => error.of_parameter(&problem.path),
            None => error,
        };
        Err(error.with_problems(problems))
    }

    /// The problems that are not about a `null` for an optional parameter.
    fn without_nulls(&self, mut problems: Vec<Problem>, arguments: &Value) -> Vec<Problem> {
        problems.retain(|problem| {
            let is_null = arguments.get(&problem.path).is_some_and(Value::is_null);
            !(is_null && self.nullable.contains(&problem.path))
        });
        problems
    }

    fn without_optional_nulls(&self, arguments: &Value) -> Value {
        let mut rest = arguments.clone();
        if let Value::Object(rest) = &mut rest {
            rest.retain(|name, value| !(value.is_null() && self.nullable.contains(name)));
        }
        rest
    }

    fn with_defaults(&self, arguments: Arguments) -> Result<Arguments> {
        let given = arguments.as_map()?;
        let is_missing = |(name, _): &&(String, Value)| !given.contains_key(name);
        if !self.defaults.iter().any(|default| is_missing(&default)) {
            return Ok(arguments);
        }
        arguments.with(self.defaults.iter().filter(is_missing).cloned())
    }
}

/// The parameters that may be left out.
fn optional_of(schema: &Value) -> HashSet<String> {
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    names.filter(|name| !required.iter().any(|required| *required == name.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use serde_json::value::RawValue;

    fn bind(schema: &Value, arguments: &str) -> Result<String> {
        bind_to(&Tool::new("it", "", schema)?, arguments)
    }

    fn bind_to(tool: &Tool, arguments: &str) -> Result<String> {
        let arguments = Arguments::from_raw(RawValue::from_string(arguments.into()).unwrap())?;
        Rules::of_tool(tool)?.bind(arguments).map(|bound| bound.to_raw().get().to_owned())
    }

    #[test]
    fn nulls_hide_nothing_that_is_wrong_behind_them() {
        let names: Vec<_> = (0..60).map(|number| format!("p{number:02}")).collect();
        let property = |name: &String| (name.clone(), json!({ "type": "string" }));
        let schema = json!({ "type": "object", "properties": names.iter().map(property).collect::<serde_json::Map<_, _>>() });
        let tool = Tool::new("it", "", &schema).unwrap().taking_null(true);
        let given = |last: &Value| {
            let nulls = names[..59].iter().map(|name| (name.clone(), Value::Null));
            let all: serde_json::Map<_, _> = nulls.chain([(names[59].clone(), last.clone())]).collect();
            bind_to(&tool, &Value::Object(all).to_string())
        };
        assert!(given(&json!("text")).is_ok());
        assert_eq!(given(&json!(5)).unwrap_err().parameter(), Some("p59"));
    }

    #[test]
    fn passes_null_on_for_optional_parameters_of_tools_that_take_it() {
        let schema = json!({ "type": "object", "required": ["must"], "additionalProperties": false,
            "properties": { "must": { "type": "string" }, "may": { "type": "integer", "enum": [1, 2] } } });
        let strict = Tool::new("it", "", &schema).unwrap();
        let lenient = strict.clone().taking_null(true);
        let arguments = r#"{"must":"a","may":null}"#;
        assert!(bind_to(&strict, arguments).is_err());
        assert_eq!(bind_to(&lenient, arguments).unwrap(), arguments);
        for wrong in [r#"{"must":null}"#, r#"{"must":"a","may":"x"}"#, r#"{"must":"a","other":null}"#] {
            assert!(bind_to(&lenient, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn refuses_names_that_stand_twice_with_and_without_a_schema() {
        let arguments = r#"{"to":5,"amount":1,"to":"bob"}"#;
        let error = bind(&json!({ "properties": { "to": { "type": "string" } } }), arguments).unwrap_err();
        assert_eq!(error.parameter(), Some("to"));
        let arguments = Arguments::from_raw(RawValue::from_string(arguments.into()).unwrap()).unwrap();
        assert!(Rules::default().bind(arguments).is_err());
    }

    /// HT-5.2
    #[test]
    fn names_the_missing_parameter() {
        let schema = json!({ "type": "object", "required": ["query"] });
        let error = bind(&schema, "{}").unwrap_err();
        assert_eq!(error.message(), "Missing required parameter 'query'");
        assert_eq!(error.parameter(), Some("query"));
    }

    #[test]
    fn fills_in_defaults_and_keeps_the_rest_as_it_came() {
        let schema = json!({ "properties": { "limit": { "type": "integer", "default": 20 } } });
        assert_eq!(bind(&schema, r#"{"a":1}"#).unwrap(), r#"{"a":1,"limit":20}"#);
        assert_eq!(bind(&schema, r#"{"limit": 5, "n":1.0}"#).unwrap(), r#"{"limit": 5, "n":1.0}"#);
    }

    #[test]
    fn adds_nothing_to_what_is_relayed() {
        let schema =
            json!({ "properties": { "a": { "default": null, "type": "string" }, "b": { "default": 1 } } });
        let tool = Tool::new("it", "", &schema).unwrap().relayed(true);
        for arguments in ["{}", r#"{"n":123456789012345678901234, "b": 1.0}"#] {
            assert_eq!(bind_to(&tool, arguments).unwrap(), arguments);
        }
        assert!(bind_to(&tool, r#"{"a":1}"#).is_err(), "it is checked all the same");
        let schema =
            json!({ "properties": { "a": { "default": 1 }, "b": { "default": 2 } }, "required": ["b"] });
        let binder = Binder::new(
            Arc::new(Tool::new("it", "", &schema).unwrap().relayed(true)),
            Uri::of_tool("x", "y", "it"),
        );
        let defaults = ["a", "b"].map(|name| binder.required_default_of(name).cloned());
        assert_eq!(defaults, [None, Some(json!(2))], "for those who hide what must be given");
    }

    #[test]
    fn lists_every_problem() {
        let schema = json!({ "required": ["a", "b"], "properties": { "c": { "type": "string" } } });
        let error = bind(&schema, r#"{"c":1}"#).unwrap_err();
        assert_eq!(error.problems().len(), 3);
    }
}
