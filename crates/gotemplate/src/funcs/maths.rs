//! Whole-number and decimal arithmetic.

use super::int;
use super::values::{float_of, integer_of};
use crate::budget::Budget;
use crate::error::Fault;
use crate::value::Value;

/// Applies an operation from left to right, overflow wrapping as in Go.
fn folded<'a>(arguments: &[Value<'a>], operation: fn(i64, i64) -> i64) -> Result<Value<'a>, Fault> {
    let result = arguments.iter().map(integer_of).reduce(operation).unwrap_or(0);
    Ok(Value::int64(result))
}

pub(super) fn add<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    folded(arguments, i64::wrapping_add)
}

pub(super) fn add1<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::int64(integer_of(&arguments[0]).wrapping_add(1)))
}

pub(super) fn sub<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    folded(arguments, i64::wrapping_sub)
}

pub(super) fn mul<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    folded(arguments, i64::wrapping_mul)
}

pub(super) fn max<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    folded(arguments, i64::max)
}

pub(super) fn min<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    folded(arguments, i64::min)
}

pub(super) fn div<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let divisor = divisor(&arguments[1])?;
    Ok(Value::int64(integer_of(&arguments[0]).wrapping_div(divisor)))
}

pub(super) fn modulo<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let divisor = divisor(&arguments[1])?;
    Ok(Value::int64(integer_of(&arguments[0]).wrapping_rem(divisor)))
}

fn divisor(value: &Value<'_>) -> Result<i64, Fault> {
    match integer_of(value) {
        0 => Err(divided_by_zero()),
        divisor => Ok(divisor),
    }
}

fn divided_by_zero() -> Fault {
    Fault::function("division by zero").expecting("a divisor other than 0")
}

pub(super) fn addf<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    decimals(arguments, Decimal::add, |left, right| left + right)
}

pub(super) fn subf<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    decimals(arguments, Decimal::sub, |left, right| left - right)
}

pub(super) fn mulf<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    decimals(arguments, Decimal::mul, |left, right| left * right)
}

pub(super) fn divf<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    if arguments[1..].iter().any(|divisor| float_of(divisor) == 0.0) {
        return Err(divided_by_zero());
    }
    decimals(arguments, Decimal::div, |left, right| left / right)
}

/// Calculates in decimal, as people do on paper; in binary where the digits do not fit.
fn decimals<'a>(
    arguments: &[Value<'a>],
    exact: fn(Decimal, Decimal) -> Option<Decimal>,
    binary: fn(f64, f64) -> f64,
) -> Result<Value<'a>, Fault> {
    let mut numbers = arguments.iter().map(float_of);
    let first = numbers.next().unwrap_or(0.0);
    let result = numbers.fold((Decimal::new(first), first), |(decimal, float), next| {
        let decimal = decimal.zip(Decimal::new(next)).and_then(|(left, right)| exact(left, right));
        let float = decimal.map_or_else(|| binary(float, next), Decimal::to_float);
        (decimal, float)
    });
    Ok(Value::Float(result.1))
}

/// `coefficient` times ten to the power of `exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    coefficient: i128,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that means this float.
    fn new(float: f64) -> Option<Self> {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(Self {
            coefficient: mantissa.replace('.', "").parse().ok()?,
            exponent: exponent.parse::<i32>().ok()? - i32::try_from(decimals).ok()?,
        })
    }

    fn to_float(self) -> f64 {
        format!("{}e{}", self.coefficient, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The coefficient at a smaller exponent.
    fn scaled(self, exponent: i32) -> Option<i128> {
        let factor = 10i128.checked_pow(u32::try_from(self.exponent - exponent).ok()?)?;
        self.coefficient.checked_mul(factor)
    }

    fn add(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let coefficient = self.scaled(exponent)?.checked_add(other.scaled(exponent)?)?;
        Some(Self { coefficient, exponent })
    }

    fn sub(self, other: Self) -> Option<Self> {
        self.add(Self { coefficient: -other.coefficient, exponent: other.exponent })
    }

    fn mul(self, other: Self) -> Option<Self> {
        let coefficient = self.coefficient.checked_mul(other.coefficient)?;
        Some(Self { coefficient, exponent: self.exponent + other.exponent })
    }

    /// Sixteen decimals, the last one rounded half away from zero.
    fn div(self, other: Self) -> Option<Self> {
        const DECIMALS: i32 = 16;
        let shift = self.exponent - other.exponent + DECIMALS;
        let power = 10i128.checked_pow(shift.unsigned_abs())?;
        let (dividend, divisor) = if shift >= 0 {
            (self.coefficient.checked_mul(power)?, other.coefficient)
        } else {
            (self.coefficient, other.coefficient.checked_mul(power)?)
        };
        let (quotient, remainder) = (dividend / divisor, dividend % divisor);
        let up = remainder.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
        let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
        Some(Self { coefficient: quotient + if up { away } else { 0 }, exponent: -DECIMALS })
    }
}

/// Sprig's rounding: up from the given fraction on, towards minus infinity below it.
pub(super) fn round<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let on = arguments.get(2).map_or(0.5, float_of);
    let power = 10f64.powi(i32::try_from(int(&arguments[1])).unwrap_or(i32::MAX));
    let shifted = power * float_of(&arguments[0]);
    let rounded = if shifted.fract() >= on { shifted.ceil() } else { shifted.floor() };
    Ok(Value::Float(rounded / power))
}

pub(super) fn floor<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Float(float_of(&arguments[0]).floor()))
}

pub(super) fn ceil<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Float(float_of(&arguments[0]).ceil()))
}
