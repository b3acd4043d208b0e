//! Keys: the names of objects, the same rules on every provider, checked before anything is sent.

use tool::{Error, Result};

/// What the least of the providers takes.
const MAX_BYTES: usize = 1024;

/// The name of an object within its store, behind the service's prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    /// The key that a caller means, behind `prefix`.
    ///
    /// # Errors
    /// `InvalidInput` naming `parameter`, when it breaks a rule.
    pub(super) fn of(text: &str, parameter: &str, prefix: &str) -> Result<Self> {
        let wrong = |why: &str| refuse(parameter, why);
        if text.is_empty() {
            return Err(wrong("is empty"));
        }
        if let Some(why) = flaw(text) {
            return Err(wrong(why));
        }
        if text.ends_with('/') {
            return Err(wrong("ends with '/'; an object has a name behind the last one"));
        }
        Self::behind(text, parameter, prefix)
    }

    /// The beginning of keys, which may end anywhere.
    pub(super) fn prefix_of(text: &str, parameter: &str, prefix: &str) -> Result<Self> {
        if !text.is_empty()
            && let Some(why) = flaw(text)
        {
            return Err(refuse(parameter, why));
        }
        Self::behind(text, parameter, prefix)
    }

    /// Where a page ended: it is compared with keys and never opened, so that it may end within a part.
    pub(super) fn cursor_of(text: &str, prefix: &str) -> Result<String> {
        if text.starts_with('/') || text.contains(|c| c == '\\' || is_hidden(c)) {
            return Err(refuse("cursor", "is no cursor of an answer of 'list'"));
        }
        Self::behind(text, "cursor", prefix).map(|key| key.0)
    }

    fn behind(text: &str, parameter: &str, prefix: &str) -> Result<Self> {
        let key = format!("{prefix}{text}");
        if key.len() > MAX_BYTES {
            let message = format!("has more than {MAX_BYTES} bytes, with the service's prefix");
            return Err(refuse(parameter, &message));
        }
        Ok(Self(key))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

pub(super) fn refuse(parameter: &str, why: &str) -> Error {
    Error::invalid_input(format!("parameter '{parameter}' {why}")).of_parameter(parameter)
}

/// What is wrong with a key or the beginning of one: something that leads elsewhere, or hides.
pub(super) fn flaw(text: &str) -> Option<&'static str> {
    if text.starts_with('/') {
        return Some("begins with '/'; keys are relative");
    }
    if text.contains('\\') {
        return Some("holds a backslash; parts are separated by '/'");
    }
    if text.contains(is_hidden) {
        return Some("holds a control character, or one that nobody sees");
    }
    // One slash at the end ends no part that is empty.
    let mut parts = text.strip_suffix('/').unwrap_or(text).split('/');
    if parts.clone().any(str::is_empty) {
        return Some("has an empty part; write one '/' between two names");
    }
    if parts.any(|part| matches!(part, "." | "..")) {
        return Some("has '.' or '..' as a part; keys do not climb");
    }
    (text.trim() != text).then_some("begins or ends with a space")
}

/// Control characters, and those that turn text around or have no width.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OS-7
    #[test]
    fn refuses_keys_that_traverse_or_hide() {
        for key in [
            "",
            "/a",
            "a//b",
            "a/",
            ".",
            "..",
            "../a",
            "a/../b",
            "a/./b",
            "a/..",
            "a\\b",
            "..\\a",
            " a",
            "a ",
            "a\0b",
            "a\nb",
            "a\u{7f}",
            "a\u{202E}b",
            "a\u{200B}",
            "\u{FEFF}a",
            "\u{3000}a",
        ] {
            let error = Key::of(key, "key", "").unwrap_err();
            assert_eq!(error.parameter(), Some("key"), "{key:?}");
        }
        assert!(Key::of(&"a".repeat(1025), "key", "").is_err());
        assert!(Key::of(&"a".repeat(1020), "key", "files/").is_err());
    }

    #[test]
    fn takes_keys_literally() {
        for key in
            ["a", "files/doc.pdf", "中文 a+b&c.txt", "%2e%2e/x", ".hidden", "...", "a..b", "~", "a?b#c"]
        {
            assert_eq!(Key::of(key, "key", "team/").unwrap().as_str(), format!("team/{key}"));
        }
        for prefix in ["", "files/", "files/do"] {
            assert_eq!(Key::prefix_of(prefix, "prefix", "").unwrap().as_str(), prefix);
        }
        assert!(Key::prefix_of("../", "prefix", "a/").is_err());
    }
}
