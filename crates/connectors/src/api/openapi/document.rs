//! The document itself: parsed within bounds, its version known, its references followed.

use super::refuse;
use fetch::Url;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;
use tool::{ImportSource, Result};

/// The biggest public documents have about ten.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// References to references to references.
const MAX_HOPS: usize = 32;
const MAX_REFERENCE_BYTES: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V2,
    V30,
    V31,
}

#[derive(Debug)]
pub(super) struct Document {
    pub(super) root: Value,
    pub(super) version: Version,
    /// Where it was fetched, for servers whose address is relative to that.
    pub(super) address: Option<Url>,
}

/// A reference that leads to nothing we have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unresolved {
    reference: String,
    why: &'static str,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the reference '{}' {}", super::names::shorten(&self.reference, 200), self.why)
    }
}

impl Document {
    pub(super) fn parse(source: ImportSource, address: Option<Url>) -> Result<Self> {
        let mut root = match source {
            ImportSource::Document(root) => root,
            ImportSource::Text(text) => parse_text(&text)?,
            ImportSource::Url(_) => return Err(refuse("url", "NotFetched", "the document was not fetched")),
        };
        if !root.is_object() {
            return Err(refuse(
                "document",
                "NotOpenApi",
                "the document is no object; send an OpenAPI document",
            ));
        }
        clean(&mut root);
        let version = version_of(&root)?;
        Ok(Self { root, version, address })
    }

    pub(super) fn info(&self) -> &Map<String, Value> {
        object(self.root.get("info"))
    }

    /// Follows references until there is something else, and names the last one.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> Result<&'a Value, Unresolved> {
        let mut value = value;
        for _ in 0..MAX_HOPS {
            let Some(reference) = reference(value) else { return Ok(value) };
            value = self.target(reference)?;
        }
        let reference = reference(value).unwrap_or_default().to_owned();
        Err(Unresolved { reference, why: "refers to itself in the end" })
    }

    /// What one reference points at. Only this document is looked into.
    pub(super) fn target(&self, reference: &str) -> Result<&Value, Unresolved> {
        let because = |why| Unresolved { reference: reference.to_owned(), why };
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(because(
                "leads to another document, which is never fetched; bundle the documents into one",
            ));
        };
        if pointer.len() > MAX_REFERENCE_BYTES {
            return Err(because("is too long"));
        }
        let pointer = percent_decode_str(pointer).decode_utf8().map_err(|_| because("is no JSON pointer"))?;
        if pointer.is_empty() || !pointer.starts_with('/') {
            return Err(because("is no JSON pointer"));
        }
        self.root.pointer(&pointer).ok_or_else(|| because("leads nowhere"))
    }
}

/// The text of a `$ref`, if that is what the value is.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

/// The fields of an object; none of anything else.
pub(super) fn object(value: Option<&Value>) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    value.and_then(Value::as_object).unwrap_or(&NONE)
}

/// The items of a list; none of anything else.
pub(super) fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn version_of(root: &Value) -> Result<Version> {
    let text = |key: &str| match root.get(key) {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        // YAML reads 3.1 without quotes as a number.
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    match (text("swagger"), text("openapi")) {
        (Some(version), _) if version.starts_with('2') => Ok(Version::V2),
        (_, Some(version)) if version.starts_with("3.0") || version == "3" => Ok(Version::V30),
        (_, Some(version)) if version.starts_with("3.") => Ok(Version::V31),
        (Some(version), _) | (_, Some(version)) => {
            let version = super::names::shorten(&version, 20);
            let message = format!("version '{version}' is not known; OpenAPI 2.0, 3.0 and 3.1 are");
            Err(refuse("document", "UnknownVersion", message))
        }
        (None, None) => {
            let message = "this is no OpenAPI document: it has neither 'openapi: 3.x' nor 'swagger: \"2.0\"'";
            Err(refuse("document", "NotOpenApi", message))
        }
    }
}

fn parse_text(text: &str) -> Result<Value> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.len() > MAX_BYTES {
        let message = format!("the document has {} bytes, at most {MAX_BYTES} are read", text.len());
        return Err(refuse("document", "TooLarge", message));
    }
    let text = &*without_controls(text);
    if !text.starts_with('{') {
        return parse_yaml(text);
    }
    serde_json::from_str(text).or_else(|error| {
        // What begins with a brace may still be YAML, but whoever wrote JSON wants to hear of JSON.
        let message = format!("the document is neither YAML nor JSON: {}", tool::json_words::syntax(&error));
        parse_yaml(text).map_err(|_| refuse("document", "Unreadable", message))
    })
}

/// Control characters come into documents by copy and paste, and mean nothing there.
fn is_unwelcome(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}

fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unwelcome) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_unwelcome, " "))
}

/// The same for those that were written as escapes.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_unwelcome) => *text = text.replace(is_unwelcome, " "),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => {
            fields.values_mut().for_each(clean);
            if fields.keys().any(|name| name.contains(is_unwelcome)) {
                let old = std::mem::take(fields);
                *fields = old
                    .into_iter()
                    .map(|(name, value)| (without_controls(&name).into_owned(), value))
                    .collect();
            }
        }
        _ => {}
    }
}

fn parse_yaml(text: &str) -> Result<Value> {
    super::yaml::parse(text).map_err(|why| {
        let message = format!("the document cannot be read as YAML: {}", super::names::shorten(&why, 300));
        refuse("document", "Unreadable", message)
    })
}
