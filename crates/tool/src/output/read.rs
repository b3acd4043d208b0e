//! What is read of an answer, when somebody has to know: most is passed on unread.

use crate::readable;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The part of a relayed result that we look at.
#[derive(Deserialize)]
pub(super) struct Relayed<'a> {
    #[serde(default, rename = "isError")]
    pub(super) is_error: Option<bool>,
    #[serde(borrow, default, rename = "structuredContent")]
    pub(super) structured: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) content: Option<Vec<Block<'a>>>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Block<'a> {
    /// Not read before somebody has to: it may be long, and no text.
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// A long result need not be read to see that something stands in it.
pub(super) fn has_content(result: &str) -> bool {
    result.starts_with("{\"content\":[") || result.starts_with("{\"structuredContent\":")
}

/// What `isError` says, if it is the last field of the object, as it mostly is: then a long result
/// need not be read. The text is JSON, so that what stands before its last brace belongs to the outermost object.
pub(super) fn is_error_at_end(result: &str) -> Option<bool> {
    let rest = result.trim_end().strip_suffix('}')?.trim_end();
    let (rest, says) = match rest.strip_suffix("false") {
        Some(rest) => (rest, false),
        None => (rest.strip_suffix("true")?, true),
    };
    let before = rest.trim_end().strip_suffix(':')?.trim_end().strip_suffix("\"isError\"")?;
    // A backslash would make the quote a part of a longer name.
    (!before.ends_with('\\')).then_some(says)
}

/// The JSON in a text that is nothing else, without the space around it.
pub(super) fn as_json(text: &str) -> Option<&str> {
    serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
}

pub(super) fn text_data(block: Block<'_>) -> Option<Cow<'_, str>> {
    block.text.and_then(as_text).map(to_data)
}

/// The text that a JSON string says; one that is none is readable all the same.
fn as_text(json: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    match serde_json::from_str::<Text<'_>>(json.get()) {
        Ok(Text(text)) => Some(text),
        Err(_) => serde_json::from_str::<String>(&readable(json.get())).ok().map(Cow::Owned),
    }
}

/// The text if it is JSON, or else a JSON string of it.
pub(super) fn to_data(text: Cow<'_, str>) -> Cow<'_, str> {
    if as_json(&text).is_some() { text } else { Value::from(text.as_ref()).to_string().into() }
}
