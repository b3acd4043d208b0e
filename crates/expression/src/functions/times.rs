//! Functions of times and durations.

use super::{Found, convert, text};
use crate::error::Fault;
use crate::eval::Run;
use crate::time;
use crate::value::Val;
use chrono::{DateTime, Datelike, FixedOffset, SecondsFormat, TimeDelta, Timelike};

pub(super) fn timestamp<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    convert::timestamp(&arguments[0])
}

pub(super) fn duration<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    match &arguments[0] {
        Val::Duration(duration) => Ok(Val::Duration(*duration)),
        _ => time::parse_duration(text("duration", arguments, 0)?).map(Val::Duration),
    }
}

pub(super) fn now<'a>(run: &mut Run<'a>, _: &[Val<'a>]) -> Found<'a> {
    Ok(Val::Time(run.now))
}

/// The time of the evaluation, moved by the offset that may be given.
fn moved<'a>(
    function: &str,
    run: &mut Run<'a>,
    arguments: &[Val<'a>],
) -> Result<DateTime<chrono::Utc>, Fault> {
    match arguments.is_empty() {
        true => Ok(run.now),
        false => time::offset(run.now, text(function, arguments, 0)?),
    }
}

pub(super) fn date<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    Ok(Val::text(moved("date", run, arguments)?.format("%Y-%m-%d").to_string()))
}

pub(super) fn time<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    Ok(Val::text(moved("time", run, arguments)?.format("%H:%M:%S").to_string()))
}

pub(super) fn offset<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    time::offset(time::of(&arguments[0])?, text("offset", arguments, 1)?).map(Val::Time)
}

pub(super) fn format<'a>(run: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    let pattern = text("format", arguments, 1)?;
    let zone = if arguments.len() == 3 { text("format", arguments, 2)? } else { "UTC" };
    let local = time::in_zone(time::of(&arguments[0])?, zone)?;
    // A letter of a pattern becomes a word at most.
    run.budget.build(pattern.len().saturating_mul(12))?;
    Ok(Val::text(match pattern {
        "iso" => local.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        pattern => time::format(&local, pattern)?,
    }))
}

/// A part of a time where the zone has it; durations have some of them, too.
fn part<'a>(
    arguments: &[Val<'a>],
    of_time: fn(&DateTime<FixedOffset>) -> u32,
    of_duration: Option<fn(&TimeDelta) -> i64>,
) -> Found<'a> {
    match (&arguments[0], of_duration) {
        (Val::Duration(duration), Some(of_duration)) => Ok(Val::Int(of_duration(duration))),
        (value, _) => {
            let zone = if arguments.len() == 2 { text("a part of a time", arguments, 1)? } else { "UTC" };
            let local = time::in_zone(time::of(value)?, zone)?;
            Ok(Val::Int(of_time(&local).into()))
        }
    }
}

pub(super) fn full_year<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, |time| time.year().unsigned_abs(), None)
}

pub(super) fn month<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, Datelike::month0, None)
}

pub(super) fn date_of_month<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, Datelike::day, None)
}

pub(super) fn day_of_month<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, Datelike::day0, None)
}

pub(super) fn day_of_week<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, |time| time.weekday().num_days_from_sunday(), None)
}

pub(super) fn day_of_year<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, Datelike::ordinal0, None)
}

pub(super) fn hours<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, Timelike::hour, Some(TimeDelta::num_hours))
}

pub(super) fn minutes<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, Timelike::minute, Some(TimeDelta::num_minutes))
}

pub(super) fn seconds<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(arguments, Timelike::second, Some(TimeDelta::num_seconds))
}

pub(super) fn milliseconds<'a>(_: &mut Run<'a>, arguments: &[Val<'a>]) -> Found<'a> {
    part(
        arguments,
        |time| time.timestamp_subsec_millis(),
        Some(|duration| duration.num_milliseconds() % 1000),
    )
}
