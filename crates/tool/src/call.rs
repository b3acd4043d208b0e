//! One run of one tool: its arguments on the way in.

use crate::distinct::{self, Unread};
use crate::uri::Options;
use crate::{Error, Fields, Problem, Result};
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

    /// The arguments as a JSON object, parsed at most once. An object that has a name twice is refused here, where it costs
    /// nothing beside the parsing: whoever is sent the text as it came might take the value that nobody has looked at.
    ///
    /// # Errors
    /// When an object has a name twice, or when they are nested deeper than the parser goes, 128 levels.
    pub fn as_value(&self) -> Result<&Value> {
        if let Some(value) = self.parsed.get() {
            return Ok(value);
        }
        let value = match &self.raw {
            None => Value::Object(Map::new()),
            Some(raw) => distinct::read(raw.get()).map_err(unusable)?,
        };
        Ok(self.parsed.get_or_init(|| value))
    }

    /// The arguments by name, parsed at most once.
    ///
    /// # Errors
    /// Those of `as_value`.
    pub fn as_map(&self) -> Result<&Map<String, Value>> {
        self.as_value()?
            .as_object()
            .ok_or_else(|| Error::invalid_input("the arguments must be a JSON object"))
    }

    /// The same with more: what came stays as it is written, so that numbers keep their digits.
    ///
    /// # Errors
    /// Those of `as_value`.
    pub fn with(&self, added: impl Iterator<Item = (String, Value)>) -> Result<Self> {
        let mut map = self.as_map()?.clone();
        let came_empty = map.is_empty();
        let before = self.raw.as_ref().filter(|raw| may_lose_digits(raw.get()));
        let Some(before) = before.and_then(|raw| raw.get().trim_end().strip_suffix('}')) else {
            map.extend(added);
            return Ok(map.into());
        };
        let added: Map<String, Value> = added.collect();
        let separator = if came_empty || added.is_empty() { "" } else { "," };
        let text = Value::Object(added.clone()).to_string();
        let raw = RawValue::from_string(format!("{before}{separator}{}", &text[1..])).ok();
        map.extend(added);
        Ok(Self { raw, parsed: Value::Object(map).into() })
    }

    /// The same under other names: `name_of` says which, and leaves out what has none. What came stays as it is written.
    ///
    /// # Errors
    /// Those of `as_value`.
    pub fn renamed(&self, name_of: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let given = self.as_map()?.iter();
        let map: Map<_, _> =
            given.filter_map(|(name, value)| Some((name_of(name)?, value.clone()))).collect();
        let Some(raw) = self.raw.as_ref().filter(|raw| may_lose_digits(raw.get())) else {
            return Ok(map.into());
        };
        let fields: Fields<'_> =
            serde_json::from_str(raw.get()).map_err(|error| unusable(Unread::Json(error)))?;
        let named = fields.0.iter().filter_map(|(name, value)| Some((name_of(name)?, value)));
        let fields = named.map(|(name, value)| format!("{}:{}", Value::from(name), value.get()));
        let text = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
        Ok(Self { raw: RawValue::from_string(text).ok(), parsed: Value::Object(map).into() })
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

fn unusable(unread: Unread) -> Error {
    match unread {
        Unread::Twice(path) => {
            let message = format!(
                "Parameter '{path}' is given twice; an object has each name once, so leave out all but one"
            );
            let problem = Problem::new(&path, "Duplicate", message.clone());
            Error::invalid_input(message).of_parameter(&path).with_problems(vec![problem])
        }
        Unread::Json(error) => {
            let words = error.to_string();
            Error::invalid_input(format!("the arguments are unusable: {}", crate::plain(&words)))
        }
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(map: Map<String, Value>) -> Self {
        Self { raw: None, parsed: Value::Object(map).into() }
    }
}

/// There may be a number in a JSON text that [`Value`] has other digits for: one with a fraction or an exponent, or a whole
/// one beyond 64 bits.
#[must_use]
pub fn may_lose_digits(text: &str) -> bool {
    const DIGITS: usize = 19;
    let mut run = 0;
    text.bytes().any(|byte| {
        let is_behind_digit = run > 0;
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        run == DIGITS || (is_behind_digit && matches!(byte, b'.' | b'e' | b'E'))
    })
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
    fn what_is_added_leaves_numbers_as_they_came() {
        let with = |text: &str| {
            let arguments = Arguments::from_raw(raw(text)).unwrap();
            let arguments = arguments.with([("n".to_owned(), Value::from(1))].into_iter()).unwrap();
            assert_eq!(arguments.as_map().unwrap()["n"], 1);
            arguments.to_raw().get().to_owned()
        };
        let long = "{\"a\": 123456789012345678901234,\"b\":0.10";
        assert_eq!(with(&format!("{long} }}")), format!("{long} ,\"n\":1}}"));
        assert_eq!(with("{\"a\":1.10}"), "{\"a\":1.10,\"n\":1}");
        assert_eq!(with("{}"), "{\"n\":1}");
        assert_eq!(with("{\"a\":2}"), "{\"a\":2,\"n\":1}");
    }

    #[test]
    fn what_has_another_name_keeps_its_digits() {
        let other = |text: &str| {
            let renamed = Arguments::from_raw(raw(text)).unwrap().renamed(|name| match name {
                "a" => Some("\"b\"".to_owned()),
                "gone" => None,
                name => Some(name.to_owned()),
            });
            renamed.unwrap().to_raw().get().to_owned()
        };
        let long = "123456789012345678901234";
        assert_eq!(
            other(&format!("{{\"a\": {long}, \"gone\":1.50,\"c\":[0.10]}}")),
            format!("{{\"\\\"b\\\"\":{long},\"c\":[0.10]}}")
        );
        assert_eq!(other("{\"a\":1,\"gone\":2}"), "{\"\\\"b\\\"\":1}");
    }

    #[test]
    fn refuses_a_name_that_stands_twice_in_an_object() {
        for (text, path) in
            [(r#"{"to":5,"amount":1,"to":"bob"}"#, "to"), (r#"{"a":[{"b":1},{"b":1,"\u0062":2}]}"#, "a[1].b")]
        {
            let error = Arguments::from_raw(raw(text)).unwrap().as_map().unwrap_err();
            let expected = format!(
                "Parameter '{path}' is given twice; an object has each name once, so leave out all but one"
            );
            assert_eq!((error.message(), error.parameter()), (expected.as_str(), Some(path)));
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
            assert_eq!(error.problems().len(), 1);
        }
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
