//! Lengths of time: `5000` milliseconds, `'10s'`, `'1h30m'`, `'2d'`.

use crate::cursor::Cursor;
use crate::problem::{Code, Problems};
use crate::source::Content;
use std::time::Duration;

/// Longer waits are a mistake of the author.
const MAX_DAYS: u64 = 3660;

/// Units of time in texts, and their milliseconds.
pub const UNITS: [(&str, u64); 6] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

pub(crate) fn read(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Duration> {
    let duration = match &cursor.tree.content {
        Content::Number(number) => number.as_u64().map(Duration::from_millis),
        Content::Text(text) => parse(text),
        _ => None,
    };
    let duration = duration.filter(|duration| duration.as_secs() <= MAX_DAYS * 86_400);
    if duration.is_none() {
        let message = "a length of time belongs here: milliseconds, or a text like '10s', '1h30m', '2d'";
        problems.add(cursor.error(Code::Syntax, message));
    }
    duration
}

/// Numbers with units, one behind the other.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, milliseconds) = UNITS.iter().find(|(unit, _)| *unit == &rest[..letters])?;
        total = total.checked_add(number.checked_mul(*milliseconds)?)?;
        rest = rest[letters..].trim_start();
    }
    (!text.trim().is_empty()).then(|| Duration::from_millis(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_units() {
        for (text, milliseconds) in [
            ("10s", 10_000),
            ("500ms", 500),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("1 w", 0),
            ("1w 1s", 604_801_000),
        ] {
            let wanted = (milliseconds > 0).then(|| Duration::from_millis(milliseconds));
            assert_eq!(parse(text), wanted, "{text}");
        }
        for text in ["", "s", "10", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615w"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
