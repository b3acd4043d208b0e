//! What the versions of OpenAPI say in different ways, said in the way of JSON Schema.

use serde_json::{Map, Value, json};
use std::collections::HashSet;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// The type or types that JSON Schema knows; the file of Swagger 2.0 is a text to us.
pub(super) fn known_type(value: Option<&Value>) -> Option<Value> {
    let known =
        |name: &str| TYPES.into_iter().find(|known| *known == name).or((name == "file").then_some("string"));
    match value? {
        Value::String(name) => known(name).map(Value::from),
        Value::Array(names) => {
            let mut types: Vec<_> = names.iter().filter_map(|name| known(name.as_str()?)).collect();
            types.dedup();
            match types.as_slice() {
                [] => None,
                [one] => Some((*one).into()),
                many => Some(many.into()),
            }
        }
        _ => None,
    }
}

/// Until 3.0 an exclusive bound was a flag beside the bound.
pub(super) fn tidy_bounds(fields: &Map<String, Value>, result: &mut Map<String, Value>) {
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if fields.get(flag) == Some(&Value::Bool(true))
            && let Some(value) = result.shift_remove(bound)
        {
            result.insert(flag.into(), value);
        }
    }
}

/// Only names, each once, and only those that are to be kept.
pub(super) fn keep_required(result: &mut Map<String, Value>, is_kept: impl Fn(&str) -> bool) {
    let Some(Value::Array(names)) = result.shift_remove("required") else { return };
    let mut seen = HashSet::new();
    let kept: Vec<_> = names.iter().filter_map(Value::as_str).filter(|name| seen.insert(*name)).collect();
    let kept: Vec<Value> = kept.into_iter().filter(|name| is_kept(name)).map(Value::from).collect();
    if !kept.is_empty() {
        result.insert("required".into(), kept.into());
    }
}

/// The same schema, or null.
pub(super) fn nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get("type").cloned() {
        Some(Value::String(kind)) if kind != "null" => {
            schema.insert("type".into(), json!([kind, "null"]));
            schema
        }
        Some(_) => schema,
        None if schema.contains_key("enum") || schema.is_empty() => schema,
        None => {
            let mut result = Map::new();
            for key in ["description", "default"] {
                if let Some(value) = schema.shift_remove(key) {
                    result.insert(key.into(), value);
                }
            }
            result.insert("anyOf".into(), json!([schema, { "type": "null" }]));
            result
        }
    }
}
