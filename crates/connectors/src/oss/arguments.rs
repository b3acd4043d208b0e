//! Arguments of calls, read by name.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tool::{Error, LinkMethod, Result};

/// The most characters that keys are joined up to.
pub(super) const MAX_DELIMITER: usize = 16;

/// The arguments of one call. The tool's schema has let them through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(super) fn needed(self, name: &str) -> Result<&'a str> {
        self.text(name).ok_or_else(|| wrong(name, "is missing"))
    }

    pub(super) fn number(self, name: &str) -> Option<u64> {
        let value = self.0.get(name)?;
        // A whole number is one, even if a model has written it as 5.0.
        value
            .as_u64()
            .or_else(|| value.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as u64))
    }

    pub(super) fn is_set(self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Up to where keys are joined.
    pub(super) fn delimiter(self) -> Result<Option<&'a str>> {
        match self.text("delimiter") {
            Some(text)
                if !(1..=MAX_DELIMITER).contains(&text.chars().count())
                    || text.contains(char::is_control) =>
            {
                let why =
                    format!("must be 1 to {MAX_DELIMITER} characters without control characters, e.g. '/'");
                Err(wrong("delimiter", &why))
            }
            text => Ok(text),
        }
    }

    /// The type that content is said to have, fit for a header.
    pub(super) fn content_type(self) -> Result<Option<&'a str>> {
        let Some(text) = self.text("contentType") else { return Ok(None) };
        match is_type(text) {
            true => Ok(Some(text)),
            false => Err(wrong("contentType", "is no type such as text/plain")),
        }
    }

    /// Notes about an object: few, short, and fit for headers on every provider.
    pub(super) fn metadata(self) -> Result<BTreeMap<String, String>> {
        const MOST: usize = 2048;
        let Some(map) = self.0.get("metadata").and_then(Value::as_object) else { return Ok(BTreeMap::new()) };
        let mut size = 0;
        let mut metadata = BTreeMap::new();
        for (name, value) in map {
            let is_name = (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            let Some(text) =
                value.as_str().filter(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~')))
            else {
                return Err(wrong(
                    "metadata",
                    &format!("has a value of '{name}' that is no line of ASCII text"),
                ));
            };
            if !is_name {
                return Err(wrong("metadata", "has a name that is not 1 to 64 letters, digits or '-'"));
            }
            size += name.len() + text.len();
            metadata.insert(name.to_ascii_lowercase(), text.trim().to_owned());
        }
        if size > MOST {
            Err(wrong("metadata", &format!("has more than {MOST} bytes")))
        } else {
            Ok(metadata)
        }
    }

    /// What a file is to be called where it is saved; it goes into a header.
    pub(super) fn filename(self) -> Result<Option<&'a str>> {
        match self.text("filename") {
            Some(name)
                if name.is_empty()
                    || name.len() > 255
                    || name.contains(char::is_control)
                    || name.contains(['/', '\\']) =>
            {
                Err(wrong("filename", "is no name of a file: up to 255 bytes, no '/', no line breaks"))
            }
            name => Ok(name),
        }
    }

    pub(super) fn method(self) -> LinkMethod {
        match self.text("method") {
            Some("PUT") => LinkMethod::Put,
            _ => LinkMethod::Get,
        }
    }
}

/// Whether a text is a type of content, fit for a header.
pub(super) fn is_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_word = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let is_sane = essence.split_once('/').is_some_and(|(kind, subtype)| is_word(kind) && is_word(subtype));
    is_sane && text.len() <= 200 && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

pub(super) fn wrong(parameter: &str, why: &str) -> Error {
    Error::invalid_input(format!("parameter '{parameter}' {why}")).of_parameter(parameter)
}
