//! Schemas that cannot be wrong: simple keywords with values of the right type, all the way down.
//!
//! A service may have ten thousand of them. What a look can tell need not be compiled until it is used.

use serde_json::Value;

/// Deeper schemas are left to the compiler.
const MAX_DEPTH: usize = 16;

/// Whether a schema surely compiles. No means only that this cannot be told here.
pub(crate) fn is_plain(schema: &Value) -> bool {
    is_plain_at(schema, 0)
}

fn is_plain_at(schema: &Value, depth: usize) -> bool {
    let Value::Object(keywords) = schema else { return false };
    depth < MAX_DEPTH && keywords.iter().all(|(key, value)| is_plain_keyword(key, value, depth + 1))
}

fn is_plain_keyword(key: &str, value: &Value, depth: usize) -> bool {
    let are_plain =
        |schemas: &Vec<Value>| !schemas.is_empty() && schemas.iter().all(|schema| is_plain_at(schema, depth));
    match key {
        "description" | "title" | "format" => value.is_string(),
        "default" | "const" => true,
        "type" => match value {
            Value::Array(types) => is_set(types) && types.iter().all(is_type),
            one => is_type(one),
        },
        "enum" => value.as_array().is_some_and(|values| is_set(values)),
        "required" => {
            value.as_array().is_some_and(|names| names.iter().all(Value::is_string) && is_set(names))
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.as_u64().is_some()
        }
        "uniqueItems" => value.is_boolean(),
        "additionalProperties" => value.is_boolean() || is_plain_at(value, depth),
        "items" | "not" => is_plain_at(value, depth),
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => value.as_array().is_some_and(are_plain),
        "properties" => {
            value.as_object().is_some_and(|fields| fields.values().all(|field| is_plain_at(field, depth)))
        }
        // Patterns and references, above all.
        _ => false,
    }
}

/// A list that is not empty and has nothing twice; long ones are left to the compiler.
fn is_set(values: &[Value]) -> bool {
    let is_new = |(index, value): (usize, &Value)| !values[..index].contains(value);
    (1..=100).contains(&values.len()) && values.iter().enumerate().all(is_new)
}

fn is_type(value: &Value) -> bool {
    let words = ["string", "number", "integer", "boolean", "object", "array", "null"];
    value.as_str().is_some_and(|word| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tool::schema::Schema;

    #[test]
    fn tells_schemas_that_surely_compile() {
        for plain in [
            json!({}),
            json!({ "type": ["string", "null"], "maxLength": 5, "format": "uuid", "default": 7 }),
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "enum": [1, "x"] } }, "additionalProperties": false }),
            json!({ "type": "array", "items": { "anyOf": [{ "type": "integer", "minimum": 1.5 }, { "const": null }] } }),
        ] {
            assert!(is_plain(&plain) && Schema::compile(&plain, "parameter").is_ok(), "{plain}");
        }
    }

    /// Whatever is called plain must compile, or it would fail in the middle of a call.
    #[test]
    fn leaves_everything_else_to_the_compiler() {
        let deep = (0..100).fold(json!({}), |schema, _| json!({ "items": schema }));
        for other in [
            json!(true),
            json!({ "pattern": "(" }),
            json!({ "$ref": "#/nowhere" }),
            json!({ "type": "text" }),
            json!({ "type": ["string", "string"] }),
            json!({ "minimum": "1" }),
            json!({ "maxLength": -1 }),
            json!({ "required": ["a", "a"] }),
            json!({ "required": [1] }),
            json!({ "anyOf": [] }),
            json!({ "properties": { "a": { "type": 7 } } }),
            json!({ "not": { "items": { "pattern": "(" } } }),
            deep,
        ] {
            assert!(!is_plain(&other), "{other}");
        }
    }
}
