//! Where a page of a list ended: its last key, or a mark of the store's own where only that says it exactly.

use super::key::{Key, refuse};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tool::Result;

/// No key begins with it.
const MARK: char = '/';
/// Longer than the marks of all stores that we know.
const MAX_BYTES: usize = 8192;

/// What the next page begins behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cursor {
    /// A key, or what keys are joined to, with the service's prefix.
    Key(String),
    Mark(String),
}

impl Cursor {
    /// The cursor that a caller gives back.
    ///
    /// # Errors
    /// `InvalidInput` where it was none of ours.
    pub(super) fn parse(text: &str, prefix: &str) -> Result<Self> {
        let Some(mark) = text.strip_prefix(MARK) else { return Key::cursor_of(text, prefix).map(Self::Key) };
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(mark).ok().filter(|bytes| bytes.len() <= MAX_BYTES);
        let mark = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|mark| !mark.is_empty());
        mark.map(Self::Mark).ok_or_else(unknown)
    }

    /// The cursor as callers see it, without the service's prefix.
    pub(super) fn written(&self, prefix: &str) -> String {
        match self {
            Self::Key(key) => key.strip_prefix(prefix).unwrap_or(key).to_owned(),
            Self::Mark(mark) => format!("{MARK}{}", BASE64_URL_SAFE_NO_PAD.encode(mark)),
        }
    }
}

/// It is none, or none of such a list.
pub(super) fn unknown() -> tool::Error {
    refuse("cursor", "is no cursor of an answer of 'list' with the same 'prefix' and 'delimiter'")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OS-3
    #[test]
    fn tells_marks_from_keys() {
        for cursor in [Cursor::Key("team/a/b.txt".to_owned()), Cursor::Mark("team/a=\u{1F980}&+".to_owned())]
        {
            let written = cursor.written("team/");
            assert!(!written.contains("team/"), "{written}");
            assert_eq!(Cursor::parse(&written, "team/").unwrap(), cursor);
        }
        for text in ["/", "/not base64", "/a", "a\\b", "a\nb"] {
            assert_eq!(Cursor::parse(text, "").unwrap_err().parameter(), Some("cursor"), "{text:?}");
        }
    }
}
