//! Defaults, choices and conversions.

use super::{stringify, text};
use crate::budget::Budget;
use crate::error::Fault;
use crate::literal::{self, Number};
use crate::value::Value;

pub(super) fn default<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(arguments.get(1).filter(|given| given.is_true()).unwrap_or(&arguments[0]).clone())
}

pub(super) fn empty<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(!arguments[0].is_true()))
}

pub(super) fn coalesce<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(arguments.iter().find(|argument| argument.is_true()).cloned().unwrap_or(Value::Nil))
}

pub(super) fn ternary<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(arguments[usize::from(!arguments[2].is_true())].clone())
}

pub(super) fn any<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(arguments.iter().any(Value::is_true)))
}

pub(super) fn all<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(arguments.iter().all(Value::is_true)))
}

pub(super) fn fail<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Err(Fault::function(text(&arguments[0]).chars().take(1000).collect::<String>()))
}

pub(super) fn kind_of<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Str(arguments[0].kind_name()))
}

pub(super) fn kind_is<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(text(&arguments[0]) == arguments[1].kind_name()))
}

pub(super) fn to_string<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    stringify(budget, &arguments[0])
}

pub(super) fn int<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::int(integer_of(&arguments[0])))
}

pub(super) fn int64<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::int64(integer_of(&arguments[0])))
}

pub(super) fn float64<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Float(float_of(&arguments[0])))
}

/// Decimal digits only; what is no number is 0.
pub(super) fn atoi<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    use std::num::IntErrorKind;
    let parsed = text(&arguments[0]).parse::<i64>();
    Ok(Value::int(parsed.unwrap_or_else(|error| match error.kind() {
        IntErrorKind::PosOverflow => i64::MAX,
        IntErrorKind::NegOverflow => i64::MIN,
        _ => 0,
    })))
}

/// A value as an integer: strings in Go's notation, floats cut, anything else 0.
pub(super) fn integer_of(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(int, _) => *int,
        Value::Uint(uint) => uint.cast_signed(),
        Value::Float(float) => *float as i64,
        Value::Bool(value) => i64::from(*value),
        Value::Big(digits) => digits.parse::<f64>().unwrap_or(0.0) as i64,
        _ => match value.as_text().and_then(|text| literal::integer(&text)) {
            Some(Number::Int(int)) => int,
            Some(Number::Uint(_) | Number::Float(_)) | None => 0,
        },
    }
}

/// A value as a float: strings in Go's notation, anything that is no number 0.
pub(super) fn float_of(value: &Value<'_>) -> f64 {
    match value {
        Value::Int(int, _) => *int as f64,
        Value::Uint(uint) => *uint as f64,
        Value::Float(float) => *float,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Big(digits) => digits.parse().unwrap_or(0.0),
        _ => value.as_text().and_then(|text| literal::float(&text)).unwrap_or(0.0),
    }
}
