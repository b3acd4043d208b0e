//! Times and durations: reading, writing, moving.

use crate::error::Fault;
use crate::value::Val;
use chrono::format::{DelayedFormat, StrftimeItems};
use chrono::{
    DateTime, Datelike, Days, FixedOffset, Months, NaiveDate, NaiveDateTime, SecondsFormat, TimeDelta,
    TimeZone, Utc,
};
use chrono_tz::Tz;

/// RFC 3339 with as many places behind the second as are needed.
pub(crate) fn print(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Seconds with an `s`, as CEL and protobuf write durations in JSON.
pub(crate) fn print_duration(duration: TimeDelta) -> String {
    let (seconds, nanos) = (duration.num_seconds(), duration.subsec_nanos());
    if nanos == 0 {
        return format!("{seconds}s");
    }
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    let fraction = format!("{:09}", nanos.unsigned_abs());
    format!("{sign}{}.{}s", seconds.unsigned_abs(), fraction.trim_end_matches('0'))
}

/// A time from RFC 3339, from a date alone, or from a date and time without a zone, which is UTC.
pub(crate) fn parse(text: &str) -> Result<DateTime<Utc>, Fault> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    for pattern in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(text, pattern) {
            return Ok(time.and_utc());
        }
    }
    let midnight =
        NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|date| date.and_hms_opt(0, 0, 0));
    midnight.map(|time| time.and_utc()).ok_or_else(|| {
        Fault::failed("this text is no time; a time is written 2026-07-28T10:00:00Z, a date 2026-07-28")
    })
}

/// The time that a value stands for: a time, its text, or milliseconds since 1970.
pub(crate) fn of(value: &Val<'_>) -> Result<DateTime<Utc>, Fault> {
    match value {
        Val::Time(time) => Ok(*time),
        Val::Text(text) => parse(text),
        other => crate::number::as_index(other)
            .map(DateTime::from_timestamp_millis)
            .ok_or_else(|| Fault::failed(format!("a time is needed here, this is {}", other.kind())))
            .and_then(computed),
    }
}

/// A time that was computed, if RFC 3339 can say it: the years have four digits.
pub(crate) fn computed(time: Option<DateTime<Utc>>) -> Result<DateTime<Utc>, Fault> {
    let is_sayable = |time: &DateTime<Utc>| (0..=9999).contains(&time.year());
    time.filter(is_sayable).ok_or_else(|| Fault::failed("the result is out of the range of times"))
}

/// `1h30m`, `-1.5s`, `100ms`: a sum of numbers with units.
pub(crate) fn parse_duration(text: &str) -> Result<TimeDelta, Fault> {
    let wrong = || Fault::failed("this text is no duration; one is written 1h30m, 10s or 500ms");
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(TimeDelta::zero());
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = rest.split_at(digits);
        let length = unit.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit.len());
        nanos = nanos.checked_add(nanos_of(number, &unit[..length]).ok_or_else(wrong)?).ok_or_else(wrong)?;
        rest = &unit[length..];
    }
    let nanos = i64::try_from(if is_negative { -nanos } else { nanos }).map_err(|_| wrong())?;
    Ok(TimeDelta::nanoseconds(nanos))
}

fn nanos_of(number: &str, unit: &str) -> Option<i128> {
    let unit: i128 = match unit {
        "h" => 3_600_000_000_000,
        "m" => 60_000_000_000,
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" | "µs" => 1_000,
        "ns" => 1,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || whole.len() > 19 || fraction.len() > 18 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scale = 10i128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(unit)?.checked_add(part.checked_mul(unit)? / scale)
}

/// Moves a time by steps like `-3M`, `+1d 2h`: years, months, weeks, days, hours, minutes, seconds.
pub(crate) fn offset(time: DateTime<Utc>, by: &str) -> Result<DateTime<Utc>, Fault> {
    let wrong =
        || Fault::failed("an offset is written like -3M or +1d2h: y years, M months, w weeks, d days, h m s");
    let mut moved = time;
    let mut is_back = false;
    let mut rest = by.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(['-', '+']) {
            is_back = rest.starts_with('-');
            rest = after;
        }
        let digits =
            rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0).ok_or_else(wrong)?;
        let count: u32 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = rest[digits..].chars().next().ok_or_else(wrong)?;
        moved = computed(shift(moved, is_back, count, unit).ok_or_else(wrong)?)?;
        rest = rest[digits + unit.len_utf8()..].trim_start();
    }
    Ok(moved)
}

/// `None` for an unknown unit, `Some(None)` beyond the range.
fn shift(time: DateTime<Utc>, is_back: bool, count: u32, unit: char) -> Option<Option<DateTime<Utc>>> {
    let months = |count: Option<u32>| {
        let months = Months::new(count?);
        if is_back { time.checked_sub_months(months) } else { time.checked_add_months(months) }
    };
    let days = |count: u64| {
        let days = Days::new(count);
        if is_back { time.checked_sub_days(days) } else { time.checked_add_days(days) }
    };
    let seconds = |each: i64| {
        let by = TimeDelta::try_seconds(i64::from(count) * each)?;
        if is_back { time.checked_sub_signed(by) } else { time.checked_add_signed(by) }
    };
    Some(match unit {
        'y' | 'Y' => months(count.checked_mul(12)),
        'M' => months(Some(count)),
        'w' | 'W' => days(u64::from(count) * 7),
        'd' | 'D' => days(count.into()),
        'h' | 'H' => seconds(3600),
        'm' => seconds(60),
        's' | 'S' => seconds(1),
        _ => return None,
    })
}

/// A time where a zone has it: a name (`Europe/Paris`), `UTC`, or an offset (`+08:00`).
pub(crate) fn in_zone(time: DateTime<Utc>, zone: &str) -> Result<DateTime<FixedOffset>, Fault> {
    if let Ok(zone) = zone.parse::<Tz>() {
        let local = time.with_timezone(&zone);
        return Ok(local.fixed_offset());
    }
    let fixed = DateTime::parse_from_str(&format!("1970-01-01T00:00:00{zone}"), "%Y-%m-%dT%H:%M:%S%:z");
    let fixed = fixed.map_err(|_| {
        Fault::failed("this time zone is unknown; zones are written Europe/Paris, UTC or +08:00")
    })?;
    Ok(fixed.timezone().from_utc_datetime(&time.naive_utc()))
}

/// Writes a time by a pattern of letters: `yyyy-MM-dd HH:mm:ss`. What stands in single quotes is literal.
pub(crate) fn format(time: &DateTime<FixedOffset>, pattern: &str) -> Result<String, Fault> {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        if letter == '\'' {
            let end =
                rest[1..].find('\'').ok_or_else(|| Fault::failed("a quote in the pattern is not closed"))?;
            text.push_str(if end == 0 { "'" } else { &rest[1..=end] });
            rest = &rest[end + 2..];
            continue;
        }
        let run = rest.len() - rest.trim_start_matches(letter).len();
        let count = run / letter.len_utf8();
        if letter.is_ascii_alphabetic() {
            text.push_str(&part(time, letter, count)?);
        } else {
            text.push_str(&rest[..run]);
        }
        rest = &rest[run..];
    }
    Ok(text)
}

fn part(time: &DateTime<FixedOffset>, letter: char, count: usize) -> Result<String, Fault> {
    let code = match (letter, count) {
        ('y' | 'u', 2) => "%y",
        ('y' | 'u', _) => "%Y",
        ('M', 1) => "%-m",
        ('M', 2) => "%m",
        ('M', 3) => "%b",
        ('M', _) => "%B",
        ('d', 1) => "%-d",
        ('d', _) => "%d",
        ('D', _) => "%j",
        ('E', 1..=3) => "%a",
        ('E', _) => "%A",
        ('H', 1) => "%-H",
        ('H', _) => "%H",
        ('h', 1) => "%-I",
        ('h', _) => "%I",
        ('m', 1) => "%-M",
        ('m', _) => "%M",
        ('s', 1) => "%-S",
        ('s', _) => "%S",
        ('S', 1..=3) => "%3f",
        ('S', 4..=6) => "%6f",
        ('S', _) => "%9f",
        ('a', _) => "%p",
        ('X' | 'x', 3) => "%:z",
        ('X' | 'x' | 'Z', _) => "%z",
        _ => {
            let message = format!("'{letter}' means nothing in a pattern; text stands in single quotes");
            return Err(Fault::failed(message));
        }
    };
    let formatted: DelayedFormat<StrftimeItems<'_>> = time.format(code);
    Ok(formatted.to_string())
}
