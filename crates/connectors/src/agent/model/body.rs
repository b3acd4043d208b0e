//! The body of a request to a model, whose schemas and arguments stay as they were written.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
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

    /// Lets the settings have the last word; `null` takes a field out.
    pub(super) fn merge(&mut self, extra: &Map<String, Value>) -> Result<()> {
        for (name, value) in extra {
            match value {
                Value::Null => self.0.retain(|(known, _)| known != name),
                value => self.set(name, value)?,
            }
        }
        Ok(())
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
}
