//! Changing, searching and laying out strings.

use super::access::part;
use super::{bytes, int, stringify, text};
use crate::budget::{Budget, Buffer};
use crate::error::Fault;
use crate::format;
use crate::value::Value;

/// Builds a string character by character.
fn mapped<'a>(
    budget: &mut Budget<'_>,
    value: &Value<'_>,
    mut write: impl FnMut(&mut Buffer, char) -> Result<(), Fault>,
) -> Result<Value<'a>, Fault> {
    // Going character by character costs more than copying.
    budget.work(value.weight().saturating_mul(4))?;
    let mut buffer = budget.buffer();
    text(value).chars().try_for_each(|c| write(&mut buffer, c))?;
    budget.finish(buffer)
}

/// A part of the first string argument that was found by looking at its text.
fn cut<'a>(
    budget: &mut Budget<'_>,
    value: &Value<'a>,
    find: impl Fn(&str) -> &str,
) -> Result<Value<'a>, Fault> {
    let whole = text(value);
    let found = find(&whole);
    if found.len() == whole.len() {
        return Ok(value.clone());
    }
    budget.work(found.len() / 2)?;
    Ok(Value::text(found))
}

/// Go maps single characters: one that has no single counterpart stays.
fn upper_char(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

pub(super) fn upper<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    mapped(budget, &arguments[0], |buffer, c| buffer.push_char(upper_char(c)))
}

pub(super) fn lower<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    mapped(budget, &arguments[0], |buffer, c| buffer.push_char(c.to_lowercase().next().unwrap_or(c)))
}

/// Upper-cases each letter that follows a separator.
pub(super) fn title<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut after_separator = true;
    mapped(budget, &arguments[0], |buffer, c| {
        let shown = if after_separator { upper_char(c) } else { c };
        after_separator = if c.is_ascii() {
            !c.is_ascii_alphanumeric() && c != '_'
        } else {
            !c.is_alphanumeric() && c.is_whitespace()
        };
        buffer.push_char(shown)
    })
}

pub(super) fn trim<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    cut(budget, &arguments[0], str::trim)
}

pub(super) fn trim_all<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let set: std::collections::BTreeSet<char> = text(&arguments[0]).chars().collect();
    cut(budget, &arguments[1], |whole| whole.trim_matches(|c| set.contains(&c)))
}

pub(super) fn trim_prefix<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let prefix = text(&arguments[0]);
    cut(budget, &arguments[1], |whole| whole.strip_prefix(&*prefix).unwrap_or(whole))
}

pub(super) fn trim_suffix<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let suffix = text(&arguments[0]);
    cut(budget, &arguments[1], |whole| whole.strip_suffix(&*suffix).unwrap_or(whole))
}

/// The first bytes, or with a negative length the last.
pub(super) fn trunc<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let (length, value) = (int(&arguments[0]), &arguments[1]);
    let size = bytes(value).len();
    let wanted = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
    if wanted >= size {
        return Ok(value.clone());
    }
    if length < 0 { part(budget, value, size - wanted, size) } else { part(budget, value, 0, wanted) }
}

pub(super) fn substr<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let (start, end, value) = (int(&arguments[0]), int(&arguments[1]), &arguments[2]);
    let size = bytes(value).len();
    let clamped = if end < 0 && start >= 0 { size } else { usize::try_from(end).unwrap_or(usize::MAX) };
    let (from, to) = match usize::try_from(start) {
        Err(_) => (0, clamped),
        Ok(start) => (start, clamped.min(size)),
    };
    if from > to || to > size {
        return Err(Fault::index(format!("can't take {start} to {end} of a string of {size} bytes")));
    }
    part(budget, value, from, to)
}

pub(super) fn replace<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let (old, new, whole) = (text(&arguments[0]), text(&arguments[1]), text(&arguments[2]));
    let mut buffer = budget.buffer();
    let mut copied = 0;
    for (at, found) in whole.match_indices(&*old) {
        buffer.push_str(&whole[copied..at])?;
        buffer.push_str(&new)?;
        copied = at + found.len();
    }
    buffer.push_str(&whole[copied..])?;
    budget.finish(buffer)
}

pub(super) fn contains<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(text(&arguments[1]).contains(&*text(&arguments[0]))))
}

pub(super) fn has_prefix<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(bytes(&arguments[1]).starts_with(bytes(&arguments[0]))))
}

pub(super) fn has_suffix<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(Value::Bool(bytes(&arguments[1]).ends_with(bytes(&arguments[0]))))
}

pub(super) fn repeat<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let unit = bytes(&arguments[1]);
    let count = usize::try_from(int(&arguments[0]))
        .map_err(|_| Fault::function("can't repeat a negative number of times").expecting("0 or more"))?;
    let size = unit.len().saturating_mul(count);
    budget.string(size)?;
    budget.work(size / 2)?;
    Ok(Value::string(if unit.is_empty() { Vec::new() } else { unit.repeat(count) }))
}

pub(super) fn quote<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    each(budget, arguments, |budget, buffer, value| {
        let shown = stringify(budget, value)?;
        // Going character by character costs more than copying.
        budget.work(shown.weight().saturating_mul(8))?;
        buffer.push_str(&format::quote(bytes(&shown), false))
    })
}

pub(super) fn squote<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    each(budget, arguments, |_, buffer, value| {
        buffer.push_str("'")?;
        format::write(buffer, value)?;
        buffer.push_str("'")
    })
}

pub(super) fn cat<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    each(budget, arguments, |_, buffer, value| format::write(buffer, value))
}

/// Writes every argument but nil, a space between them.
fn each<'a>(
    budget: &mut Budget<'_>,
    arguments: &[Value<'a>],
    write: fn(&mut Budget<'_>, &mut Buffer, &Value<'a>) -> Result<(), Fault>,
) -> Result<Value<'a>, Fault> {
    let mut buffer = budget.buffer();
    let present = arguments.iter().filter(|argument| !matches!(argument, Value::Nil));
    for (at, argument) in present.enumerate() {
        if at > 0 {
            buffer.push_str(" ")?;
        }
        write(budget, &mut buffer, argument)?;
    }
    budget.finish(buffer)
}

pub(super) fn indent<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let buffer = budget.buffer();
    indented(budget, buffer, arguments)
}

pub(super) fn nindent<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let mut buffer = budget.buffer();
    buffer.push_str("\n")?;
    indented(budget, buffer, arguments)
}

fn indented<'a>(
    budget: &mut Budget<'_>,
    mut buffer: Buffer,
    arguments: &[Value<'a>],
) -> Result<Value<'a>, Fault> {
    let spaces = usize::try_from(int(&arguments[0]))
        .map_err(|_| Fault::function("can't indent by a negative number").expecting("0 or more"))?;
    for (at, line) in bytes(&arguments[1]).split(|byte| *byte == b'\n').enumerate() {
        if at > 0 {
            buffer.push_str("\n")?;
        }
        buffer.push_repeated(b' ', spaces)?;
        buffer.push(line)?;
    }
    budget.finish(buffer)
}

pub(super) fn nospace<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    mapped(budget, &arguments[0], |buffer, c| if c.is_whitespace() { Ok(()) } else { buffer.push_char(c) })
}

/// Items as text, nil left out; a single value is a list of one.
pub(super) fn join<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let separator = bytes(&arguments[0]);
    let mut buffer = budget.buffer();
    let single = std::slice::from_ref(&arguments[1]);
    let items: Box<dyn Iterator<Item = Value<'a>>> = match arguments[1].as_list() {
        Some(list) => Box::new(list.iter()),
        None => Box::new(single.iter().cloned()),
    };
    for (at, item) in items.filter(|item| !matches!(item, Value::Nil)).enumerate() {
        if at > 0 {
            buffer.push(separator)?;
        }
        format::write(&mut buffer, &item)?;
    }
    budget.finish(buffer)
}

pub(super) fn split_list<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let (separator, whole) = (text(&arguments[0]), text(&arguments[1]));
    let parts: Vec<&str> = if separator.is_empty() {
        whole.char_indices().map(|(at, c)| &whole[at..at + c.len_utf8()]).collect()
    } else {
        whole.split(&*separator).collect()
    };
    // Each part is a string of its own, with its own allocation.
    budget.items(parts.len().saturating_mul(3))?;
    Value::list(budget, parts.into_iter().map(Value::text).collect())
}

pub(super) fn plural<'a>(_: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Ok(arguments[usize::from(int(&arguments[2]) != 1)].clone())
}
