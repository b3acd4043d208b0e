//! Values go out as they are written, or not at all: the reader of JSON rounds what no float holds, and the library bends
//! times and masks that are none.

use super::message::{VALUE, is_object};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Up to here floats hold every whole number.
const LARGEST_EXACT: i128 = 1 << 53;
/// No number that is shorter is rounded.
const SHORTEST: usize = 16;

/// A value that would be sent as another one.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) path: String,
    pub(super) why: &'static str,
}

/// The first value in the JSON text of a message that would be changed. The text has been read as such a message.
pub(super) fn find_changed(message: &MessageDescriptor, text: &str) -> Option<Changed> {
    if !is_suspicious(text) {
        return None;
    }
    let json: &RawValue = serde_json::from_str(text).ok()?;
    match is_object(message.full_name()) {
        true => in_message(message, json, ""),
        false => in_message(message, object(json).get(VALUE)?, VALUE),
    }
}

/// Whether a text has a value that is worth a look, which costs much less than the look.
fn is_suspicious(text: &str) -> bool {
    let mut bytes = text.bytes().enumerate();
    while let Some((start, byte)) = bytes.next() {
        match byte {
            b'"' => {
                let mut end = start + 1;
                while let Some((at, byte)) = bytes.next().filter(|(_, byte)| *byte != b'"') {
                    end = at + 1;
                    if byte == b'\\' {
                        end += usize::from(bytes.next().is_some());
                    }
                }
                if text.get(start + 1..end).is_some_and(is_suspicious_text) {
                    return true;
                }
            }
            b'-' | b'0'..=b'9' => {
                let end = text[start..]
                    .find(|next: char| !is_of_number(next))
                    .map_or(text.len(), |end| start + end);
                let number = &text[start..end];
                if number.len() >= SHORTEST || number.contains(['e', 'E']) || number.starts_with("-0") {
                    return true;
                }
                for _ in 1..number.len() {
                    bytes.next();
                }
            }
            _ => {}
        }
    }
    false
}

/// A text as it is written in JSON, without its quotes: a number, a time or a list of paths that may be bent.
fn is_suspicious_text(text: &str) -> bool {
    let is_list = text.starts_with(',') || text.ends_with(',') || text.contains(",,");
    let is_time =
        text.contains(":60") || (text.contains(':') && text.len() > "2026-11-19T01:02:03.123456789".len());
    let is_number = text.contains(['e', 'E']) && text.chars().all(is_of_number);
    is_list || is_time || is_number || text.contains("\\u")
}

fn is_of_number(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '+' | '-' | '.' | 'e' | 'E')
}

fn object(json: &RawValue) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(json.get()).unwrap_or_default()
}

fn in_message(message: &MessageDescriptor, json: &RawValue, path: &str) -> Option<Changed> {
    match message.full_name().strip_prefix("google.protobuf.") {
        Some("Int32Value" | "UInt32Value" | "Int64Value" | "UInt64Value") => integer(json, path),
        Some("DoubleValue") => overflow::<f64>(json, path).or_else(|| float(json, path)),
        Some("FloatValue") => overflow::<f32>(json, path).or_else(|| float(json, path)),
        Some("Timestamp") => time(json, path),
        Some("FieldMask") => mask(json, path),
        // Their numbers are floats, and kept as such.
        Some("Struct" | "Value" | "ListValue" | "Duration") => None,
        Some("Any") => in_any(message, json, path),
        _ => object(json).into_iter().find_map(|(name, value)| in_named(message, &name, value, path)),
    }
}

fn in_any(any: &MessageDescriptor, json: &RawValue, path: &str) -> Option<Changed> {
    let mut fields = object(json);
    let url: String = serde_json::from_str(fields.remove("@type")?.get()).ok()?;
    let message = any.parent_pool().get_message_by_name(url.rsplit('/').next()?)?;
    match is_object(message.full_name()) {
        true => fields.into_iter().find_map(|(name, value)| in_named(&message, &name, value, path)),
        false => in_message(&message, fields.get(VALUE)?, &join(path, VALUE)),
    }
}

fn in_named(message: &MessageDescriptor, name: &str, json: &RawValue, path: &str) -> Option<Changed> {
    let field = message.get_field_by_json_name(name).or_else(|| message.get_field_by_name(name))?;
    in_field(&field, json, &join(path, name))
}

fn in_field(field: &FieldDescriptor, json: &RawValue, path: &str) -> Option<Changed> {
    if json.get() == "null" {
        return None;
    }
    if field.is_list() {
        let items: Vec<&RawValue> = serde_json::from_str(json.get()).unwrap_or_default();
        let kind = field.kind();
        let mut items = items.into_iter().enumerate();
        // In a list every item is sent, also one that is a default.
        return items.find_map(|(at, item)| in_kind(&kind, true, item, &format!("{path}[{at}]")));
    }
    if let (true, Kind::Message(entry)) = (field.is_map(), field.kind()) {
        let kind = entry.map_entry_value_field().kind();
        return object(json)
            .into_iter()
            .find_map(|(key, value)| in_kind(&kind, false, value, &join(path, &key)));
    }
    in_kind(&field.kind(), field.supports_presence(), json, path)
}

/// `is_always_sent` says that a zero is sent, too.
fn in_kind(kind: &Kind, is_always_sent: bool, json: &RawValue, path: &str) -> Option<Changed> {
    match kind {
        Kind::Message(message) => in_message(message, json, path),
        Kind::Double => overflow::<f64>(json, path).or_else(|| float(json, path).filter(|_| !is_always_sent)),
        Kind::Float => overflow::<f32>(json, path).or_else(|| float(json, path).filter(|_| !is_always_sent)),
        Kind::Bool | Kind::String | Kind::Bytes | Kind::Enum(_) => None,
        _ => integer(json, path),
    }
}

/// Strings are read digit by digit, so that they are right or refused already.
fn integer(json: &RawValue, path: &str) -> Option<Changed> {
    let number = json.get();
    let is_number = number.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let is_exact = |whole: i128| match number.contains(['.', 'e', 'E']) {
        true => whole.abs() <= LARGEST_EXACT,
        false => (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&whole),
    };
    let why = "the number is out of range, or none that can be read exactly; write it in quotes, without a fraction";
    (is_number && !whole(number).is_some_and(is_exact)).then(|| Changed { path: path.to_owned(), why })
}

/// A zero is not sent, and so would lose its sign.
fn float(json: &RawValue, path: &str) -> Option<Changed> {
    let is_negative_zero = |number: &f64| *number == 0.0 && number.is_sign_negative();
    let number = json.get().trim_matches('"').parse().ok().filter(is_negative_zero);
    number.map(|_: f64| Changed { path: path.to_owned(), why: "negative zero cannot be sent; write 0" })
}

/// Only who says so means infinity.
fn overflow<F: FromStr + Into<f64>>(json: &RawValue, path: &str) -> Option<Changed> {
    let text: String = serde_json::from_str(json.get()).ok()?;
    let has_digit = text.contains(|digit: char| digit.is_ascii_digit());
    let is_beyond = has_digit && text.parse::<F>().is_ok_and(|number| number.into().is_infinite());
    is_beyond.then(|| Changed { path: path.to_owned(), why: "the number is out of range" })
}

/// A second that is in no minute, or parts of one that nobody keeps.
fn time(json: &RawValue, path: &str) -> Option<Changed> {
    let text: String = serde_json::from_str(json.get()).ok()?;
    let seconds = text.get("2026-11-19T01:02:".len()..)?;
    let digits =
        seconds.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    let why = match (seconds.starts_with("60"), digits > 9) {
        (true, _) => "a minute ends before its second 60; write second 59 or the next minute",
        (false, true) => "a time has up to nine digits behind the second; leave the others out",
        (false, false) => return None,
    };
    Some(Changed { path: path.to_owned(), why })
}

fn mask(json: &RawValue, path: &str) -> Option<Changed> {
    let text: String = serde_json::from_str(json.get()).ok()?;
    let has_gap = !text.is_empty() && text.split(',').any(str::is_empty);
    let why = "a path between the commas is empty; leave the comma out";
    has_gap.then(|| Changed { path: path.to_owned(), why })
}

/// The whole number that is written, if it is one.
pub(super) fn whole(number: &str) -> Option<i128> {
    let (number, exponent) = match number.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits = format!("{integer}{fraction}");
    if digits.bytes().all(|byte| matches!(byte, b'-' | b'0')) {
        return Some(0);
    }
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let places = usize::try_from(shift.unsigned_abs()).ok()?;
    if shift < 0 {
        let behind = digits.split_off(digits.len().checked_sub(places)?);
        return digits.parse().ok().filter(|_| behind.bytes().all(|byte| byte == b'0'));
    }
    // Nobody has a number that is longer.
    digits.push_str(&"0".repeat(places.min(40)));
    digits.parse().ok().filter(|_| places < 40)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_whole_numbers_however_they_are_written() {
        for (text, expected) in [
            ("12", Some(12)),
            ("-12.50e1", Some(-125)),
            ("1e3", Some(1_000)),
            ("1.5", None),
            ("-0.0", Some(0)),
            ("1e-1", None),
            ("1e400", None),
            ("1e99999999999", None),
            ("18446744073709551616", Some(1 << 64)),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    #[test]
    fn looks_only_where_a_number_may_be_rounded() {
        for text in [r#"{"a":1,"b":[12.5,-3]}"#, r#"{"a":"1e3 \" -0.0 99999999999999999999"}"#, "{}"] {
            assert!(!is_suspicious(text), "{text}");
        }
        for text in [r#"{"a":1e3}"#, r#"{"a":[-0.0]}"#, r#"{"a":9007199254740993.0}"#, "18446744073709551616"]
        {
            assert!(is_suspicious(text), "{text}");
        }
    }
}
