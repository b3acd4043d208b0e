//! CEL's macros: a condition or an expression for every item of a list or every key of a map.

use super::Found;
use crate::error::{Cause, Fault};
use crate::eval::Run;
use crate::tree::{Lambda, Node};
use crate::value::Val;

/// One false decides, whatever went wrong before it.
pub(super) fn all<'a>(
    run: &mut Run<'a>,
    list: &Val<'a>,
    lambda: &'a Lambda,
    _: Option<&'a Node>,
) -> Found<'a> {
    decide(run, list, lambda, false)
}

/// One true decides, whatever went wrong before it.
pub(super) fn exists<'a>(
    run: &mut Run<'a>,
    list: &Val<'a>,
    lambda: &'a Lambda,
    _: Option<&'a Node>,
) -> Found<'a> {
    decide(run, list, lambda, true)
}

fn decide<'a>(run: &mut Run<'a>, list: &Val<'a>, lambda: &'a Lambda, decisive: bool) -> Found<'a> {
    let mut failed: Option<Fault> = None;
    for (item, second) in run.pairs(list)? {
        match run.test(lambda, item, second) {
            Ok(value) if value == decisive => return Ok(Val::Bool(decisive)),
            Ok(_) => {}
            Err(fault) if fault.cause == Cause::Limit => return Err(fault),
            Err(fault) => failed = failed.or(Some(fault)),
        }
    }
    failed.map_or(Ok(Val::Bool(!decisive)), Err)
}

pub(super) fn exists_one<'a>(
    run: &mut Run<'a>,
    list: &Val<'a>,
    lambda: &'a Lambda,
    _: Option<&'a Node>,
) -> Found<'a> {
    let mut count = 0;
    for (item, second) in run.pairs(list)? {
        count += usize::from(run.test(lambda, item, second)?);
    }
    Ok(Val::Bool(count == 1))
}

pub(super) fn filter<'a>(
    run: &mut Run<'a>,
    list: &Val<'a>,
    lambda: &'a Lambda,
    _: Option<&'a Node>,
) -> Found<'a> {
    let mut kept = Vec::new();
    for (item, second) in run.pairs(list)? {
        if run.test(lambda, item.clone(), second)? {
            run.budget.build_slots(1)?;
            kept.push(item);
        }
    }
    Ok(Val::list(kept))
}

pub(super) fn map<'a>(
    run: &mut Run<'a>,
    list: &Val<'a>,
    lambda: &'a Lambda,
    second: Option<&'a Node>,
) -> Found<'a> {
    let mut made = Vec::new();
    for (item, other) in run.pairs(list)? {
        let value = match second {
            None => run.apply(lambda, item, other)?,
            Some(body) => {
                let mapped =
                    run.with_variables(lambda, item, other, |run| match run.condition(&lambda.body)? {
                        true => run.value(body).map(Some),
                        false => Ok(None),
                    });
                let Some(value) = mapped? else { continue };
                value
            }
        };
        run.budget.build_slots(1)?;
        made.push(value);
    }
    Ok(Val::list(made))
}
