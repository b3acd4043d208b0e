//! A tool for clients of versions before 2026-07-28, to which what it takes and answers is an object, and what describes
//! a field of it, too.

use super::Tool;
use crate::Fields;
use crate::form::{object, with_values};
use crate::sanitize::{DATA, NAMES};
use serde_json::Value;
use serde_json::value::RawValue;

impl Tool {
    /// Whether its structured content may be something else than an object. Older clients get it as the field `result`
    /// of one, as they do from the libraries of others.
    #[must_use]
    pub fn answers_anything(&self) -> bool {
        self.field("outputSchema").is_some_and(|schema| !is_of_object(schema.get()))
    }

    /// The same tool for older clients, where it has to be another.
    #[must_use]
    pub fn for_older(&self) -> Option<Self> {
        let mut tool = self.clone();
        let mut is_other = false;
        tool.fields.retain_mut(|(key, value)| {
            let other = match key.as_str() {
                "outputSchema" if !is_of_object(value.get()) => wrapped(value.get()),
                "inputSchema" | "outputSchema" => match with_schemas(value.get()) {
                    None => return true,
                    other => other,
                },
                _ => return true,
            };
            is_other = true;
            match other.and_then(|text| RawValue::from_string(text).ok()) {
                Some(other) => *value = other,
                None => return false,
            }
            true
        });
        is_other.then_some(tool)
    }
}

/// What cannot be read is taken for one.
fn is_of_object(schema: &str) -> bool {
    serde_json::from_str::<Fields<'_>>(schema).map_or(true, |fields| {
        let kind = fields.get("type").map(|kind| serde_json::from_str::<String>(kind.get()));
        matches!(kind, Some(Ok(kind)) if kind == "object")
    })
}

/// The schema with objects for those of its parameters that are `true` or `false`.
fn with_schemas(schema: &str) -> Option<String> {
    let all: Fields<'_> = serde_json::from_str(schema).ok()?;
    let properties = with_values(all.get("properties")?.get(), |value| match value {
        "true" => Some("{}"),
        "false" => Some("{\"not\":{}}"),
        _ => None,
    })?;
    let of_schema = all.0.iter().map(|(key, value)| match &**key {
        "properties" => ("properties", properties.as_str().into()),
        key => (key, value.get().into()),
    });
    Some(object(&of_schema.collect::<Vec<_>>()))
}

/// The schema of an object with what this one describes in its field `result`, if that can be told.
fn wrapped(schema: &str) -> Option<String> {
    let all: Fields<'_> = serde_json::from_str(schema).ok()?;
    let dialect =
        all.get("$schema").map_or_else(String::new, |dialect| format!("\"$schema\":{},", dialect.get()));
    let has_references = schema.contains("$ref") || schema.contains("$dynamicRef");
    let inner = if has_references {
        let mut inner: Value = serde_json::from_str(schema).ok()?;
        point_into_result(&mut inner, false);
        inner.to_string()
    } else {
        schema.to_owned()
    };
    Some(format!(
        "{{{dialect}\"type\":\"object\",\"properties\":{{\"result\":{inner}}},\"required\":[\"result\"]}}"
    ))
}

/// References from the root go on from where the root stands now.
fn point_into_result(schema: &mut Value, has_names: bool) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| point_into_result(item, false)),
        Value::Object(fields) => {
            // It is a root of its own.
            let has_address =
                fields.get("$id").and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
            if has_address && !has_names {
                return;
            }
            for (key, value) in fields {
                match (key.as_str(), value) {
                    (_, value) if has_names => point_into_result(value, false),
                    ("$ref" | "$dynamicRef", Value::String(to)) if to == "#" || to.starts_with("#/") => {
                        to.insert_str(1, "/properties/result");
                    }
                    (key, _) if DATA.contains(&key) => {}
                    (key, value) => point_into_result(value, NAMES.contains(&key)),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use serde_json::json;

    fn older(definition: &str) -> Option<Value> {
        let tool = Tool::from_raw(&RawValue::from_string(definition.into()).unwrap()).unwrap();
        let listed = tool.for_older()?.listed_as("a", None);
        Some(serde_json::from_str(&listed).unwrap())
    }

    fn older_output(schema: &Value) -> Value {
        let definition = json!({ "name": "a", "inputSchema": { "type": "object" }, "outputSchema": schema });
        older(&definition.to_string()).unwrap()["outputSchema"].clone()
    }

    /// MC-2
    #[test]
    fn most_tools_are_the_same_for_all_clients() {
        for definition in [
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"a":{"default":true}},"additionalProperties":false}}"#,
            r#"{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{}}}}"#,
        ] {
            assert_eq!(older(definition), None, "{definition}");
        }
    }

    /// MC-2
    #[test]
    fn what_is_no_object_is_the_field_of_one() {
        for schema in [
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "anyOf": [{ "type": "object" }] }),
            json!({ "type": ["object", "null"] }),
            json!({}),
        ] {
            let expected =
                json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
            assert_eq!(older_output(&schema), expected);
        }
        let dialect = "https://json-schema.org/draft/2020-12/schema";
        assert_eq!(older_output(&json!({ "$schema": dialect, "type": "array" }))["$schema"], dialect);
    }

    /// MC-2
    #[test]
    fn references_still_lead_to_the_same_schema() {
        let schema = json!({
            "$defs": { "$ref": { "type": "object", "properties": { "next": { "$ref": "#/$defs/$ref" } }, "required": ["n"] } },
            "type": "array", "items": { "$ref": "#/$defs/$ref", "default": { "$ref": "#/x" } },
        });
        let older = older_output(&schema);
        assert_eq!(older["properties"]["result"]["items"]["default"]["$ref"], "#/x", "data stays");
        let compiled = Schema::compile(&older, "field").unwrap();
        assert!(compiled.accepts(&json!({ "result": [{ "n": 1, "next": { "n": 2 } }] })));
        assert!(!compiled.accepts(&json!({ "result": [{ "n": 1, "next": {} }] })));
        let own_root =
            json!({ "$id": "https://a.test/x", "$ref": "#/$defs/a", "$defs": { "a": { "type": "array" } } });
        assert_eq!(older_output(&own_root)["properties"]["result"], own_root);
    }

    /// MC-2
    #[test]
    fn parameters_without_a_schema_of_their_own_get_one() {
        let listed = older(
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"any":true,"none":false,"x":{}},"z":1}}"#,
        );
        let properties = json!({ "any": {}, "none": { "not": {} }, "x": {} });
        assert_eq!(
            listed.unwrap()["inputSchema"],
            json!({ "type": "object", "properties": properties, "z": 1 })
        );
    }
}
