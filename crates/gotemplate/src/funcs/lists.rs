//! Making lists and taking them apart.

use std::collections::HashSet;

use super::access::part;
use super::{int, stringify};
use crate::budget::Budget;
use crate::error::Fault;
use crate::value::{ListView, Value, same};

fn items<'v, 'a>(value: &'v Value<'a>) -> Result<ListView<'v, 'a>, Fault> {
    value
        .as_list()
        .ok_or_else(|| Fault::wrong_type(format!("{} is not a list", value.type_name())).expecting("a list"))
}

/// All items, paid for.
fn copied<'a>(budget: &mut Budget<'_>, value: &Value<'a>) -> Result<Vec<Value<'a>>, Fault> {
    let list = items(value)?;
    budget.items(list.len())?;
    let mut copy = Vec::with_capacity(list.len());
    list.copy_to(&mut copy);
    Ok(copy)
}

pub(super) fn list<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Value::list(budget, arguments.to_vec())
}

pub(super) fn first<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(items(&arguments[0])?.get(0).unwrap_or(Value::Nil))
}

pub(super) fn last<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let list = items(&arguments[0])?;
    Ok(list.len().checked_sub(1).and_then(|at| list.get(at)).unwrap_or(Value::Nil))
}

pub(super) fn rest<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    match items(&arguments[0])?.len() {
        0 => Ok(Value::Nil),
        length => part(budget, &arguments[0], 1, length),
    }
}

pub(super) fn initial<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    match items(&arguments[0])?.len() {
        0 => Ok(Value::Nil),
        length => part(budget, &arguments[0], 0, length - 1),
    }
}

pub(super) fn reverse<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut reversed = copied(budget, &arguments[0])?;
    reversed.reverse();
    Value::list(budget, reversed)
}

/// What makes a simple value the same as another; lists and maps have none.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Nil,
    Bool(bool),
    Whole(i64),
    Float(u64),
    Text(Vec<u8>),
}

fn key(value: &Value<'_>) -> Option<Key> {
    Some(match value {
        Value::Nil => Key::Nil,
        Value::Bool(value) => Key::Bool(*value),
        Value::Int(int, _) => Key::Whole(*int),
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => Key::Whole(*float as i64),
        Value::Float(float) => Key::Float(float.to_bits()),
        _ => Key::Text(value.as_bytes()?.to_vec()),
    })
}

/// Keeps the first of equal items.
pub(super) fn uniq<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut seen = HashSet::new();
    let mut kept: Vec<Value<'a>> = Vec::new();
    for item in copied(budget, &arguments[0])? {
        budget.work(item.weight())?;
        let is_new = match key(&item) {
            Some(key) => seen.insert(key),
            None => !holds(budget, kept.iter(), &item)?,
        };
        if is_new {
            kept.push(item);
        }
    }
    Value::list(budget, kept)
}

fn holds<'v, 'a: 'v>(
    budget: &mut Budget<'_>,
    mut values: impl Iterator<Item = &'v Value<'a>>,
    wanted: &Value<'_>,
) -> Result<bool, Fault> {
    values.try_fold(false, |found, value| Ok(found || same(budget, value, wanted, 0)?))
}

pub(super) fn compact<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let kept = copied(budget, &arguments[0])?.into_iter().filter(Value::is_true).collect();
    Value::list(budget, kept)
}

/// Nothing holds nothing.
pub(super) fn has<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    if matches!(arguments[1], Value::Nil) {
        return Ok(Value::Bool(false));
    }
    for item in items(&arguments[1])?.iter() {
        if same(budget, &item, &arguments[0], 0)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

pub(super) fn without<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut kept = Vec::new();
    for item in copied(budget, &arguments[0])? {
        if !holds(budget, arguments[1..].iter(), &item)? {
            kept.push(item);
        }
    }
    Value::list(budget, kept)
}

pub(super) fn concat<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut all = Vec::new();
    for argument in arguments {
        let list = items(argument)?;
        budget.items(list.len())?;
        list.copy_to(&mut all);
    }
    Value::list(budget, all)
}

pub(super) fn append<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let list = items(&arguments[0])?;
    let mut longer = Vec::with_capacity(list.len() + 1);
    list.copy_to(&mut longer);
    longer.push(arguments[1].clone());
    Value::list(budget, longer)
}

pub(super) fn prepend<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let list = items(&arguments[0])?;
    let mut longer = Vec::with_capacity(list.len() + 1);
    longer.push(arguments[1].clone());
    list.copy_to(&mut longer);
    Value::list(budget, longer)
}

/// Items as text in order; nil is left out, a single value is a list of one.
pub(super) fn sort_alpha<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    if arguments[0].as_list().is_none() {
        let single = stringify(budget, &arguments[0])?;
        return Value::list(budget, vec![single]);
    }
    let mut texts = Vec::new();
    for item in copied(budget, &arguments[0])?.iter().filter(|item| !matches!(item, Value::Nil)) {
        let text = stringify(budget, item)?;
        budget.work(text.weight())?;
        texts.push(text);
    }
    texts.sort_by(|left, right| left.as_bytes().cmp(&right.as_bytes()));
    Value::list(budget, texts)
}

pub(super) fn chunk<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let size = usize::try_from(int(&arguments[0])).ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| Fault::function("can't make chunks of no items").expecting("1 or more"))?;
    let length = items(&arguments[1])?.len();
    let mut chunks = Vec::new();
    for start in (0..length).step_by(size) {
        chunks.push(part(budget, &arguments[1], start, length.min(start.saturating_add(size)))?);
        budget.items(1)?;
    }
    Value::list(budget, chunks)
}

pub(super) fn until<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let stop = int(&arguments[0]);
    counted(budget, 0, stop, if stop < 0 { -1 } else { 1 })
}

pub(super) fn until_step<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    counted(budget, int(&arguments[0]), int(&arguments[1]), int(&arguments[2]))
}

/// Numbers from `start` to before `stop`; a step that leads away from there makes none.
fn counted<'a>(budget: &mut Budget<'_>, start: i64, stop: i64, step: i64) -> Result<Value<'a>, Fault> {
    let distance = i128::from(stop) - i128::from(start);
    let leads_there = distance != 0 && step != 0 && (distance > 0) == (step > 0);
    if !leads_there {
        return Value::list(budget, Vec::new());
    }
    let count = distance.unsigned_abs().div_ceil(u128::from(step.unsigned_abs()));
    budget.items(usize::try_from(count).unwrap_or(usize::MAX))?;
    let mut numbers = Vec::new();
    let mut next = i128::from(start);
    for _ in 0..count {
        numbers.push(Value::int(i64::try_from(next).unwrap_or(i64::MAX)));
        next += i128::from(step);
    }
    Value::list(budget, numbers)
}
