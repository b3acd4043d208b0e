//! How often a call is tried: `retry: 3`, or every part of it.

use super::duration;
use super::model::{Retry, RetryOn};
use super::words::part;
use crate::cursor::Cursor;
use crate::limits;
use crate::problem::{Code, Problems};
use crate::source::Content;

pub(super) fn read(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Retry> {
    let attempts = |cursor: &Cursor<'_>, problems: &mut Problems| {
        cursor.count(limits::ATTEMPTS, problems).and_then(|count| u32::try_from(count).ok())
    };
    if !cursor.is_map() {
        return Some(Retry { attempts: attempts(cursor, problems)?, ..Retry::default() });
    }
    cursor.expect_fields(&part("retry"), problems);
    let mut retry = Retry { attempts: 3, ..Retry::default() };
    if let Some(field) = cursor.field("attempts") {
        retry.attempts = attempts(&field, problems)?;
    }
    if let Some(field) = cursor.field("delay") {
        retry.delay = duration::read(&field, problems)?;
    }
    if let Some(field) = cursor.field("max_delay") {
        retry.max_delay = duration::read(&field, problems)?;
    }
    if let Some(field) = cursor.field("factor") {
        retry.factor = read_factor(&field, problems)?;
    }
    if let Some(field) = cursor.field("on") {
        retry.on = read_on(&field, problems)?;
    }
    Some(retry)
}

fn read_factor(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<f64> {
    let factor = match &cursor.tree.content {
        Content::Number(number) => number.as_f64().filter(|factor| (1.0..=100.0).contains(factor)),
        _ => None,
    };
    if factor.is_none() {
        problems.add(cursor.error(Code::Syntax, "a number from 1 to 100 belongs here"));
    }
    factor
}

fn read_on(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<RetryOn> {
    if cursor.is_list() {
        let codes = cursor.items().map(|item| item.text(problems).map(str::to_owned));
        return codes.collect::<Option<Vec<_>>>().map(RetryOn::Codes);
    }
    match cursor.text(problems)? {
        "retryable" => Some(RetryOn::Retryable),
        "any" => Some(RetryOn::Any),
        code => Some(RetryOn::Codes(vec![code.to_owned()])),
    }
}
