//! From a value to a part of it: fields, positions, and the names that are there instead of one that is not.

use crate::error::Fault;
use crate::number;
use crate::value::{Fields, Key, List, Val};

/// The field of a value.
pub(crate) fn field<'a>(value: &Val<'a>, name: &str) -> Result<Val<'a>, Fault> {
    match value {
        Val::Map(fields) => fields.get(name).ok_or_else(|| no_field(fields, name)),
        Val::Null => Err(Fault::absent(format!("there is no field '{name}': this is null"))),
        Val::List(_) => Err(Fault::failed(format!(
            "a list has no field '{name}'; its items are reached by [0], map() or filter()"
        ))),
        other => Err(Fault::failed(format!("{} has no field '{name}'", other.kind()))),
    }
}

/// The field, or null where there is none.
pub(crate) fn field_if_there<'a>(value: &Val<'a>, name: &str) -> Result<Val<'a>, Fault> {
    match field(value, name) {
        Err(fault) if fault.cause == crate::error::Cause::Absent => Ok(Val::Null),
        found => found,
    }
}

/// `value[index]`
pub(crate) fn index<'a>(value: &Val<'a>, index: &Val<'a>) -> Result<Val<'a>, Fault> {
    match value {
        Val::List(items) => item(items, index),
        Val::Map(fields) => {
            let key = Key::of(index)?;
            fields.get_key(&key).ok_or_else(|| no_field(fields, &key.to_string()))
        }
        Val::Null => Err(Fault::absent("there is nothing to index: this is null")),
        other => Err(Fault::failed(format!("only lists and objects have [..], this is {}", other.kind()))),
    }
}

fn item<'a>(items: &List<'a>, index: &Val<'a>) -> Result<Val<'a>, Fault> {
    let position = number::as_index(index);
    let position = position.ok_or_else(|| {
        Fault::failed(format!("the position in a list is a whole number, this is {}", index.kind()))
    })?;
    let found = usize::try_from(position).ok().and_then(|position| items.get(position));
    found.ok_or_else(|| {
        Fault::absent(format!("there is no item {position} in a list of {}; the first one is 0", items.len()))
    })
}

/// Says what is there instead: most mistakes are misspelt names.
fn no_field(fields: &Fields<'_>, name: &str) -> Fault {
    /// More names would not be read.
    const SHOWN: usize = 8;
    /// Longer names are not quoted.
    const LENGTH: usize = 40;
    let names: Vec<String> = match fields {
        Fields::Given(fields) => fields.keys().take(SHOWN).cloned().collect(),
        Fields::Made(fields) => fields.keys().take(SHOWN).map(ToString::to_string).collect(),
    };
    let shown: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.len() <= LENGTH).collect();
    let more = if fields.len() > shown.len() { ", …" } else { "" };
    let there =
        if shown.is_empty() { String::new() } else { format!(" (there are {}{more})", shown.join(", ")) };
    Fault::absent(format!("there is no field '{}'{there}", name.chars().take(LENGTH).collect::<String>()))
}
