//! The body of a request to a model, whose schemas and arguments stay as they were written.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tool::{Error, Result};

/// The fields of a request, in their order.
#[derive(Debug, Default)]
pub(super) struct Body(Vec<(String, Box<RawValue>)>);

impl Body {
    /// Puts a field there.
    ///
    /// # Errors
    /// When it cannot be written as JSON, which none of ours refuses.
    pub(super) fn set(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        let value = to_raw_value(value)
            .map_err(|error| Error::internal("a request to a model cannot be written").caused_by(error))?;
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value));
        Ok(())
    }

    /// Lets the settings have the last word, field by field; `null` takes one out. What says another `type` than ours is
    /// another thing, and stands in its place.
    pub(super) fn merge(&mut self, extra: &Map<String, Value>) -> Result<()> {
        for (name, value) in extra {
            match (value, self.part(name)) {
                (Value::Null, _) => self.0.retain(|(known, _)| known != name),
                (Value::Object(fields), Some(mut part)) if part.is_of_type(fields) => {
                    part.merge(fields)?;
                    let merged: Option<Box<RawValue>> = RawValue::from_string(part.to_text()).ok();
                    self.set(name, &merged)?;
                }
                (value, _) => self.set(name, value)?,
            }
        }
        Ok(())
    }

    /// The fields of a field that is an object.
    fn part(&self, name: &str) -> Option<Self> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
        Some(Self(fields.into_iter().collect()))
    }

    fn is_of_type(&self, fields: &Map<String, Value>) -> bool {
        let ours = self.0.iter().find(|(name, _)| name == "type");
        let ours = ours.and_then(|(_, value)| serde_json::from_str::<Value>(value.get()).ok());
        fields.get("type").is_none_or(|given| Some(given) == ours.as_ref())
    }

    /// The JSON text.
    pub(super) fn to_text(&self) -> String {
        let size: usize = self.0.iter().map(|(name, value)| name.len() + value.get().len() + 4).sum();
        let mut text = String::with_capacity(size + 2);
        for (name, value) in &self.0 {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            text.push_str(value.get());
        }
        text.push_str(if text.is_empty() { "{}" } else { "}" });
        text
    }
}

/// `{}`
pub(super) fn empty_object() -> &'static RawValue {
    serde_json::from_str("{}").expect("it is JSON")
}

/// The instructions with the schema of the answer, for dialects that have no place of its own for it.
pub(super) fn with_schema(system: &str, schema: Option<&RawValue>) -> String {
    match schema {
        None => system.to_owned(),
        Some(schema) => format!(
            "{system}\n\nYour final answer must be JSON, without any other text and without a code fence, that fits this \
             JSON Schema:\n{}",
            schema.get()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_the_spelling_of_numbers_and_lets_the_settings_win() {
        let mut body = Body::default();
        let raw: &RawValue = serde_json::from_str("{\"big\":12345678901234567890123, \"e\":1e2}").unwrap();
        body.set("schema", &raw).unwrap();
        body.set("max_tokens", &4096).unwrap();
        body.set("model", &"m").unwrap();
        body.merge(json!({"max_tokens": null, "model": "n", "seed": 7}).as_object().unwrap()).unwrap();
        let expected = r#"{"schema":{"big":12345678901234567890123, "e":1e2},"model":"n","seed":7}"#;
        assert_eq!(body.to_text(), expected);
    }

    /// AG-4
    #[test]
    fn a_part_of_the_settings_takes_nothing_else_out_of_its_object() {
        let mut body = Body::default();
        body.set("generationConfig", &json!({ "maxOutputTokens": 4096, "temperature": 0.5 })).unwrap();
        body.set("format", &json!({ "type": "json_schema", "json_schema": {} })).unwrap();
        let raw: &RawValue = serde_json::from_str("{\"n\":1.10}").unwrap();
        body.set("kept", &raw).unwrap();
        let extra = json!({ "generationConfig": { "topP": 0.5, "temperature": null },
            "format": { "type": "json_object" }, "kept": { "m": 1 } });
        body.merge(extra.as_object().unwrap()).unwrap();
        let expected = concat!(
            r#"{"generationConfig":{"maxOutputTokens":4096,"topP":0.5},"#,
            r#""format":{"type":"json_object"},"kept":{"n":1.10,"m":1}}"#
        );
        assert_eq!(body.to_text(), expected);
    }
}
