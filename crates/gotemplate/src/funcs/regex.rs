//! Regular expressions.

use regex::Captures;

use super::text;
use crate::budget::{Budget, Buffer};
use crate::error::{ErrorKind, Fault};
use crate::value::Value;

/// A pattern that is none matches nothing.
pub(super) fn regex_match<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let whole = text(&arguments[1]);
    match budget.regexes().prepare(budget, &text(&arguments[0]), &whole) {
        Ok(pattern) => Ok(Value::Bool(pattern.regex.is_match(&whole))),
        Err(fault) if fault.kind() == ErrorKind::Function => Ok(Value::Bool(false)),
        Err(fault) => Err(fault),
    }
}

pub(super) fn regex_find<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    let whole = text(&arguments[1]);
    let pattern = budget.regexes().prepare(budget, &text(&arguments[0]), &whole)?;
    let found = pattern.regex.find(&whole).map_or("", |found| found.as_str());
    budget.work(found.len() / 2)?;
    Ok(Value::text(found))
}

pub(super) fn regex_replace_all<'a>(
    budget: &mut Budget<'_>,
    arguments: &[Value<'a>],
) -> Result<Value<'a>, Fault> {
    let (whole, replacement) = (text(&arguments[1]), text(&arguments[2]));
    let pattern = budget.regexes().prepare(budget, &text(&arguments[0]), &whole)?;
    let mut buffer = budget.buffer();
    let mut copied = 0;
    for captures in pattern.regex.captures_iter(&whole) {
        // Filling in a group costs far more than copying a byte.
        budget.work(16 + replacement.len().saturating_mul(16))?;
        let Some(found) = captures.get(0) else { continue };
        buffer.push_str(&whole[copied..found.start()])?;
        expand(&mut buffer, &replacement, &captures)?;
        copied = found.end();
    }
    buffer.push_str(&whole[copied..])?;
    budget.finish(buffer)
}

/// Writes the replacement with `$1`, `$name` and `${name}` filled in; `$$` is a dollar sign.
fn expand(buffer: &mut Buffer, replacement: &str, captures: &Captures<'_>) -> Result<(), Fault> {
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        buffer.push_str(&rest[..at])?;
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            buffer.push_str("$")?;
            rest = after;
            continue;
        }
        let Some((name, after)) = group_name(rest) else {
            buffer.push_str("$")?;
            continue;
        };
        let group = match name.parse::<usize>() {
            Ok(number) => captures.get(number),
            Err(_) => captures.name(name),
        };
        buffer.push_str(group.map_or("", |group| group.as_str()))?;
        rest = after;
    }
    buffer.push_str(rest)
}

/// The longest name at the start, or the one in braces, and what follows.
fn group_name(rest: &str) -> Option<(&str, &str)> {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let (name, after) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len())),
    };
    (!name.is_empty() && name.chars().all(is_word)).then_some((name, after))
}
