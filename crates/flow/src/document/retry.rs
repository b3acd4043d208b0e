//! How often a call is tried: `retry: 3`, or every part of it.

use super::duration;
use super::model::{Retry, RetryOn};
use super::words::part;
use crate::cursor::Cursor;
use crate::limits;
use crate::problem::{Code, Problem, Problems};
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
    // What cannot be read keeps its default, so that the rest is read, too.
    if let Some(count) = cursor.field("attempts").and_then(|field| attempts(&field, problems)) {
        retry.attempts = count;
    }
    if let Some(delay) = cursor.field("delay").and_then(|field| duration::read(&field, problems)) {
        retry.delay = delay;
    }
    if let Some(delay) = cursor.field("max_delay").and_then(|field| duration::read(&field, problems)) {
        retry.max_delay = delay;
    }
    if let Some(factor) = cursor.field("factor").and_then(|field| read_factor(&field, problems)) {
        retry.factor = factor;
    }
    if let Some(on) = cursor.field("on").and_then(|field| read_on(&field, problems)) {
        retry.on = on;
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
        let codes: Vec<_> = cursor.items().map(|item| read_code(&item, problems)).collect();
        return codes.into_iter().collect::<Option<_>>().map(RetryOn::Codes);
    }
    match cursor.as_text() {
        Some("retryable") => Some(RetryOn::Retryable),
        Some("any") => Some(RetryOn::Any),
        _ => read_code(cursor, problems).map(|code| RetryOn::Codes(vec![code])),
    }
}

/// Flows may throw what they like, but a word in small letters is likely one of ours that was misspelled.
fn read_code(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let code = cursor.text(problems)?;
    if !code.chars().any(char::is_uppercase) {
        let message = format!(
            "'{code}' is taken for the code of an error; the words are retryable and any, and codes are written as \
             in NOT_FOUND"
        );
        problems.add(Problem::warning(Code::Unknown, &cursor.path, cursor.spot().at, message));
    }
    Some(code.to_owned())
}
