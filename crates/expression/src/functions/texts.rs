//! Functions of texts.

use super::{Found, list, text};
use crate::error::Fault;
use crate::eval::Run;
use crate::value::Val;
use regex::{Regex, RegexBuilder};

/// A compiled pattern takes at most so much memory.
const PATTERN_BYTES: usize = 64 * 1024;
/// Parts of a pattern may stand in one another so deep: its compiler calls itself for each, on a stack of any size.
const PATTERN_LEVELS: u32 = 32;
/// Compiling a pattern costs as much as so many bytes of text.
const COMPILING: usize = 64 * 1024;

/// Reads both texts of a function, and pays for it.
fn two<'v>(function: &str, run: &mut Run<'_>, arguments: &'v [Val<'_>]) -> Result<(&'v str, &'v str), Fault> {
    let pair = (text(function, arguments, 0)?, text(function, arguments, 1)?);
    run.budget.read(pair.0.len() + pair.1.len())?;
    Ok(pair)
}

pub(super) fn contains<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let (text, part) = two("contains", run, arguments)?;
    Ok(Val::Bool(text.contains(part)))
}

pub(super) fn starts_with<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let (text, part) = two("startsWith", run, arguments)?;
    Ok(Val::Bool(text.starts_with(part)))
}

pub(super) fn ends_with<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let (text, part) = two("endsWith", run, arguments)?;
    Ok(Val::Bool(text.ends_with(part)))
}

pub(super) fn matches<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let (text, written) = two("matches", run, arguments)?;
    run.budget.read(COMPILING)?;
    Ok(Val::Bool(pattern(written)?.is_match(text)))
}

/// A regular expression whose work is linear in the text.
pub(crate) fn pattern(text: &str) -> Result<Regex, Fault> {
    let built = RegexBuilder::new(text)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .nest_limit(PATTERN_LEVELS)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => Fault::limit("this pattern is too large"),
        _ => {
            Fault::failed("this is no regular expression (those of RE2: no look-around, no back-references)")
        }
    })
}

pub(super) fn upper<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    changed(run, text("upper", arguments, 0)?, str::to_uppercase)
}

pub(super) fn lower<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    changed(run, text("lower", arguments, 0)?, str::to_lowercase)
}

pub(super) fn trim<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    changed(run, text("trim", arguments, 0)?, |text| text.trim().to_owned())
}

fn changed<'a>(run: &mut Run<'a>, text: &str, change: impl Fn(&str) -> String) -> Found<'a> {
    run.budget.read(text.len())?;
    // Some letters need more bytes in the other case, never more than three times as many.
    run.budget.build(text.len())?;
    let changed = change(text);
    run.budget.build(changed.len().saturating_sub(text.len()))?;
    Ok(Val::text(changed))
}

pub(super) fn split<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let (text, separator) = two("split", run, arguments)?;
    run.budget.build(text.len())?;
    let mut parts = Vec::new();
    let mut push = |part: &str| {
        run.budget.build_slots(1)?;
        parts.push(Val::text(part));
        Ok::<_, Fault>(())
    };
    if separator.is_empty() {
        text.chars().try_for_each(|letter| push(letter.encode_utf8(&mut [0; 4])))?;
    } else {
        text.split(separator).try_for_each(push)?;
    }
    Ok(Val::list(parts))
}

pub(super) fn join<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let items = list("join", arguments)?;
    let separator = if arguments.len() == 2 { text("join", arguments, 1)? } else { "" };
    let mut joined = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            run.budget.build(separator.len())?;
            joined.push_str(separator);
        }
        run.budget.step()?;
        joined.push_str(&item.print(&mut run.budget)?);
    }
    Ok(Val::text(joined))
}

pub(super) fn replace<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let (text, old) = two("replace", run, arguments)?;
    let new = super::text("replace", arguments, 2)?;
    // An empty text is found between all letters.
    let found = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    run.budget.build(text.len().saturating_add(found.saturating_mul(new.len())))?;
    Ok(Val::text(text.replace(old, new)))
}
