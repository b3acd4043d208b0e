//! Whole numbers beyond 64 bits, which keep their digits on their way into a request.
//!
//! `Value` rounds them. So they travel in it as texts with a mark that nobody outside can know, and whatever writes a
//! value into a request takes the mark off again.

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use tool::call::has_long_number;
use tool::{Arguments, Error, Result};

/// Random, so that no argument can hold it.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let random = || RandomState::new().hash_one(());
    format!("digits-{:016x}{:016x}:", random(), random())
});

/// The arguments by name, with long numbers marked.
///
/// # Errors
/// When they are nested deeper than the parser goes.
pub(super) fn marked(arguments: &Arguments) -> Result<Cow<'_, Map<String, Value>>> {
    let raw = arguments.raw().map(|raw| raw.get()).filter(|text| has_long_number(text));
    let Some(text) = raw.and_then(mark) else { return arguments.as_map().map(Cow::Borrowed) };
    let parsed = serde_json::from_str(&text);
    parsed.map(Cow::Owned).map_err(|error| {
        Error::invalid_input(format!("the arguments are unusable: {}", tool::plain(&error.to_string())))
    })
}

/// The digits of a long number, or the text itself.
pub(super) fn unmarked(text: &str) -> &str {
    text.strip_prefix(MARK.as_str()).unwrap_or(text)
}

/// A value as JSON, with the digits of long numbers.
pub(super) fn to_json(value: &Value) -> String {
    let text = value.to_string();
    let Some((before, rest)) = text.split_once(&format!("\"{}", *MARK)) else { return text };
    let mut exact = before.to_owned();
    for piece in rest.split(&format!("\"{}", *MARK)) {
        // A number ends where its text did.
        let (digits, after) = piece.split_once('"').unwrap_or((piece, ""));
        exact.push_str(digits);
        exact.push_str(after);
    }
    exact
}

/// The JSON text with each long number as a marked text; nothing if there is none.
fn mark(json: &str) -> Option<String> {
    let mut marked = String::new();
    let (mut written, mut at) = (0, 0);
    let bytes = json.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_text(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let length = bytes[at..].iter().take_while(|byte| is_of_number(byte)).count();
                let number = &json[at..at + length];
                if is_long(number) {
                    marked.extend([&json[written..at], "\"", &MARK, number, "\""]);
                    written = at + length;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    (written > 0).then(|| marked + &json[written..])
}

/// Where the text that begins at a quote ends.
fn end_of_text(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// A whole number that no type of 64 bits holds.
fn is_long(number: &str) -> bool {
    let is_whole = number.strip_prefix('-').unwrap_or(number).bytes().all(|byte| byte.is_ascii_digit());
    is_whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn through(json: &str) -> String {
        let arguments = Arguments::from_raw(RawValue::from_string(json.to_owned()).unwrap()).unwrap();
        to_json(&Value::Object(marked(&arguments).unwrap().into_owned()))
    }

    #[test]
    fn long_numbers_keep_their_digits_wherever_they_stand() {
        for json in [
            r#"{"a":123456789012345678901234}"#,
            r#"{"a":[-9223372036854775809,{"b":18446744073709551616}],"c":18446744073709551615}"#,
            r#"{"a":"18446744073709551616 \" 18446744073709551616","18446744073709551616":1}"#,
            r#"{"a":"\\","b":99999999999999999999,"c":"x"}"#,
        ] {
            assert_eq!(through(json), json);
        }
        assert_eq!(through(r#"{"a":12345678901234567890123.5}"#), r#"{"a":1.2345678901234568e+22}"#);
        assert_eq!(unmarked("18446744073709551616"), "18446744073709551616");
    }
}
