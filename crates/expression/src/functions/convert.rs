//! Functions from one type to another.

use super::Found;
use crate::error::Fault;
use crate::eval::Run;
use crate::number::as_double;
use crate::time;
use crate::value::Val;
use std::rc::Rc;

fn cannot<'a>(value: &Val<'_>, into: &str) -> Found<'a> {
    Err(Fault::failed(format!("{} cannot be made {into}", value.kind())))
}

pub(super) fn bool<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    match &arguments[0] {
        Val::Bool(value) => Ok(Val::Bool(*value)),
        Val::Text(text) => match &**text {
            "true" | "True" | "TRUE" | "t" | "1" => Ok(Val::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "0" => Ok(Val::Bool(false)),
            _ => Err(Fault::failed("this text is neither 'true' nor 'false'")),
        },
        other => cannot(other, "true or false"),
    }
}

pub(super) fn int<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let too_large = || Fault::failed("the number does not fit into 64 bits");
    match &arguments[0] {
        Val::Int(number) => Ok(Val::Int(*number)),
        Val::Uint(number) => i64::try_from(*number).map(Val::Int).map_err(|_| too_large()),
        // The limits themselves are no doubles: the next ones within are taken.
        Val::Double(number) if number.is_finite() && number.abs() < 9.223_372_036_854_775e18 => {
            Ok(Val::Int(number.trunc() as i64))
        }
        Val::Double(_) => Err(too_large()),
        Val::Text(text) => {
            text.parse().map(Val::Int).map_err(|_| Fault::failed("this text is no whole number of 64 bits"))
        }
        Val::Time(time) => Ok(Val::Int(time.timestamp())),
        other => cannot(other, "a whole number"),
    }
}

pub(super) fn uint<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let wrong = || Fault::failed("the number does not fit into 64 bits without a sign");
    match &arguments[0] {
        Val::Uint(number) => Ok(Val::Uint(*number)),
        Val::Int(number) => u64::try_from(*number).map(Val::Uint).map_err(|_| wrong()),
        Val::Double(number) if (0.0..1.844_674_407_370_955e19).contains(number) => {
            Ok(Val::Uint(number.trunc() as u64))
        }
        Val::Double(_) => Err(wrong()),
        Val::Text(text) => text.parse().map(Val::Uint).map_err(|_| wrong()),
        other => cannot(other, "a whole number"),
    }
}

pub(super) fn double<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    match &arguments[0] {
        Val::Text(text) => {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            let number = if is_plain { text.parse().ok() } else { special(text) };
            number.map(Val::Double).ok_or_else(|| Fault::failed("this text is no number"))
        }
        other => match as_double(other) {
            Some(number) => Ok(Val::Double(number)),
            None => cannot(other, "a number"),
        },
    }
}

fn special(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Inf" | "+Inf" | "Infinity" | "inf" => Some(f64::INFINITY),
        "-Inf" | "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

pub(super) fn string<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    match &arguments[0] {
        Val::Text(text) => Ok(Val::Text(text.clone())),
        other => other.print(&mut run.budget).map(Val::text),
    }
}

pub(super) fn bytes<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    match &arguments[0] {
        Val::Bytes(bytes) => Ok(Val::Bytes(bytes.clone())),
        Val::Text(text) => {
            run.budget.build(text.len())?;
            Ok(Val::Bytes(Rc::from(text.as_bytes())))
        }
        other => cannot(other, "bytes"),
    }
}

pub(super) fn type_of<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    Ok(Val::Type(arguments[0].type_name()))
}

pub(super) fn dyn_of<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    Ok(arguments[0].clone())
}

pub(super) fn timestamp<'a>(value: &Val<'a>) -> Found<'a> {
    match value {
        Val::Time(time) => Ok(Val::Time(*time)),
        Val::Text(text) => time::parse(text).map(Val::Time),
        Val::Int(seconds) => chrono::DateTime::from_timestamp(*seconds, 0)
            .map(Val::Time)
            .ok_or_else(|| Fault::failed("the number of seconds is out of the range of times")),
        other => cannot(other, "a time"),
    }
}
