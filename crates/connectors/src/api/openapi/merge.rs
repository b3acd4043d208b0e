//! `allOf` made one schema, so that a model sees the fields and not the way they were written.

use serde_json::{Map, Value};
use std::collections::HashSet;

/// One schema that says what both say, if one can say it. Where both describe, the first one's words stay.
pub(super) fn merged(first: Map<String, Value>, second: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut result = first;
    for (key, new) in second {
        let Some(old) = result.get_mut(key) else {
            // A closed object that is extended by another is meant to be open for it.
            if key != "additionalProperties" || new != &Value::Bool(false) {
                result.insert(key.clone(), new.clone());
            }
            continue;
        };
        match key.as_str() {
            "description" | "default" | "format" => {}
            "properties" => *old = properties(old.take(), new)?,
            "required" => *old = union(old.take(), new),
            "type" => *old = types(old, new)?,
            "enum" => *old = intersection(old, new)?,
            "minimum" | "minLength" | "minItems" | "minProperties" => *old = tighter(old, new, f64::max),
            "maximum" | "maxLength" | "maxItems" | "maxProperties" => *old = tighter(old, new, f64::min),
            _ if old == new => {}
            _ => return None,
        }
    }
    let was_open = |schema: &Map<String, Value>| !schema.contains_key("additionalProperties");
    if was_open(second) && result.get("additionalProperties") == Some(&Value::Bool(false)) {
        result.shift_remove("additionalProperties");
    }
    Some(result)
}

fn properties(old: Value, new: &Value) -> Option<Value> {
    let Value::Object(mut result) = old else { return None };
    for (name, schema) in new.as_object()? {
        match result.get_mut(name) {
            None => {
                result.insert(name.clone(), schema.clone());
            }
            Some(before) => {
                let Value::Object(fields) = before.take() else { return None };
                *before = merged(fields, schema.as_object()?)?.into();
            }
        }
    }
    Some(result.into())
}

fn union(old: Value, new: &Value) -> Value {
    let Value::Array(mut result) = old else { return new.clone() };
    let new = new.as_array().into_iter().flatten();
    let known: HashSet<_> = result.iter().map(Value::to_string).collect();
    result.extend(new.filter(|item| !known.contains(&item.to_string())).cloned());
    result.into()
}

fn intersection(old: &Value, new: &Value) -> Option<Value> {
    let new: HashSet<_> = new.as_array()?.iter().map(Value::to_string).collect();
    let both: Vec<_> =
        old.as_array()?.iter().filter(|item| new.contains(&item.to_string())).cloned().collect();
    (!both.is_empty()).then(|| both.into())
}

/// The types that both allow; an integer is a number.
fn types(old: &Value, new: &Value) -> Option<Value> {
    let list = |value: &Value| match value {
        Value::Array(items) => items.clone(),
        one => vec![one.clone()],
    };
    let (old, new) = (list(old), list(new));
    let mut both = Vec::new();
    for item in &old {
        if new.contains(item) {
            both.push(item.clone());
        } else if item == "number" && new.iter().any(|other| other == "integer") {
            both.push("integer".into());
        } else if item == "integer" && new.iter().any(|other| other == "number") {
            both.push(item.clone());
        }
    }
    match both.len() {
        0 => None,
        1 => both.pop(),
        _ => Some(both.into()),
    }
}

fn tighter(old: &Value, new: &Value, choose: fn(f64, f64) -> f64) -> Value {
    match (old.as_f64(), new.as_f64()) {
        (Some(a), Some(b)) if choose(a, b) == b => new.clone(),
        _ => old.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merge(first: &Value, second: &Value) -> Option<Value> {
        merged(first.as_object().unwrap().clone(), second.as_object().unwrap()).map(Value::Object)
    }

    #[test]
    fn joins_fields_and_keeps_the_stricter_bound() {
        let first = json!({ "type": "object", "description": "A", "required": ["a"],
            "properties": { "a": { "type": "number", "minimum": 1 } } });
        let second = json!({ "type": "object", "description": "B", "required": ["b", "a"],
            "properties": { "a": { "type": "integer", "minimum": 2 }, "b": {} } });
        let expected = json!({ "type": "object", "description": "A", "required": ["a", "b"],
            "properties": { "a": { "type": "integer", "minimum": 2 }, "b": {} } });
        assert_eq!(merge(&first, &second), Some(expected));
    }

    #[test]
    fn opens_a_closed_object_that_another_one_extends() {
        let closed = json!({ "additionalProperties": false, "properties": { "a": {} } });
        let open = json!({ "properties": { "b": {} } });
        let expected = json!({ "properties": { "a": {}, "b": {} } });
        assert_eq!(merge(&closed, &open), Some(expected.clone()));
        assert_eq!(merge(&open, &closed), Some(expected));
        assert_eq!(merge(&closed, &closed), Some(closed.clone()));
    }

    #[test]
    fn gives_up_on_what_one_schema_cannot_say() {
        for (first, second) in [
            (json!({ "type": "string" }), json!({ "type": "object" })),
            (json!({ "enum": [1] }), json!({ "enum": [2] })),
            (json!({ "oneOf": [{}] }), json!({ "oneOf": [{ "type": "null" }] })),
            (json!({ "pattern": "a" }), json!({ "pattern": "b" })),
        ] {
            assert_eq!(merge(&first, &second), None, "{first} {second}");
        }
    }
}
