//! What a parameter accepts, as the connector's settings say it.

use super::document::{list, object};
use super::notes::Notes;
use super::parameters::Parameter;
use super::{Position, Type, ValueSchema};
use serde_json::{Map, Value};
use std::collections::HashSet;

impl Parameter {
    /// The parameter as the connector's settings have it.
    pub(super) fn into_settings(mut self, notes: &mut Notes) -> Value {
        let mut schema = std::mem::take(&mut self.schema);
        let words = schema.shift_remove("description");
        let description =
            self.description.or_else(|| words.and_then(|words| words.as_str().map(str::to_owned)));
        if self.position == Position::Path {
            without_null(&mut schema);
        }
        let default = schema.shift_remove("default").filter(|default| !default.is_null());
        let value_type = main_type(&schema);
        let allowed = plain_enum(&mut schema, value_type);
        let mut settings = Map::new();
        settings.insert("name".into(), self.name.clone().into());
        settings.insert("parameter_type".into(), value_type.unwrap_or(Type::String).as_str().into());
        settings.insert("position".into(), self.position.as_str().into());
        let style = self.style.map(|style| style.as_str().to_owned());
        for (key, value) in [("description", description), ("sent_as", self.sent_as), ("style", style)] {
            if let Some(value) = value {
                settings.insert(key.into(), value.into());
            }
        }
        if self.is_required {
            settings.insert("required".into(), true.into());
        }
        let schema = usable(schema, value_type, &self.name, notes);
        let fits = |value: &Value| match (&schema, value_type) {
            (Some(schema), _) => ValueSchema::new(schema.clone()).is_ok_and(|schema| schema.accepts(value)),
            (None, value_type) => value_type.unwrap_or(Type::String).fits(value),
        };
        if let Some(default) = default {
            let is_listed = allowed.as_ref().is_none_or(|allowed| allowed.contains(&default));
            if fits(&default) && is_listed {
                settings.insert("default_value".into(), default);
            } else {
                notes.warn(format!(
                    "the default of parameter '{}' is not a value it takes; it is left out",
                    self.name
                ));
            }
        }
        if let Some(allowed) = allowed {
            settings.insert("enum_values".into(), allowed.into());
        }
        for (key, value) in [("schema", schema), ("file", self.file)] {
            if let Some(value) = value {
                settings.insert(key.into(), value);
            }
        }
        settings.into()
    }
}

/// The one type of value that is meant, null aside.
pub(super) fn main_type(schema: &Map<String, Value>) -> Option<Type> {
    let of_word = |word: &str| Type::ALL.into_iter().find(|known| known.in_schema() == word);
    let of_value = |value: &Value| Type::ALL.into_iter().find(|known| known.fits(value));
    match schema.get("type") {
        Some(Value::String(word)) => return of_word(word),
        Some(Value::Array(words)) => {
            let mut types = words.iter().filter_map(|word| of_word(word.as_str()?));
            let first = types.next();
            return first.filter(|_| types.next().is_none());
        }
        _ => {}
    }
    if let Some(value) = schema.get("const") {
        return of_value(value);
    }
    let values = list(schema.get("enum"));
    if let Some(first) = values.first().and_then(of_value) {
        return values.iter().all(|value| first.fits(value)).then_some(first);
    }
    let has = |key: &str| schema.contains_key(key);
    if has("properties") || has("additionalProperties") {
        return Some(Type::Object);
    }
    has("items").then_some(Type::Array)
}

/// Takes the enum out where it is a plain list of values of the type; values that do not fit are dropped.
fn plain_enum(schema: &mut Map<String, Value>, value_type: Option<Type>) -> Option<Vec<Value>> {
    let value_type = value_type?;
    let is_plain = matches!(schema.get("type"), None | Some(Value::String(_)));
    let values = if is_plain { schema.shift_remove("enum") } else { schema.get("enum").cloned() };
    let values = values.as_ref().and_then(Value::as_array)?;
    // YAML reads an unquoted 1.0 or true as what it looks like, where a text was meant.
    let spelled = |value: &Value| match value {
        Value::Number(_) | Value::Bool(_) if value_type == Type::String => value.to_string().into(),
        other => other.clone(),
    };
    let may_be_null = !is_plain;
    let fits = |value: &Value| value_type.fits(value) || may_be_null && value.is_null();
    let mut seen = HashSet::new();
    let kept = values.iter().map(spelled).filter(fits).filter(|value| seen.insert(value.to_string()));
    let kept: Vec<Value> = kept.collect();
    if is_plain {
        return (!kept.is_empty()).then_some(kept);
    }
    schema.insert("enum".into(), kept.into());
    None
}

/// A value in a path cannot be null.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// The schema, where it says more than the type; what cannot be used of it is left out.
fn usable(
    schema: Map<String, Value>,
    value_type: Option<Type>,
    name: &str,
    notes: &mut Notes,
) -> Option<Value> {
    let has_free_items = schema.get("items").is_none_or(|items| object(Some(items)).is_empty());
    let says_only_type = match value_type {
        Some(Type::Array) => has_free_items && schema.keys().all(|key| key == "type" || key == "items"),
        Some(_) => schema.keys().all(|key| key == "type") && !schema.get("type").is_some_and(Value::is_array),
        None => false,
    };
    if says_only_type {
        return None;
    }
    let mut schema = Value::Object(schema);
    // Patterns are written for another engine now and then; all else is known to be right by now.
    if !has_pattern(&schema) || ValueSchema::new(schema.clone()).is_ok() {
        return Some(schema);
    }
    strip_patterns(&mut schema);
    notes.warn(format!("the schema of parameter '{name}' has a pattern that cannot be used; it is left out"));
    Some(schema)
}

fn has_pattern(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("pattern") || fields.values().any(has_pattern),
        Value::Array(items) => items.iter().any(has_pattern),
        _ => false,
    }
}

fn strip_patterns(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("pattern").is_some_and(Value::is_string) {
                fields.shift_remove("pattern");
            }
            fields.values_mut().for_each(strip_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_patterns),
        _ => {}
    }
}
