//! Content blocks for clients of versions that do not have them: they get a text in their place.

use super::Content;
use crate::Fields;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The outermost object, a list, a message in it, and its block.
const DEPTH: usize = 4;

/// The result of a call, or a prompt, with a text for every block of these types; `None` where it has none of them.
#[must_use]
pub fn without_blocks(result: &str, unknown: &[&str]) -> Option<String> {
    let may_have_some = unknown.iter().any(|kind| result.contains(kind));
    if may_have_some { with_texts(result, unknown, DEPTH) } else { None }
}

fn with_texts(value: &str, unknown: &[&str], depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    if value.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value).ok()?;
        let changed: Vec<_> = items.iter().map(|item| with_texts(item.get(), unknown, depth)).collect();
        if changed.iter().all(Option::is_none) {
            return None;
        }
        let items = items.iter().zip(changed);
        let items = items.map(|(item, changed)| changed.map_or(Cow::Borrowed(item.get()), Cow::Owned));
        return Some(format!("[{}]", items.collect::<Vec<_>>().join(",")));
    }
    let fields: Fields<'_> = serde_json::from_str(value).ok()?;
    if let Some(kind) = text_of(&fields, "type").filter(|kind| unknown.contains(&&**kind)) {
        return Some(Content::text(&told(&kind, &fields)).get().to_owned());
    }
    let mut is_changed = false;
    let parts = fields.0.iter().map(|(key, value)| {
        let leads_on = matches!(&**key, "content" | "messages");
        let changed = if leads_on { with_texts(value.get(), unknown, depth) } else { None };
        is_changed |= changed.is_some();
        (&**key, changed.map_or(Cow::Borrowed(value.get()), Cow::Owned))
    });
    let parts: Vec<_> = parts.collect();
    is_changed.then(|| crate::form::object(&parts))
}

/// What stands in the place of a block.
fn told(kind: &str, block: &Fields<'_>) -> String {
    let mime_type = text_of(block, "mimeType").unwrap_or_else(|| "unknown type".to_owned());
    match (kind, text_of(block, "uri")) {
        ("resource_link", Some(uri)) => match text_of(block, "name") {
            Some(name) => format!("{name}: {uri}"),
            None => uri,
        },
        _ => {
            let bytes = block.get("data").map_or(0, |data| decoded_bytes(data.get()));
            format!("({kind} left out, which this version of MCP does not have: {mime_type}, {bytes} bytes)")
        }
    }
}

fn text_of(fields: &Fields<'_>, key: &str) -> Option<String> {
    serde_json::from_str(fields.get(key)?.get()).ok()
}

/// How many bytes a JSON string of base64 stands for.
fn decoded_bytes(data: &str) -> usize {
    data.trim_matches('"').trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: &[&str] = &["resource_link", "audio"];

    /// MC-3
    #[test]
    fn blocks_of_later_versions_become_texts_and_the_rest_stays() {
        let result = r#"{ "z":1.50,"content":[{"type":"audio","data":"AP8=","mimeType":"audio/wav"},{ "type":"text","text":"an audio"},
            {"type":"resource_link","uri":"a:b","name":"B"}],"structuredContent":{"type":"audio"},"isError":false}"#;
        assert_eq!(
            without_blocks(result, UNKNOWN).unwrap(),
            r#"{"z":1.50,"content":[{"type":"text","text":"(audio left out, which this version of MCP does not have: audio/wav, 2 bytes)"},{ "type":"text","text":"an audio"},{"type":"text","text":"B: a:b"}],"structuredContent":{"type":"audio"},"isError":false}"#
        );
        assert!(
            without_blocks(result, &["resource_link"]).unwrap().contains(r#""type":"audio","data":"AP8=""#)
        );
        assert_eq!(without_blocks(r#"{"content":[{"type":"text","text":"audio"}]}"#, UNKNOWN), None);
        let prompt = r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a:b"}}]}"#;
        assert_eq!(
            without_blocks(prompt, UNKNOWN).unwrap(),
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"a:b"}}]}"#
        );
    }
}
