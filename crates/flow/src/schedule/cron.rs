//! Cron expressions: five fields, or six with seconds first; lists, ranges, steps, names, `@daily` and the like.

use chrono::{Datelike, NaiveDate, NaiveTime, Timelike, Weekday};
use std::fmt;
use std::str::FromStr;

/// A parsed cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    seconds: Field,
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

/// What a field allows, one bit for each number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    bits: u64,
    /// It begins with `*`: it says nothing about which, as far as days and the change of clocks care.
    is_open: bool,
}

impl Field {
    fn has(self, number: u32) -> bool {
        self.bits & (1 << number) != 0
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        self.numbers_from(0)
    }

    fn numbers_from(self, first: u32) -> impl Iterator<Item = u32> {
        (first..64).filter(move |number| self.has(*number))
    }
}

/// Why a text is no cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCron(String);

impl fmt::Display for BadCron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadCron {}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const SHORTHANDS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl FromStr for Cron {
    type Err = BadCron;

    fn from_str(text: &str) -> Result<Self, BadCron> {
        let trimmed = text.trim();
        let long = SHORTHANDS.iter().find(|(short, _)| short.eq_ignore_ascii_case(trimmed));
        let fields: Vec<_> = long.map_or(trimmed, |(_, long)| long).split_whitespace().collect();
        let (second, rest) = match fields.as_slice() {
            rest @ [_, _, _, _, _] => ("0", rest),
            [second, rest @ ..] if rest.len() == 5 => (*second, rest),
            _ => {
                let message =
                    "a schedule has five fields (minute hour day month weekday), or six with seconds first";
                return Err(BadCron(format!("{message}; '{trimmed}' has {}", fields.len())));
            }
        };
        let mut weekdays = field("weekday", rest[4], 0..=7, &WEEKDAYS, 0)?;
        if weekdays.has(7) {
            weekdays.bits = weekdays.bits & 0x7f | 1;
        }
        let cron = Self {
            text: trimmed.to_owned(),
            seconds: field("second", second, 0..=59, &[], 0)?,
            minutes: field("minute", rest[0], 0..=59, &[], 0)?,
            hours: field("hour", rest[1], 0..=23, &[], 0)?,
            days: field("day", rest[2], 1..=31, &[], 0)?,
            months: field("month", rest[3], 1..=12, &MONTHS, 1)?,
            weekdays,
        };
        cron.check_days()?;
        Ok(cron)
    }
}

impl Cron {
    /// The instants are fixed times of the day, not every so many minutes.
    pub(super) fn is_fixed(&self) -> bool {
        !self.hours.is_open && !self.minutes.is_open
    }

    pub(super) fn allows_day(&self, day: NaiveDate) -> bool {
        let by_day = self.days.has(day.day());
        let by_weekday = self.weekdays.has(number_of(day.weekday()));
        // As in every cron: where both are given, one is enough.
        let fits = match (self.days.is_open, self.weekdays.is_open) {
            (false, false) => by_day || by_weekday,
            _ => by_day && by_weekday,
        };
        fits && self.months.has(day.month())
    }

    /// The times of a day from that second on. Those before cost nothing: there may be one for each second of the day.
    pub(super) fn times(&self, from: NaiveTime) -> impl Iterator<Item = NaiveTime> {
        let (first_hour, first_minute) = (from.hour(), from.minute());
        self.hours.numbers_from(first_hour).flat_map(move |hour| {
            let is_first = hour == first_hour;
            self.minutes.numbers_from(if is_first { first_minute } else { 0 }).flat_map(move |minute| {
                let is_first = is_first && minute == first_minute;
                let seconds = self.seconds.numbers_from(if is_first { from.second() } else { 0 });
                seconds.filter_map(move |second| NaiveTime::from_hms_opt(hour, minute, second))
            })
        })
    }

    /// `0 0 31 2 *` would never come.
    fn check_days(&self) -> Result<(), BadCron> {
        let longest = |month: u32| match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let first = self.days.numbers().next().unwrap_or(1);
        let comes = self.months.numbers().any(|month| first <= longest(month));
        if comes || !self.weekdays.is_open {
            return Ok(());
        }
        Err(BadCron(format!("'{}' never comes: no such month has a day {first}", self.text)))
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn number_of(weekday: Weekday) -> u32 {
    weekday.num_days_from_sunday()
}

type Range = std::ops::RangeInclusive<u32>;

fn field(name: &str, text: &str, range: Range, names: &[&str], first: u32) -> Result<Field, BadCron> {
    let mut bits = 0;
    for part in text.split(',') {
        bits |= numbers(part, &range, names, first).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            BadCron(format!(
                "'{part}' is no {name}: a number from {low} to {high}, a-b, * or one of them with /step"
            ))
        })?;
    }
    Ok(Field { bits, is_open: text.starts_with(['*', '?']) })
}

fn numbers(part: &str, range: &Range, names: &[&str], first: u32) -> Option<u64> {
    let (span, step) = match part.split_once('/') {
        Some((span, step)) => (span, Some(step.parse::<usize>().ok().filter(|step| *step > 0)?)),
        None => (part, None),
    };
    let one = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let number = named.and_then(|index| Some(u32::try_from(index).ok()? + first));
        number.or_else(|| text.parse().ok()).filter(|number| range.contains(number))
    };
    let (low, high) = match span.split_once('-') {
        _ if span == "*" || span == "?" => (*range.start(), *range.end()),
        Some((low, high)) => (one(low)?, one(high)?),
        None if step.is_some() => (one(span)?, *range.end()),
        None => (one(span)?, one(span)?),
    };
    let numbers = (low..=high).step_by(step.unwrap_or(1));
    (low <= high).then(|| numbers.fold(0, |bits, number| bits | 1 << number))
}
