//! `not` and the comparisons.

use crate::budget::Budget;
use crate::error::{ErrorKind, Fault};
use crate::value::{Value, equals, is_less};

pub(super) fn not<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(!arguments[0].is_true()))
}

/// The first argument against each of the others.
pub(super) fn eq<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let [first, others @ ..] = arguments else { return Err(nothing_to_compare()) };
    if others.is_empty() {
        return Err(nothing_to_compare());
    }
    for other in others {
        if equals(first, other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn nothing_to_compare() -> Fault {
    Fault::new(ErrorKind::Arity, "there is nothing to compare with").expecting("at least 2 arguments")
}

pub(super) fn ne<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    equals(&arguments[0], &arguments[1]).map(|equal| Value::Bool(!equal))
}

pub(super) fn lt<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    is_less(&arguments[0], &arguments[1]).map(Value::Bool)
}

pub(super) fn le<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    is_less(&arguments[1], &arguments[0]).map(|greater| Value::Bool(!greater))
}

pub(super) fn gt<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    is_less(&arguments[1], &arguments[0]).map(Value::Bool)
}

pub(super) fn ge<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    is_less(&arguments[0], &arguments[1]).map(|less| Value::Bool(!less))
}
