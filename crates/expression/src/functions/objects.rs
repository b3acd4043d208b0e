//! Functions of objects.

use super::Found;
use crate::error::Fault;
use crate::eval::Run;
use crate::value::{Fields, Key, Val};
use indexmap::IndexMap;

fn fields<'a>(function: &str, value: &Val<'a>) -> Result<Fields<'a>, Fault> {
    match value {
        Val::Map(fields) => Ok(fields.clone()),
        other => Err(Fault::failed(format!("{function}() needs an object, this is {}", other.kind()))),
    }
}

pub(super) fn keys<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let fields = fields("keys", &arguments[0])?;
    run.budget.build_slots(fields.len())?;
    Ok(Val::list(fields.entries().into_iter().map(|(key, _)| key.to_value()).collect()))
}

pub(super) fn values<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let fields = fields("values", &arguments[0])?;
    run.budget.build_slots(fields.len())?;
    Ok(Val::list(fields.entries().into_iter().map(|(_, value)| value).collect()))
}

pub(super) fn merge<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let mut merged = IndexMap::new();
    for value in arguments.iter().filter(|value| !value.is_null()) {
        let fields = fields("merge", value)?;
        run.budget.steps(fields.len())?;
        run.budget.build_slots(2 * fields.len())?;
        merged.extend(fields.entries());
    }
    Ok(Val::map(merged))
}

pub(super) fn proj<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let names = &arguments[1..];
    match &arguments[0] {
        Val::List(items) => {
            run.budget.build_slots(items.len())?;
            Ok(Val::list(items.iter().map(|item| project(run, &item, names)).collect::<Result<_, _>>()?))
        }
        value => project(run, value, names),
    }
}

/// An object with some of its fields; those that it has not are left out.
fn project<'a>(run: &mut Run<'a>, value: &Val<'a>, names: &[Val<'a>]) -> Found<'a> {
    let fields = fields("proj", value)?;
    run.budget.steps(names.len())?;
    run.budget.build_slots(2 * names.len())?;
    let mut kept = IndexMap::new();
    for name in names {
        let key = Key::of(name)?;
        if let Some(value) = fields.get_key(&key) {
            kept.insert(key, value);
        }
    }
    Ok(Val::map(kept))
}
