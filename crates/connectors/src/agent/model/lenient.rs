//! Values in answers that dialects and servers write in more than one way.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

/// A text, alone or in parts; nothing where it is something else.
pub(super) fn text_of(content: &RawValue) -> Option<String> {
    match content.get().as_bytes().first()? {
        b'n' => Some(String::new()),
        b'"' => serde_json::from_str(content.get()).ok(),
        b'[' => {
            let parts: Vec<Part<'_>> = serde_json::from_str(content.get()).ok()?;
            Some(parts.into_iter().filter_map(|part| part.text).collect())
        }
        _ => None,
    }
}

/// Arguments, which some write as a text that is JSON, and some as JSON.
pub(super) fn arguments_text(arguments: &RawValue) -> String {
    match arguments.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(arguments.get()).unwrap_or_default(),
        Some(b'n') | None => String::new(),
        Some(_) => arguments.get().to_owned(),
    }
}
