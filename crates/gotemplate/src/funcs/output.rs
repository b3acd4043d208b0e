//! `print`, `printf` and `println`.

use super::text;
use crate::budget::Budget;
use crate::error::Fault;
use crate::format;
use crate::value::Value;

pub(super) fn print<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut buffer = budget.buffer();
    format::sprint(&mut buffer, arguments)?;
    budget.finish(buffer)
}

pub(super) fn println<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut buffer = budget.buffer();
    format::sprintln(&mut buffer, arguments)?;
    budget.finish(buffer)
}

pub(super) fn printf<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let buffer = format::printf(budget, &text(&arguments[0]), &arguments[1..])?;
    budget.finish(buffer)
}
