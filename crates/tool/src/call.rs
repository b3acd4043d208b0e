//! One run of one tool: its arguments on the way in.

use crate::uri::Options;
use crate::{Error, Result};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// What a connector is asked to do.
#[derive(Debug)]
pub struct Call {
    /// The tool's name within its service.
    pub tool: String,
    /// Checked against the tool's schema, with defaults and presets filled in.
    pub arguments: Arguments,
    /// What stood behind the question mark of the URI.
    pub options: Options,
    /// For services of the caller's own protocol.
    pub extras: Extras,
    /// How much of an answer gets to the caller: what is larger is cut. Whoever takes something away for good must take no
    /// more than that.
    pub max_answer_bytes: usize,
}

impl Call {
    /// A call without options, whose answer is taken whole.
    pub fn new(tool: impl Into<String>, arguments: Arguments) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            options: Options::default(),
            extras: Extras::default(),
            max_answer_bytes: usize::MAX,
        }
    }
}

/// What the caller's request carried besides its name and arguments, by name and as it came.
#[derive(Debug, Default, Clone)]
pub struct Extras(pub Vec<(String, Box<RawValue>)>);

impl Extras {
    /// The value under `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// Takes out the value under `name`.
    pub fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// Puts `value` under `name`, instead of what stood there.
    pub fn set(&mut self, name: &str, value: Box<RawValue>) {
        self.take(name);
        self.0.push((name.to_owned(), value));
    }
}

/// The arguments of a call: raw until somebody needs to look inside.
#[derive(Debug, Default)]
pub struct Arguments {
    raw: Option<Box<RawValue>>,
    /// Always an object.
    parsed: OnceLock<Value>,
}

impl Arguments {
    /// Takes JSON as it came; `null` counts as no arguments.
    ///
    /// # Errors
    /// When it is neither an object nor `null`.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self> {
        match raw.get().as_bytes().first() {
            Some(b'{') => Ok(Self { raw: Some(raw), parsed: OnceLock::new() }),
            Some(b'n') => Ok(Self::default()),
            _ => Err(Error::invalid_input("the arguments must be a JSON object")),
        }
    }

    /// The arguments as a JSON object, parsed at most once.
    ///
    /// # Errors
    /// When they are nested deeper than the parser goes, 128 levels.
    pub fn as_value(&self) -> Result<&Value> {
        if let Some(value) = self.parsed.get() {
            return Ok(value);
        }
        let value = match &self.raw {
            None => Value::Object(Map::new()),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|error| {
                Error::invalid_input(format!(
                    "the arguments are unusable: {}",
                    crate::plain(&error.to_string())
                ))
            })?,
        };
        Ok(self.parsed.get_or_init(|| value))
    }

    /// The arguments by name, parsed at most once.
    ///
    /// # Errors
    /// When they are nested deeper than the parser goes, 128 levels.
    pub fn as_map(&self) -> Result<&Map<String, Value>> {
        self.as_value()?
            .as_object()
            .ok_or_else(|| Error::invalid_input("the arguments must be a JSON object"))
    }

    /// The arguments as JSON text, as they came where nobody changed them.
    #[must_use]
    pub fn to_raw(&self) -> Box<RawValue> {
        let made = || {
            let text = self.parsed.get().map_or_else(|| "{}".to_owned(), Value::to_string);
            RawValue::from_string(text).unwrap_or_default()
        };
        self.raw.clone().unwrap_or_else(made)
    }

    /// The raw text, where the arguments are still as they came.
    #[must_use]
    pub fn raw(&self) -> Option<&RawValue> {
        self.raw.as_deref()
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(map: Map<String, Value>) -> Self {
        Self { raw: None, parsed: Value::Object(map).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn stays_as_it_came_until_changed() {
        let arguments = Arguments::from_raw(raw("{\"b\": 1.0, \"a\":9007199254740993}")).unwrap();
        assert_eq!(arguments.as_map().unwrap().len(), 2);
        assert_eq!(arguments.to_raw().get(), "{\"b\": 1.0, \"a\":9007199254740993}");
        assert_eq!(Arguments::from_raw(raw("null")).unwrap().to_raw().get(), "{}");
    }

    #[test]
    fn refuses_what_is_no_object_and_what_is_too_deep() {
        assert!(Arguments::from_raw(raw("[1]")).is_err());
        assert!(Arguments::from_raw(raw("\"x\"")).is_err());
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        let deep = Arguments::from_raw(raw(&deep)).unwrap();
        assert!(deep.as_map().unwrap_err().to_string().contains("recursion limit"));
    }
}
