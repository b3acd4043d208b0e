//! Results of tools as a model reads them: it reads escapes of JSON as the characters that they stand for, and so must the
//! rules.

use std::borrow::Cow;

/// The characters of an escape with a number, behind its backslashes.
const NUMBER: usize = "uXXXX".len();

/// The text with the escapes of JSON as characters, where it is JSON; everything else in it stays as it was written.
pub(super) fn as_read(text: &str) -> Cow<'_, str> {
    match text.trim_start().starts_with(['{', '[']) {
        true => decoded(text, |slashes| slashes % 2 == 1),
        false => text.into(),
    }
}

/// The same for all that looks like such an escape, also in JSON within JSON, and beside other words: for rules, which look
/// at it more closely than those who only read.
pub(super) fn as_suspected(text: &str) -> Cow<'_, str> {
    decoded(text, |_| true)
}

fn decoded(text: &str, is_escape: impl Fn(usize) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find('\\') else { return text.into() };
    let mut result = String::with_capacity(text.len());
    result.push_str(&text[..first]);
    let mut rest = &text[first..];
    while !rest.is_empty() {
        let slashes = rest.len() - rest.trim_start_matches('\\').len();
        let (taken, character) = match is_escape(slashes) {
            true => character(rest, slashes),
            false => (slashes, None),
        };
        match character {
            // Escaped, they mean something else.
            Some(special @ ('"' | '\\')) if slashes == 1 => result.extend(['\\', special]),
            Some('"' | '\\') | None => result.push_str(&rest[..taken]),
            Some('\n') => result.push_str("\\n"),
            Some('\t') => result.push_str("\\t"),
            Some('\0'..='\u{1f}') => {}
            Some(character) => {
                // Those before the last one are escapes of one another.
                result.extend(std::iter::repeat_n('\\', if slashes % 2 == 1 { slashes - 1 } else { 0 }));
                result.push(character);
            }
        }
        rest = &rest[taken..];
        let next = rest.find('\\').unwrap_or(rest.len());
        result.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    Cow::Owned(result)
}

/// What the escape behind so many backslashes stands for, if it is one, and how many bytes that takes.
fn character(text: &str, slashes: usize) -> (usize, Option<char>) {
    let Some(unit) = unit(text, slashes) else {
        let is_slash = slashes % 2 == 1 && text[slashes..].starts_with('/');
        return if is_slash { (slashes + 1, Some('/')) } else { (slashes, None) };
    };
    let one = slashes + NUMBER;
    let second = text.get(one..).filter(|rest| rest.len() - rest.trim_start_matches('\\').len() == slashes);
    let low = second.and_then(|rest| self::unit(rest, slashes)).filter(|low| (0xdc00..=0xdfff).contains(low));
    match (unit, low) {
        (0xd800..=0xdbff, Some(low)) => {
            let code = 0x1_0000 + ((u32::from(unit) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
            (2 * one, char::from_u32(code))
        }
        _ => (one, Some(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER))),
    }
}

/// The number behind so many backslashes.
fn unit(text: &str, slashes: usize) -> Option<u16> {
    let digits = text.get(slashes..slashes + NUMBER)?.strip_prefix('u')?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AG-18, AG-19
    #[test]
    fn escapes_are_read_as_what_they_stand_for() {
        for (text, expected) in [
            (r#"{"n":1.10,"t":"\u673a\u5bc6 \uD83D\uDE00"}"#, r#"{"n":1.10,"t":"机密 😀"}"#),
            (r#"["a\u0022b\u005cc\u000ad\u001be\/f\n"]"#, r#"["a\"b\\c\nde/f\n"]"#),
            (r#"{"half":"\ud83d x\ud83d\u0041"}"#, "{\"half\":\"\u{fffd} x\u{fffd}A\"}"),
            // Backslashes themselves, and JSON that was cut.
            (r#"{"a":"C:\\users \\u673a \\\u673a","b":"\u67"#, r#"{"a":"C:\\users \\u673a \\机","b":"\u67"#),
            (r"no JSON \u673a", r"no JSON \u673a"),
            ("[1, 2]", "[1, 2]"),
        ] {
            assert_eq!(as_read(text), expected, "{text}");
        }
    }

    /// AG-18
    #[test]
    fn rules_see_what_is_escaped_more_than_once() {
        for (text, expected) in [
            (r#"{"s":"{\"t\":\"\\u673a\\u5bc6\"}"}"#, r#"{"s":"{\"t\":\"机密\"}"}"#),
            (r#"HTTP 500: {"m":"a\u0040b.test"}"#, r#"HTTP 500: {"m":"a@b.test"}"#),
            (r#"\\\\ud83d\\\\ude00 \\u0022"#, r#"😀 \\u0022"#),
        ] {
            assert_eq!(as_suspected(text), expected, "{text}");
        }
    }
}
