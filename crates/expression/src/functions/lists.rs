//! Functions of lists.

use super::{Found, list};
use crate::error::Fault;
use crate::eval::Run;
use crate::number::as_index;
use crate::operators::compare;
use crate::tree::Lambda;
use crate::value::{Key, List, Val};
use indexmap::IndexMap;
use std::cmp::Ordering;

pub(super) fn size<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let size = match &arguments[0] {
        Val::Text(text) => {
            run.budget.read(text.len())?;
            text.chars().count()
        }
        Val::Bytes(bytes) => bytes.len(),
        Val::List(items) => items.len(),
        Val::Map(fields) => fields.len(),
        other => return Err(Fault::failed(format!("{} has no size", other.kind()))),
    };
    Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

pub(super) fn count<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    let Some(lambda) = lambda else { return size(run, arguments) };
    let mut count = 0;
    for (item, second) in run.pairs(&arguments[0])? {
        count += i64::from(run.test(lambda, item, second)?);
    }
    Ok(Val::Int(count))
}

/// The items of a list with what a lambda makes of each, or with themselves.
pub(super) fn keyed<'a>(
    run: &mut Run<'a>,
    items: &List<'a>,
    lambda: Option<&'a Lambda>,
) -> Result<Vec<(Val<'a>, Val<'a>)>, Fault> {
    run.budget.build_slots(2 * items.len())?;
    let mut keyed = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let key = match lambda {
            Some(lambda) => {
                run.apply(lambda, item.clone(), Val::Int(i64::try_from(index).unwrap_or(i64::MAX)))?
            }
            None => item.clone(),
        };
        keyed.push((key, item));
    }
    Ok(keyed)
}

pub(super) fn sort<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    let items = list("sort", arguments)?;
    let mut keyed = keyed(run, &items, lambda)?;
    let mut failed = None;
    keyed.sort_by(|(a, _), (b, _)| match failed {
        Some(_) => Ordering::Equal,
        None => order(run, a, b).unwrap_or_else(|fault| {
            failed = Some(fault);
            Ordering::Equal
        }),
    });
    match failed {
        Some(fault) => Err(fault),
        None => Ok(Val::list(keyed.into_iter().map(|(_, item)| item).collect())),
    }
}

/// Null comes first, as in SQL; what is not a number comes before all that are.
pub(super) fn order<'a>(run: &mut Run<'a>, a: &Val<'a>, b: &Val<'a>) -> Result<Ordering, Fault> {
    let is_number = |value: &Val<'_>| !matches!(value, Val::Double(number) if number.is_nan());
    match (a, b) {
        (Val::Null, _) | (_, Val::Null) => Ok(b.is_null().cmp(&a.is_null())),
        _ => Ok(compare(a, b, &mut run.budget)?.unwrap_or_else(|| is_number(a).cmp(&is_number(b)))),
    }
}

pub(super) fn distinct<'a>(
    run: &mut Run<'a>,
    arguments: &[Val<'a>],
    lambda: Option<&'a Lambda>,
) -> Found<'a> {
    let items = list("distinct", arguments)?;
    let mut seen = IndexMap::new();
    for (key, item) in keyed(run, &items, lambda)? {
        let key = identity(run, &key)?;
        seen.entry(key).or_insert(item);
    }
    Ok(Val::list(seen.into_values().collect()))
}

/// A text that is the same for equal values: JSON with sorted names and numbers as doubles where they are whole.
fn identity<'a>(run: &mut Run<'a>, value: &Val<'a>) -> Result<String, Fault> {
    Ok(match value {
        Val::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => format!("{number:.0}"),
        Val::Map(fields) => {
            let mut entries = fields.entries();
            entries.sort_by_cached_key(|(key, _)| key.to_string());
            let mut text = String::from("{");
            for (key, value) in entries {
                text.push_str(&format!("{:?}:{},", key.to_string(), identity(run, &value)?));
            }
            run.budget.build(text.len())?;
            text
        }
        Val::List(items) => {
            let mut text = String::from("[");
            for item in items.iter() {
                text.push_str(&identity(run, &item)?);
                text.push(',');
            }
            run.budget.build(text.len())?;
            text
        }
        Val::Text(text) => format!("{:?}", &**text),
        other => other.print(&mut run.budget)?,
    })
}

pub(super) fn group<'a>(run: &mut Run<'a>, arguments: &[Val<'a>], lambda: Option<&'a Lambda>) -> Found<'a> {
    let items = list("group", arguments)?;
    let keyed = match (lambda, arguments.get(1)) {
        (Some(_), _) => keyed(run, &items, lambda)?,
        (None, Some(Val::Text(name))) => {
            run.budget.build_slots(2 * items.len())?;
            let key = |item: Val<'a>| Ok((crate::member::field_if_there(&item, name)?, item));
            items.iter().map(key).collect::<Result<_, Fault>>()?
        }
        (None, _) => return Err(Fault::failed("group() needs a field's name or x => key")),
    };
    let mut groups: IndexMap<Key<'a>, Vec<Val<'a>>> = IndexMap::new();
    for (key, item) in keyed {
        let key = match key {
            Val::Null => Key::of(&Val::text("null"))?,
            key => Key::of(&key)?,
        };
        run.budget.build_slots(1)?;
        groups.entry(key).or_default().push(item);
    }
    Ok(Val::map(groups.into_iter().map(|(key, items)| (key, Val::list(items))).collect()))
}

pub(super) fn flat<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let mut items = Vec::new();
    for item in list("flat", arguments)?.iter() {
        match item {
            Val::List(inner) => {
                run.budget.steps(inner.len())?;
                run.budget.build_slots(inner.len())?;
                items.extend(inner.iter());
            }
            other => {
                run.budget.build_slots(1)?;
                items.push(other);
            }
        }
    }
    Ok(Val::list(items))
}

pub(super) fn chunk<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let items = list("chunk", arguments)?;
    let size = as_index(&arguments[1]).and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0);
    let size = size.ok_or_else(|| Fault::failed("chunk() needs a size of at least 1"))?;
    run.budget.build_slots(2 * items.len())?;
    let items: Vec<_> = items.iter().collect();
    Ok(Val::list(items.chunks(size).map(|chunk| Val::list(chunk.to_vec())).collect()))
}

pub(super) fn add<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let items = list("add", arguments)?;
    run.budget.build_slots(items.len() + 1)?;
    Ok(Val::list(items.iter().chain([arguments[1].clone()]).collect()))
}

pub(super) fn add_all<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let (items, more) = (list("addAll", arguments)?, list("addAll", &arguments[1..])?);
    run.budget.build_slots(items.len() + more.len())?;
    Ok(Val::list(items.iter().chain(more.iter()).collect()))
}
