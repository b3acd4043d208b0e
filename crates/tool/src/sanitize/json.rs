//! The same for JSON: the words for people and models are cleaned where they stand, byte for byte
//! the rest stays.

use super::{Hidden, clean};
use crate::readable;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Keys whose text explains; everything else is data that must reach the service as it is.
const WORDS: [&str; 5] = ["description", "title", "markdownDescription", "enumDescriptions", "$comment"];
/// Keywords of a schema below which there is data.
pub(crate) const DATA: [&str; 4] = ["enum", "const", "default", "examples"];
/// Keywords of a schema below which keys are names, not keywords.
pub(crate) const NAMES: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// An object or array around the place where the reader is.
#[derive(Default)]
struct Frame {
    is_object: bool,
    is_key_next: bool,
    /// The key whose value is being read; in an array, the array's own.
    key: String,
    /// Nothing below is changed.
    is_data: bool,
    /// Its keys are names.
    has_names: bool,
}

impl Frame {
    /// The frame below this one.
    fn inner(&self, is_object: bool) -> Self {
        let is_keyword = self.is_object && !self.has_names;
        Self {
            is_object,
            is_key_next: is_object,
            key: if is_object { String::new() } else { self.key.clone() },
            is_data: self.is_data || is_keyword && DATA.contains(&self.key.as_str()),
            has_names: is_object && is_keyword && NAMES.contains(&self.key.as_str()),
        }
    }
}

/// The value of a tool's field without what hides in its words; `None` when nothing has changed.
/// What hides elsewhere is found, and stays.
pub(crate) fn clean_field(key: &str, value: &str, found: &mut BTreeSet<Hidden>) -> Option<String> {
    // Nearly all definitions are such: no escapes, nothing odd.
    if !value.contains('\\') && matches!(clean(value, &mut BTreeSet::new()), Cow::Borrowed(_)) {
        return None;
    }
    let mut frames = vec![Frame { is_object: true, key: key.to_owned(), ..Frame::default() }];
    let mut result = String::with_capacity(value.len());
    let mut is_changed = false;
    let mut at = 0;
    while let Some(byte) = value.as_bytes().get(at) {
        let frame = frames.last_mut()?;
        match byte {
            b'"' => {
                let string = &value[at..at + string_length(&value[at..])];
                at += string.len();
                let cleaned = take_string(frame, string, found);
                is_changed |= cleaned.is_some();
                result.push_str(cleaned.as_deref().unwrap_or(string));
                continue;
            }
            b'{' | b'[' => {
                let inner = frame.inner(*byte == b'{');
                frames.push(inner);
            }
            b'}' | b']' => drop(frames.pop()),
            b',' => frame.is_key_next = frame.is_object,
            _ => {}
        }
        // Outside strings JSON is ASCII.
        result.push(char::from(*byte));
        at += 1;
    }
    is_changed.then_some(result)
}

/// A string as it is to be written, if not as it was.
fn take_string(frame: &mut Frame, string: &str, found: &mut BTreeSet<Hidden>) -> Option<String> {
    // What cannot be read could not be cleaned, so half a pair is no way round it.
    let decoded: String = serde_json::from_str(&readable(string)).unwrap_or_default();
    let cleaned = clean(&decoded, found);
    let is_clean = matches!(cleaned, Cow::Borrowed(_));
    if std::mem::take(&mut frame.is_key_next) {
        frame.key = decoded;
        return None;
    }
    let is_words = WORDS.contains(&frame.key.as_str()) && !frame.is_data;
    (is_words && !is_clean).then(|| serde_json::Value::from(cleaned.into_owned()).to_string())
}

/// The length of the string that the text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| match byte {
        _ if is_escaped => {
            is_escaped = false;
            false
        }
        b'\\' => {
            is_escaped = true;
            false
        }
        byte => byte == b'"',
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(key: &str, value: &str) -> (Option<String>, Vec<Hidden>) {
        let mut found = BTreeSet::new();
        let result = clean_field(key, value, &mut found);
        (result, found.into_iter().collect())
    }

    #[test]
    fn cleans_words_and_leaves_the_rest_byte_for_byte() {
        let schema = "{ \"z\":1.50, \"properties\":{\"a\":{\"description\":\"see\\u200b this\\u0041\",\"n\":1e2},\
            \"default\":{\"title\":\"x\u{202e}y\"}},\"description\" : \"\\u001b[1mloud\" }";
        let (result, found) = cleaned("inputSchema", schema);
        assert_eq!(
            result.unwrap(),
            "{ \"z\":1.50, \"properties\":{\"a\":{\"description\":\"see thisA\",\"n\":1e2},\
            \"default\":{\"title\":\"xy\"}},\"description\" : \"loud\" }"
        );
        assert_eq!(found, [Hidden::TerminalEscape, Hidden::ZeroWidth, Hidden::Bidirectional]);
    }

    #[test]
    fn reports_what_it_must_not_change() {
        for schema in [
            "{\"enum\":[\"a\\u200bb\"]}",
            "{\"properties\":{\"a\u{200b}\":{}}}",
            "{\"default\":{\"description\":\"a\u{200b}\"}}",
            "{\"pattern\":\"\\u200b\"}",
        ] {
            assert_eq!(cleaned("inputSchema", schema), (None, vec![Hidden::ZeroWidth]), "{schema}");
        }
    }

    #[test]
    fn changes_nothing_where_nothing_hides() {
        for value in
            ["\"it\\\\s \\\"fine\\\" \\u00e9\"", "{\"a\":[1,{\"description\":\"ok \\n\"}],\"b\":null}", "7"]
        {
            assert_eq!(cleaned("description", value), (None, vec![]), "{value}");
        }
        assert_eq!(cleaned("description", "\"a\\u0000b\"").0.unwrap(), "\"ab\"");
    }
}
