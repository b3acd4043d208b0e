//! Numbers that keep the digits they were written with on their way out, such as 0.10 and those beyond 64 bits.
//!
//! `Value` rounds them. So they travel in it as texts with a mark that nobody outside can know, and whatever sends a
//! value takes the mark off again.

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use tool::call::may_lose_digits;
use tool::{Arguments, Error, Result};

/// Random, so that no argument can hold it.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let random = || RandomState::new().hash_one(());
    format!("digits-{:016x}{:016x}:", random(), random())
});

/// The arguments by name, with those numbers marked.
///
/// # Errors
/// When they are nested deeper than the parser goes.
pub(crate) fn marked(arguments: &Arguments) -> Result<Cow<'_, Map<String, Value>>> {
    let raw = arguments.raw().map(|raw| raw.get()).filter(|text| may_lose_digits(text));
    let Some(text) = raw.and_then(mark) else { return arguments.as_map().map(Cow::Borrowed) };
    let parsed = serde_json::from_str(&text);
    parsed.map(Cow::Owned).map_err(|error| {
        Error::invalid_input(format!("the arguments are unusable: {}", tool::plain(&error.to_string())))
    })
}

/// Any JSON, with those numbers marked.
///
/// # Errors
/// When it is no JSON, or nested deeper than the parser goes.
pub(crate) fn read(json: &str) -> serde_json::Result<Value> {
    let marked = may_lose_digits(json).then(|| mark(json)).flatten();
    serde_json::from_str(marked.as_deref().unwrap_or(json))
}

/// The value for those who read it, and keep it: numbers that would be rounded are texts of their digits.
pub(crate) fn legible(value: Value) -> Value {
    match value {
        Value::String(text) => unmarked(&text).into(),
        Value::Array(items) => items.into_iter().map(legible).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, legible(field))).collect(),
        other => other,
    }
}

/// The digits of a number that is marked, or the text itself.
pub(crate) fn unmarked(text: &str) -> &str {
    text.strip_prefix(MARK.as_str()).unwrap_or(text)
}

/// The digits of a number that is marked.
pub(crate) fn digits_of(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix(MARK.as_str())
}

/// The value as `Value` has it, where digits do not matter.
pub(crate) fn rounded(value: &Value) -> Value {
    let number = digits_of(value).and_then(|digits| serde_json::from_str(digits).ok());
    number.unwrap_or_else(|| value.clone())
}

/// A value as JSON, with the digits that its numbers were written with.
pub(crate) fn to_json(value: &Value) -> String {
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

/// The JSON text with each number that would be rounded as a marked text; nothing if there is none.
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
                if !is_kept(number) {
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

/// Whether a `Value` tells the number with the digits it was written with. An exponent is a way to write a number, not a
/// digit of it.
fn is_kept(number: &str) -> bool {
    /// Decimal digits that every float of 64 bits keeps.
    const KEPT: usize = 15;
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    match number.split_once(['e', 'E']) {
        Some((digits_before, _)) => {
            let is_zero = !digits_before.contains(|digit| matches!(digit, '1'..='9'));
            let is_in_range = || number.parse().is_ok_and(f64::is_normal);
            digits(digits_before) <= KEPT && (is_zero || is_in_range())
        }
        None if number.contains('.') => {
            let read = serde_json::from_str::<Value>(number).map(|value| value.to_string());
            read.is_ok_and(|written| written == number)
        }
        None => number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok(),
    }
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
    fn numbers_keep_their_digits_wherever_they_stand() {
        for json in [
            r#"{"a":123456789012345678901234}"#,
            r#"{"a":[-9223372036854775809,{"b":18446744073709551616}],"c":18446744073709551615}"#,
            r#"{"a":"18446744073709551616 \" 18446744073709551616","18446744073709551616":1}"#,
            r#"{"a":"\\","b":99999999999999999999,"c":"x"}"#,
            r#"{"a":12345678901234567890123.5,"b":[1.10,0.1234567890123456789,5.0,-0.5,123456789.123456789]}"#,
            r#"{"a":12345678901234567890e-3,"b":1.5}"#,
        ] {
            assert_eq!(through(json), json);
        }
        let listed = r#"[123456789012345678901234,{"a":1.10}]"#;
        let read = read(listed).unwrap();
        assert_eq!(to_json(&read), listed);
        assert_eq!(legible(read), serde_json::json!(["123456789012345678901234", { "a": "1.10" }]));
        // The same number, written in another way.
        assert_eq!(through(r#"{"a":1e3,"b":0e0,"c":0.10}"#), r#"{"a":1000.0,"b":0.0,"c":0.10}"#);
        assert_eq!(unmarked("18446744073709551616"), "18446744073709551616");
        assert_eq!(digits_of(&Value::from("1.10")), None);
    }
}
