//! Values that are secret wherever they stand, whatever they are called there.

use super::pieces::Pieces;
use super::{MASK, Redactor};
use serde_json::{Number, Value};
use std::fmt;
use std::sync::Arc;

/// Texts and numbers that nobody may read in what is shown or kept.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValues {
    texts: Arc<[String]>,
    /// Where their parts are secret, too.
    pieces: Option<Arc<Pieces>>,
}

impl SecretValues {
    /// All texts and numbers in these values; short ones only where they are the whole of a value.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut found = Vec::new();
        values.into_iter().for_each(|value| collect(value, &mut found));
        Self::from_iter(found)
    }

    /// The same, whose parts are masked as they are: for whoever does not know what was made of them.
    #[must_use]
    pub fn with_pieces(self) -> Self {
        let pieces = (!self.is_empty()).then(|| Arc::new(Pieces::of(&self.texts)));
        Self { pieces, ..self }
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// As they are, for whoever keeps them sealed.
    #[must_use]
    pub fn expose(&self) -> &[String] {
        &self.texts
    }

    /// The value with `***` in their place.
    #[must_use]
    pub fn masked(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        match value {
            Value::String(text) if self.is_piece(&text) => MASK.into(),
            Value::String(text) => Value::String(self.masked_text(&text)),
            Value::Number(number) if self.has_number(&number) => MASK.into(),
            Value::Array(items) if self.are_pieces(&items) => {
                items.iter().map(|_| Value::from(MASK)).collect()
            }
            Value::Array(items) => items.into_iter().map(|item| self.masked(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (self.masked_text(&name), self.masked(value)))
                .collect(),
            other => other,
        }
    }

    /// The text with `***` in their place.
    #[must_use]
    pub fn masked_text(&self, text: &str) -> String {
        let masked = Redactor::new(self.texts.iter().map(String::as_str)).apply(text);
        self.pieces.as_ref().map(|pieces| pieces.masked(&masked)).unwrap_or(masked)
    }

    /// Also in another spelling: 1234 is 1234.0.
    fn has_number(&self, number: &Number) -> bool {
        let (digits, value) = (number.to_string(), number.as_f64());
        let is_equal = |text: &String| value.is_some() && text.parse().ok() == value;
        self.texts.iter().any(|text| *text == digits || is_equal(text))
    }

    fn is_piece(&self, text: &str) -> bool {
        self.pieces.as_ref().is_some_and(|pieces| pieces.has(text))
    }

    fn are_pieces(&self, items: &[Value]) -> bool {
        let texts = items.iter().map(|item| item.as_str().unwrap_or("\0"));
        self.pieces.as_ref().is_some_and(|pieces| pieces.have_all(texts))
    }
}

impl FromIterator<String> for SecretValues {
    fn from_iter<T: IntoIterator<Item = String>>(texts: T) -> Self {
        let mut texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        texts.sort_unstable();
        texts.dedup();
        Self { texts: texts.into(), pieces: None }
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect_part(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect_part(value, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Shorter ones stand in other texts by chance.
const MIN_PART: usize = 3;

fn collect_part(value: &Value, found: &mut Vec<String>) {
    let before = found.len();
    collect(value, found);
    if !value.is_array() && !value.is_object() {
        let is_short = |text: &String| text.chars().count() < MIN_PART;
        found.extract_if(before.., |text| is_short(text)).for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn masks_what_is_secret_under_any_name() {
        let secrets = SecretValues::of([&json!("hunter2"), &json!({ "pin": 1234, "on": true, "none": "" })]);
        let shown = secrets.masked(json!({ "note": "Bearer hunter2!", "n": [1234, 12], "hunter2": true }));
        assert_eq!(shown, json!({ "note": "Bearer ***!", "n": ["***", 12], "***": true }));
        assert_eq!(secrets.masked(json!([1234.0, 1234.5, 1233])), json!(["***", 1234.5, 1233]));
        assert_eq!(format!("{secrets:?}"), MASK);
        assert_eq!(SecretValues::default().masked(json!("x")), json!("x"));
        let short = SecretValues::of([&json!({ "country": "us", "tags": ["ok", 7], "pin": 123 })]);
        let plain = json!({ "status": "ok, 7 of us", "user": 7 });
        assert_eq!(short.masked(plain.clone()), plain, "parts of two letters are found anywhere");
        assert_eq!(short.masked(json!({ "n": 123 })), json!({ "n": "***" }));
        assert_eq!(
            SecretValues::of([&json!("us")]).masked(json!("us")),
            json!("***"),
            "the whole of a secret"
        );
    }

    #[test]
    fn masks_what_was_cut_out_of_a_secret() {
        let secrets = SecretValues::of([&json!("hunter2-is-mine")]).with_pieces();
        let shown = secrets.masked(json!({ "split": ["hunter2", "is", "mine"], "first": "hunter2", "in": "a hunter2 b",
            "letters": ["h", "u", "n", "t", "e", "r"], "other": ["a", "b", 7], "whole": "<hunter2-is-mine>" }));
        let expected = json!({ "split": ["***", "***", "***"], "first": "***", "in": "a *** b",
            "letters": ["***", "***", "***", "***", "***", "***"], "other": ["a", "b", 7], "whole": "<***>" });
        assert_eq!(shown, expected);
    }
}
