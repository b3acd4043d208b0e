//! `len`, `index`, `slice` and the refusal of `call`.

use super::text;
use crate::budget::Budget;
use crate::error::Fault;
use crate::value::{Value, Width};

pub(super) fn len<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let value = &arguments[0];
    if value.is_string() || value.as_list().is_some() || value.as_map().is_some() {
        return Ok(Value::size(value.weight()));
    }
    let message = format!("{} has no length", value.type_name());
    Err(Fault::wrong_type(message).expecting("a string, a list or a map"))
}

pub(super) fn index<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut value = arguments[0].clone();
    if matches!(value, Value::Nil) {
        return Err(unindexable(&value));
    }
    for key in &arguments[1..] {
        value = element(&value, key)?;
    }
    Ok(value)
}

fn element<'a>(value: &Value<'a>, key: &Value<'a>) -> Result<Value<'a>, Fault> {
    if let Some(map) = value.as_map() {
        if !key.is_string() {
            let message = format!("a map has no key of type {}", key.type_name());
            return Err(Fault::wrong_type(message).expecting("a string"));
        }
        return Ok(map.get(&text(key)).unwrap_or(Value::Nil));
    }
    if let Some(list) = value.as_list() {
        let at = position(key, list.len(), Bound::Element)?;
        return Ok(list.get(at).unwrap_or(Value::Nil));
    }
    let Some(bytes) = value.as_bytes() else { return Err(unindexable(value)) };
    let at = position(key, bytes.len(), Bound::Element)?;
    Ok(Value::Int(i64::from(bytes[at]), Width::Byte))
}

fn unindexable(value: &Value<'_>) -> Fault {
    Fault::wrong_type(format!("can't index {}", value.type_name())).expecting("a list, a map or a string")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Below the length.
    Element,
    /// Up to the length.
    Edge,
}

fn position(key: &Value<'_>, length: usize, bound: Bound) -> Result<usize, Fault> {
    let Value::Int(at, _) = key else {
        let message = format!("can't index with {}", key.type_name());
        return Err(Fault::wrong_type(message).expecting("an integer"));
    };
    let end = if bound == Bound::Edge { length + 1 } else { length };
    match usize::try_from(*at) {
        Ok(at) if at < end => Ok(at),
        _ => Err(Fault::index(format!("index {at} is out of range for a length of {length}"))),
    }
}

pub(super) fn slice<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let [value, bounds @ ..] = arguments else { return Ok(Value::Nil) };
    let (length, most) = match (value.as_list(), value.as_bytes()) {
        (Some(list), _) => (list.len(), 3),
        (None, Some(bytes)) => (bytes.len(), 2),
        (None, None) => {
            let message = format!("can't slice {}", value.type_name());
            return Err(Fault::wrong_type(message).expecting("a list or a string"));
        }
    };
    if bounds.len() > most {
        return Err(Fault::index(format!("too many indexes to slice {}", value.type_name())));
    }
    let mut edges = [0, length, length];
    for (edge, bound) in edges.iter_mut().zip(bounds) {
        *edge = position(bound, length, Bound::Edge)?;
    }
    let [start, end, capacity] = edges;
    if start > end || end > capacity {
        return Err(Fault::index(format!("can't slice from {start} to {end}")));
    }
    part(budget, value, start, end)
}

/// Items or bytes from `start` to `end`, which are within the value.
pub(super) fn part<'a>(
    budget: &mut Budget<'_>,
    value: &Value<'a>,
    start: usize,
    end: usize,
) -> Result<Value<'a>, Fault> {
    match value {
        Value::Array(items) => Ok(Value::Array(&items[start..end])),
        Value::List(list) => Value::list(budget, list.items[start..end].to_vec()),
        Value::Str(text) if text.is_char_boundary(start) && text.is_char_boundary(end) => {
            Ok(Value::Str(&text[start..end]))
        }
        _ => {
            let bytes = value.as_bytes().unwrap_or_default();
            budget.work((end - start) / 2)?;
            Ok(Value::string(bytes[start..end].to_vec()))
        }
    }
}

pub(super) fn call<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let message = format!("can't call {}: data holds no functions", arguments[0].type_name());
    Err(Fault::wrong_type(message))
}
