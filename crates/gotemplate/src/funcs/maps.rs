//! Making maps and taking them apart.

use std::borrow::Cow;

use super::{stringify, text};
use crate::budget::Budget;
use crate::error::Fault;
use crate::value::Value;

type Entries<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// The entries in the order of their keys, paid for; nil has none.
fn entries<'a>(budget: &mut Budget<'_>, value: &Value<'a>) -> Result<Entries<'a>, Fault> {
    // Sorting costs more than copying.
    budget.items(value.weight().saturating_mul(2))?;
    Ok(value.as_map().map(|map| map.sorted()).unwrap_or_default())
}

fn lookup<'a>(map: &Value<'a>, key: &Value<'_>) -> Option<Value<'a>> {
    map.as_map().and_then(|map| map.get(&text(key)))
}

/// A key without a value gets an empty string.
pub(super) fn dict<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut made = Vec::with_capacity(arguments.len() / 2);
    for pair in arguments.chunks(2) {
        let key = stringify(budget, &pair[0])?;
        budget.work(key.weight())?;
        made.push((Cow::Owned(text(&key).into_owned()), pair.get(1).cloned().unwrap_or(Value::Str(""))));
    }
    Value::map(budget, made)
}

pub(super) fn get<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(lookup(&arguments[0], &arguments[1]).unwrap_or(Value::Str("")))
}

pub(super) fn has_key<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(lookup(&arguments[0], &arguments[1]).is_some()))
}

pub(super) fn keys<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut keys = Vec::new();
    for map in arguments {
        keys.extend(entries(budget, map)?.into_iter().map(|(key, _)| Value::from(key)));
    }
    Value::list(budget, keys)
}

pub(super) fn values<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let values = entries(budget, &arguments[0])?.into_iter().map(|(_, value)| value).collect();
    Value::list(budget, values)
}

pub(super) fn pluck<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let [key, maps @ ..] = arguments else { return Ok(Value::Nil) };
    if !key.is_string() {
        return Err(Fault::wrong_type("pluck needs a key first").expecting("a string"));
    }
    let found = maps.iter().filter_map(|map| lookup(map, key)).collect();
    Value::list(budget, found)
}

pub(super) fn pick<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    chosen(budget, arguments, true)
}

pub(super) fn omit<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    chosen(budget, arguments, false)
}

/// The entries whose key is among the other arguments, or is not.
fn chosen<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>], named: bool) -> Result<Value<'a>, Fault> {
    let [map, keys @ ..] = arguments else { return Ok(Value::Nil) };
    let mut kept = Vec::new();
    for (key, value) in entries(budget, map)? {
        budget.work(keys.len())?;
        if keys.iter().any(|wanted| text(wanted) == key) == named {
            kept.push((key, value));
        }
    }
    Value::map(budget, kept)
}
