//! Numbers as they are written, and what an engine keeps of them.

use super::engine::Bound;
use crate::shared::digits::digits_of;
use serde_json::Value;
use std::borrow::Cow;

/// The number that a value is, as it was written.
pub(super) fn written(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Number(number) => Some(number.to_string().into()),
        value => digits_of(value).map(Cow::Borrowed),
    }
}

/// A number without zeros at either end, and the power of ten of its last digit.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let is_negative = number.starts_with('-');
        let (whole, fraction) = number
            .trim_start_matches(['-', '+'])
            .split_once('.')
            .unwrap_or_else(|| (number.trim_start_matches(['-', '+']), ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = all.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        if kept.is_empty() {
            return Some(Self { is_negative: false, digits: String::new(), exponent: 0 });
        }
        let zeros = i64::try_from(digits.len() - kept.len()).ok()?;
        let exponent = i64::from(exponent) - i64::try_from(fraction.len()).ok()? + zeros;
        Some(Self { is_negative, digits: kept.to_owned(), exponent })
    }
}

/// A whole number, even if a model has written it as `5.0`; none that 64 bits do not hold.
pub(super) fn whole(text: &str) -> Option<Bound> {
    let Decimal { is_negative, digits, exponent } = Decimal::read(text)?;
    let zeros = usize::try_from(exponent).ok().filter(|zeros| *zeros < 20)?;
    let sign = if is_negative { "-" } else { "" };
    let text = format!("{sign}{digits}{}", "0".repeat(zeros));
    if text.is_empty() {
        return Some(Bound::Integer(0));
    }
    let signed = text.parse().map(Bound::Integer);
    signed.or_else(|_| text.parse().map(Bound::Unsigned)).ok()
}

/// The number as a float, where that is told again by the same digits.
pub(super) fn float(text: &str) -> Option<f64> {
    let float = text.parse().ok().filter(|float: &f64| float.is_finite())?;
    (Decimal::read(&format!("{float:e}")) == Decimal::read(text)).then_some(float)
}

/// Whether MySQL's `DECIMAL(65, 30)` holds every digit.
pub(super) fn is_of_mysql(text: &str) -> bool {
    const WHOLE: i64 = 35;
    const FRACTION: i64 = 30;
    Decimal::read(text).is_some_and(|Decimal { digits, exponent, .. }| {
        i64::try_from(digits.len()).is_ok_and(|count| count + exponent <= WHOLE) && exponent >= -FRACTION
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_whole_numbers_however_they_are_written() {
        for (text, expected) in [
            ("5", Some(Bound::Integer(5))),
            ("-5.00", Some(Bound::Integer(-5))),
            ("1e3", Some(Bound::Integer(1000))),
            ("-0.0", Some(Bound::Integer(0))),
            ("9007199254740993.0", Some(Bound::Integer(9_007_199_254_740_993))),
            ("18446744073709551615", Some(Bound::Unsigned(u64::MAX))),
            ("18446744073709551616", None),
            ("1.5", None),
            ("1e400", None),
            ("x", None),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    #[test]
    fn tells_what_a_float_and_a_decimal_keep() {
        for text in ["0.1", "1.10", "-2.5e-3", "1e22", "0.30000000000000004", "0", "123456789012345680000"] {
            assert!(float(text).is_some(), "{text}");
        }
        for text in ["0.1234567890123456789", "12345678901234567890.5", "18446744073709551616", "1e400", "x"]
        {
            assert!(float(text).is_none(), "{text}");
        }
        assert!(is_of_mysql("12345678901234567890.012345678901234567890123456789"));
        assert!(is_of_mysql("1.50000000000000000000000000000000000") && is_of_mysql("0"));
        assert!(!is_of_mysql("1e35") && !is_of_mysql("1e-31") && !is_of_mysql("x"));
    }
}
