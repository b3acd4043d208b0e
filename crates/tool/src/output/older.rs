//! What was relayed, for clients that take nothing but objects as structured content.

use crate::{Content, Fields};
use std::borrow::Cow;

const STRUCTURED: &str = "structuredContent";

/// The result with an object as its structured content, if it has such content that is none: the tool promises
/// something else, which is the field of one then, or it promises nothing.
pub(super) fn with_object(result: &str, is_of_any_type: bool) -> Option<String> {
    if !is_of_any_type && !may_have_other(result) {
        return None;
    }
    let fields: Fields<'_> = serde_json::from_str(result).ok()?;
    let structured = fields.get(STRUCTURED)?.get();
    if !is_of_any_type && structured.starts_with('{') {
        return None;
    }
    let mut rest: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(fields.0.len() + 1);
    for (key, value) in &fields.0 {
        match &**key {
            STRUCTURED if is_of_any_type => rest.push((STRUCTURED, in_field(value.get()).into())),
            STRUCTURED => {}
            key => rest.push((key, value.get().into())),
        }
    }
    if fields.get("content").is_none() {
        rest.push(("content", format!("[{}]", Content::text(structured).get()).into()));
    }
    Some(crate::form::object(&rest))
}

/// Structured content as the one field of an object.
pub(super) fn in_field(structured: &str) -> String {
    format!("{{\"result\":{structured}}}")
}

/// A long result need not be read to see that all that is called so is an object.
fn may_have_other(result: &str) -> bool {
    result.match_indices(STRUCTURED).any(|(at, name)| {
        let value = result[at + name.len()..].strip_prefix('"').map(str::trim_start);
        let value = value.and_then(|rest| rest.strip_prefix(':')).map(str::trim_start);
        value.is_some_and(|value| !value.starts_with('{'))
    })
}
