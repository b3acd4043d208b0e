//! Numbers: whole ones with and without sign, and doubles, which all mix.

use crate::error::Fault;
use crate::tree::Operator;
use crate::value::Val;
use std::cmp::Ordering;

/// Two numbers and an operator of arithmetic; `None` if they are no numbers.
pub(crate) fn arithmetic<'a>(operator: Operator, a: &Val<'a>, b: &Val<'a>) -> Option<Result<Val<'a>, Fault>> {
    Some(match (a, b) {
        (Val::Int(a), Val::Int(b)) => whole(operator, (*a).into(), (*b).into()).and_then(fit_int),
        (Val::Uint(a), Val::Uint(b)) => whole(operator, (*a).into(), (*b).into()).and_then(fit_uint),
        (Val::Int(a), Val::Uint(b)) => whole(operator, (*a).into(), (*b).into()).and_then(fit_any),
        (Val::Uint(a), Val::Int(b)) => whole(operator, (*a).into(), (*b).into()).and_then(fit_any),
        _ => double(operator, as_double(a)?, as_double(b)?),
    })
}

fn whole(operator: Operator, a: i128, b: i128) -> Result<i128, Fault> {
    // Neither a sum, a difference nor a product of two 64-bit numbers leaves 128 bits.
    Ok(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide | Operator::Remainder if b == 0 => return Err(Fault::failed("division by zero")),
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
        _ => return Err(Fault::failed("this operator does not count")),
    })
}

fn overflow() -> Fault {
    Fault::failed("the result does not fit into 64 bits")
}

fn fit_int<'a>(number: i128) -> Result<Val<'a>, Fault> {
    i64::try_from(number).map(Val::Int).map_err(|_| overflow())
}

fn fit_uint<'a>(number: i128) -> Result<Val<'a>, Fault> {
    u64::try_from(number).map(Val::Uint).map_err(|_| overflow())
}

pub(crate) fn fit_any<'a>(number: i128) -> Result<Val<'a>, Fault> {
    fit_int(number).or_else(|_| fit_uint(number))
}

fn double<'a>(operator: Operator, a: f64, b: f64) -> Result<Val<'a>, Fault> {
    Ok(Val::Double(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder if b == 0.0 => return Err(Fault::failed("division by zero")),
        Operator::Remainder => a % b,
        _ => return Err(Fault::failed("this operator does not count")),
    }))
}

/// A number as a double.
pub(crate) fn as_double(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Int(number) => Some(*number as f64),
        Val::Uint(number) => Some(*number as f64),
        Val::Double(number) => Some(*number),
        _ => None,
    }
}

/// How two numbers compare; `None` for NaN, and for what is no number.
pub(crate) fn compare(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (as_whole(a), as_whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(a), None) => compare_mixed(as_double(b)?, a).map(Ordering::reverse),
        (None, Some(b)) => compare_mixed(as_double(a)?, b),
        (None, None) => as_double(a)?.partial_cmp(&as_double(b)?),
    }
}

fn as_whole(value: &Val<'_>) -> Option<i128> {
    match value {
        Val::Int(number) => Some((*number).into()),
        Val::Uint(number) => Some((*number).into()),
        _ => None,
    }
}

/// A double against a whole number, without rounding the whole one.
fn compare_mixed(double: f64, whole: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    // Beyond this every double is larger than any whole number of 64 bits.
    if double.abs() >= 1e20 {
        return double.partial_cmp(&0.0);
    }
    let floor = double.floor() as i128;
    Some(floor.cmp(&whole).then(if double.fract() == 0.0 { Ordering::Equal } else { Ordering::Greater }))
}

/// The number that a position or a count must be: whole, though it may be written as a double.
pub(crate) fn as_index(value: &Val<'_>) -> Option<i64> {
    match value {
        Val::Int(number) => Some(*number),
        Val::Uint(number) => i64::try_from(*number).ok(),
        Val::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
        _ => None,
    }
}

/// A double as text: the shortest that is read back as the same, whole ones without a point.
pub(crate) fn print(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return format!("{number:.0}");
    }
    zmij::Buffer::new().format_finite(number).to_owned()
}
