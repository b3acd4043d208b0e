//! Arguments that a tool's schema wants repeated in `Mcp-Param-…` headers, as of 2026-07-28.

use crate::{RpcError, modern};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;

/// Which arguments go into which headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderParams(Vec<(String, String)>);

impl HeaderParams {
    /// What a tool's input schema says.
    ///
    /// # Errors
    /// Why the schema cannot be followed; such a tool must not be used.
    pub fn of(schema: &RawValue) -> Result<Self, String> {
        // Few tools have such a thing, and their schemas need not be parsed to see that.
        if memchr::memmem::find(schema.get().as_bytes(), b"x-mcp-header").is_none() {
            return Ok(Self::default());
        }
        let schema: Value = serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut params = Vec::new();
        let mut names = HashSet::new();
        for (property, definition) in properties.into_iter().flatten() {
            let Some(header) = definition.get("x-mcp-header") else { continue };
            let Some(header) = header.as_str().filter(|header| is_token(header)) else {
                return Err(format!("the x-mcp-header of '{property}' is no header name"));
            };
            if !names.insert(header.to_ascii_lowercase()) {
                return Err(format!("two arguments want the header '{header}'"));
            }
            if !is_plain(definition.get("type")) {
                let message = "only strings, integers and booleans can go into headers";
                return Err(format!("{message}, and '{property}' is something else"));
            }
            params.push((property.clone(), header.to_owned()));
        }
        Ok(Self(params))
    }

    /// No argument goes into a header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The headers for these arguments, without `Mcp-Param-`. Nothing for what is not given.
    #[must_use]
    pub fn values(&self, arguments: &Value) -> Vec<(String, String)> {
        let text = |(property, header): &(String, String)| {
            Some((header.clone(), text_of(arguments.get(property)?)?))
        };
        self.0.iter().filter_map(text).collect()
    }

    /// Compares headers with arguments.
    ///
    /// # Errors
    /// `-32020`, naming the header.
    pub fn check<'h>(
        &self,
        arguments: &Value,
        header: impl Fn(&str) -> Option<&'h str>,
    ) -> Result<(), RpcError> {
        for (property, name) in &self.0 {
            let name = format!("Mcp-Param-{name}");
            let value = arguments.get(property).and_then(text_of);
            modern::matches(&name, header(&name), value.as_deref())?;
        }
        Ok(())
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_so) => Some(is_so.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_token(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= 128 && name.bytes().all(is_legal)
}

/// A type whose values have one spelling.
fn is_plain(declared: Option<&Value>) -> bool {
    match declared {
        Some(Value::String(name)) => matches!(name.as_str(), "string" | "integer" | "boolean"),
        Some(Value::Array(names)) => {
            names.iter().all(|name| name == "null" || is_plain(Some(name)))
                && names.iter().any(|name| name != "null")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw(schema: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(schema).unwrap()
    }

    fn schema(definition: &Value) -> Box<RawValue> {
        raw(&json!({ "type": "object", "properties": { "it": definition, "other": { "type": "number" } } }))
    }

    #[test]
    fn repeats_the_arguments_that_the_schema_names() {
        let params = HeaderParams::of(&schema(&json!({ "type": "integer", "x-mcp-header": "It" }))).unwrap();
        assert_eq!(params.values(&json!({ "it": 42, "other": 1.5 })), [("It".into(), "42".into())]);
        assert_eq!(params.values(&json!({ "it": null })), []);
        let told = |value: &'static str| move |name: &str| (name == "Mcp-Param-It").then_some(value);
        assert_eq!(params.check(&json!({ "it": 42 }), told("42")), Ok(()));
        assert_eq!(params.check(&json!({ "it": 42 }), told("=?base64?NDI=?=")), Ok(()));
        for wrong in ["43", "=?base64?NDI?=", "=?base64?N!!I=?="] {
            assert_eq!(params.check(&json!({ "it": 42 }), told(wrong)).unwrap_err().code, -32020);
        }
        assert_eq!(params.check(&json!({ "it": 42 }), |_| None).unwrap_err().code, -32020);
    }

    #[test]
    fn refuses_schemas_that_cannot_be_followed() {
        for definition in [
            json!({ "type": "string", "x-mcp-header": "" }),
            json!({ "type": "string", "x-mcp-header": "My Region" }),
            json!({ "type": "string", "x-mcp-header": "Région" }),
            json!({ "type": "object", "x-mcp-header": "It" }),
            json!({ "type": "number", "x-mcp-header": "It" }),
            json!({ "type": "null", "x-mcp-header": "It" }),
            json!({ "x-mcp-header": 7 }),
        ] {
            assert!(HeaderParams::of(&schema(&definition)).is_err(), "{definition}");
        }
        let twice = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "It" },
            "b": { "type": "string", "x-mcp-header": "it" },
        } });
        assert!(HeaderParams::of(&raw(&twice)).is_err());
    }
}
