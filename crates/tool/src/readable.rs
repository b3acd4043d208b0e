//! Half a surrogate pair, as a server leaves it that cuts an emoji in two: legal in JSON, but no text.

use std::borrow::Cow;

/// The same JSON for those who must read it, with U+FFFD for every half of a pair that stands alone. What is passed on
/// is passed on as it was.
#[must_use]
pub fn readable(json: &str) -> Cow<'_, str> {
    let halves = lone_halves(json.as_bytes());
    if halves.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    let mut from = 0;
    for at in halves {
        text.push_str(&json[from..at]);
        text.push_str("\\ufffd");
        from = at + ESCAPE;
    }
    text.push_str(&json[from..]);
    Cow::Owned(text)
}

/// How long an escape with a number is.
const ESCAPE: usize = "\\uXXXX".len();

fn lone_halves(json: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = json[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        at += match (code(json, at), code(json, at + ESCAPE)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 2 * ESCAPE,
            (Some(0xd800..=0xdfff), _) => {
                found.push(at);
                ESCAPE
            }
            (Some(_), _) => ESCAPE,
            // Another escape, which may be that of a backslash.
            (None, _) => 2,
        };
        at = at.min(json.len());
    }
    found
}

/// The number of the escape that stands there, if one does.
fn code(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_halves_and_nothing_else() {
        for (json, expected) in [
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#),
            (r#""\uD83D\uDE00 \ude00x\uD83D\ud83d\ude00""#, r#""\uD83D\uDE00 \ufffdx\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \\\ud83d""#, r#""\\ud83d \\\ufffd""#),
        ] {
            assert_eq!(readable(json), expected);
            assert!(serde_json::from_str::<serde_json::Value>(&readable(json)).is_ok(), "{json}");
        }
        for json in ["", "{}", r#""\u0041\n\"\\""#, r#""\ud8"#, "\\"] {
            assert!(matches!(readable(json), Cow::Borrowed(same) if same == json), "{json}");
        }
    }
}
