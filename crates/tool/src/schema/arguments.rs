//! Schemas of arguments, which are always an object.

use super::Schema;
use crate::{Error, Result};
use serde_json::Value;

/// What may describe something else than an object, where no type is given.
const KEYWORDS: [&str; 10] =
    ["$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "const", "enum"];

impl Schema {
    /// Compiles the schema of a tool's arguments.
    ///
    /// # Errors
    /// When it is no valid schema, or not surely one of objects: clients refuse a list with such a tool in it.
    pub fn compile_arguments(schema: &Value) -> Result<Self> {
        let is_of_objects = match schema.get("type") {
            Some(kind) => kind == "object",
            None => !KEYWORDS.iter().any(|keyword| schema.get(keyword).is_some()),
        };
        if !is_of_objects {
            let message = "arguments are an object, so their schema must say \"type\": \"object\"";
            return Err(Error::invalid_config(message));
        }
        Self::compile(schema, "parameter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn takes_schemas_of_objects_alone() {
        for schema in
            [json!({}), json!({ "properties": { "a": true } }), json!({ "type": "object", "anyOf": [{}] })]
        {
            assert!(Schema::compile_arguments(&schema).is_ok(), "{schema}");
        }
        for schema in [
            json!({ "type": "array" }),
            json!({ "type": ["object", "null"] }),
            json!({ "anyOf": [{ "type": "object" }] }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "object" } } }),
        ] {
            let error = Schema::compile_arguments(&schema).unwrap_err();
            assert!(error.message().contains("\"type\": \"object\""), "{schema}: {error}");
        }
        assert!(Schema::compile_arguments(&json!({ "type": "object", "properties": [] })).is_err());
    }
}
