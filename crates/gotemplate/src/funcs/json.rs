//! JSON in and out, and paths into data that may not be there.

use std::borrow::Cow;

use super::text;
use crate::budget::Budget;
use crate::error::{ErrorKind, Fault};
use crate::json::{Style, read_copied, write};
use crate::value::Value;

pub(super) fn to_json<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    written(budget, Style::Compact, &arguments[0])
}

pub(super) fn to_raw_json<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    written(budget, Style::Raw, &arguments[0])
}

pub(super) fn to_pretty_json<'a>(
    budget: &mut Budget<'_>,
    arguments: &[Value<'a>],
) -> Result<Value<'a>, Fault> {
    written(budget, Style::Pretty, &arguments[0])
}

fn written<'a>(budget: &mut Budget<'_>, style: Style, value: &Value<'a>) -> Result<Value<'a>, Fault> {
    let mut buffer = budget.long_buffer();
    write(&mut buffer, style, value)?;
    budget.work(buffer.as_bytes().len())?;
    budget.finish(buffer)
}

/// What is no JSON is nil.
pub(super) fn from_json<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let source = text(&arguments[0]);
    budget.work(source.len())?;
    match read_copied(budget, &source) {
        Err(fault) if fault.kind() == ErrorKind::Data => Ok(Value::Nil),
        other => other,
    }
}

pub(super) fn safe_get<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(walk(&text(&arguments[0]), &arguments[1]))
}

pub(super) fn safe_get_or<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(match walk(&text(&arguments[0]), &arguments[1]) {
        Value::Nil => arguments[2].clone(),
        found => found,
    })
}

/// Follows names and list positions separated by dots; nil where the path ends early.
fn walk<'a>(path: &str, data: &Value<'a>) -> Value<'a> {
    let mut value = data.clone();
    for step in path.split('.') {
        let next = match (value.as_map(), value.as_list()) {
            (Some(map), _) => map.get(step),
            (None, Some(list)) => step.parse().ok().and_then(|at| list.get(at)),
            (None, None) => None,
        };
        match next {
            Some(next) => value = next,
            None => return Value::Nil,
        }
    }
    value
}

/// Keys, then what to return when one is missing, then the map.
pub(super) fn dig<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let [keys @ .., default, map] = arguments else { return Ok(Value::Nil) };
    let mut value = map.clone();
    for key in keys {
        let key: Cow<'_, str> = key
            .as_text()
            .ok_or_else(|| Fault::wrong_type("dig needs strings as keys").expecting("a string"))?;
        let Some(entries) = value.as_map() else {
            let message = format!("dig finds {} before key {key:?}", value.type_name());
            return Err(Fault::wrong_type(message).expecting("a map"));
        };
        match entries.get(&key) {
            Some(next) => value = next,
            None => return Ok(default.clone()),
        }
    }
    Ok(value)
}
