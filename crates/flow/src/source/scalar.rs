//! What a plain YAML scalar means, by the core schema of YAML 1.2.

use super::Content;
use serde_json::Number;

/// `on`, `yes` and `no` are texts; so is what no JSON number can be.
pub(super) fn plain(text: &str) -> Content {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "true" | "True" | "TRUE" => Content::Bool(true),
        "false" | "False" | "FALSE" => Content::Bool(false),
        _ => number(text).map_or_else(|| Content::Text(text.to_owned()), Content::Number),
    }
}

/// A whole number that no JSON reader keeps as it is.
pub(super) fn is_beyond_64_bits(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole && matches!(number(text), Some(number) if number.is_f64())
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(Number::from);
    }
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'));
    if !is_number {
        return None;
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    let integer = digits.parse::<i64>().map(Number::from);
    let integer = integer.or_else(|_| digits.parse::<u64>().map(Number::from));
    integer.ok().or_else(|| Number::from_f64(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn value(text: &str) -> Value {
        match plain(text) {
            Content::Null => Value::Null,
            Content::Bool(value) => value.into(),
            Content::Number(number) => Value::Number(number),
            Content::Text(text) => text.into(),
            Content::List(_) | Content::Map(_) => unreachable!("a scalar is neither"),
        }
    }

    #[test]
    fn what_would_be_rounded_is_found() {
        for text in ["18446744073709551616", "-9223372036854775809", "+99999999999999999999"] {
            assert!(is_beyond_64_bits(text), "{text}");
        }
        for text in ["18446744073709551615", "-9223372036854775808", "1e20", "1.5", "", "-", "x"] {
            assert!(!is_beyond_64_bits(text), "{text}");
        }
    }

    #[test]
    fn plain_scalars_are_what_yaml_1_2_says() {
        for (text, wanted) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("true", json!(true)),
            ("yes", json!("yes")),
            ("on", json!("on")),
            ("12", json!(12)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            ("1.5", json!(1.5)),
            ("1e3", json!(1000.0)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("1e999", json!("1e999")),
            (".inf", json!(".inf")),
            ("1.2.3", json!("1.2.3")),
            ("2026-01-02", json!("2026-01-02")),
            ("-", json!("-")),
        ] {
            assert_eq!(value(text), wanted, "{text}");
        }
    }
}
