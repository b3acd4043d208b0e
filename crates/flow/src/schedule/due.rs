//! When a schedule is due: local times as instants, over gaps and doubled hours.

use super::Cron;
use crate::document::CatchUp;
use chrono::{
    DateTime, Datelike, Duration, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone, Utc,
};
use chrono_tz::Tz;

/// Leap days come at most eight years apart, and weekdays with them every 28 at most; more is never.
const MAX_DAYS: u32 = 366 * 41;
/// The longest gap that a zone has had is a day.
const MAX_GAP_MINUTES: i64 = 26 * 60;

/// Of more that were missed the latest count.
const MAX_CAUGHT_UP: usize = 1000;

/// The instants of a schedule, one after the other.
#[derive(Debug, Clone)]
pub struct Instants<'a> {
    cron: &'a Cron,
    zone: Tz,
    after: DateTime<Utc>,
}

impl Iterator for Instants<'_> {
    type Item = DateTime<Utc>;

    fn next(&mut self) -> Option<DateTime<Utc>> {
        self.after = next(self.cron, self.zone, self.after)?;
        Some(self.after)
    }
}

/// The instants behind `after` and not behind `until`.
pub fn due(
    cron: &Cron,
    zone: Tz,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
) -> impl Iterator<Item = DateTime<Utc>> {
    Instants { cron, zone, after }.take_while(move |instant| *instant <= until)
}

/// The instants at which a schedule fires now that it last fired then: all since somebody `watches` without a break,
/// who may only be late, and of those that were missed before what `catch_up` says.
#[must_use]
pub fn firing(
    cron: &Cron,
    zone: Tz,
    last: DateTime<Utc>,
    watches: DateTime<Utc>,
    now: DateTime<Utc>,
    catch_up: CatchUp,
) -> Vec<DateTime<Utc>> {
    let after = match catch_up {
        CatchUp::None => last.max(watches),
        CatchUp::Last | CatchUp::All => last,
    };
    let mut found = latest(cron, zone, after, now);
    let missed = found.partition_point(|instant| *instant <= watches);
    let kept = match catch_up {
        CatchUp::None | CatchUp::All => missed,
        CatchUp::Last => missed.min(1),
    };
    found.drain(..missed - kept);
    found
}

/// The latest of the instants behind `after` and not behind `until`, in order. It begins where as many would be if there were one
/// each second, and goes further back only where there are fewer: what is older may be millions.
fn latest(cron: &Cron, zone: Tz, after: DateTime<Utc>, until: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let mut back = Duration::seconds(MAX_CAUGHT_UP as i64);
    loop {
        let from = after.max(until - back);
        let mut found: Vec<_> = due(cron, zone, from, until).collect();
        if from == after || found.len() >= MAX_CAUGHT_UP {
            found.drain(..found.len().saturating_sub(MAX_CAUGHT_UP));
            return found;
        }
        back = back * 2;
    }
}

/// The first instant behind `after`.
///
/// A local time that a gap skips comes at the first moment behind the gap. In a doubled hour a fixed time comes once,
/// the first time; every so many minutes goes on through both.
#[must_use]
pub fn next(cron: &Cron, zone: Tz, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
    next_today(cron, zone, after).or_else(|| next_of_days(cron, zone, after))
}

/// The first instant behind `after` on the same day, if the clock does not change before it: then it is the first local
/// time that comes.
fn next_today(cron: &Cron, zone: Tz, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let offset = |at: DateTime<Utc>| zone.offset_from_utc_datetime(&at.naive_utc()).fix();
    let local = after.with_timezone(&zone).naive_local();
    let day = Some(local.date()).filter(|day| cron.allows_day(*day))?;
    let found = cron.times(local.time()).map(|time| day.and_time(time)).find(|found| *found > local)?;
    let instant = found.and_utc() - Duration::seconds(i64::from(offset(after).local_minus_utc()));
    // Of a doubled hour it may be the second time.
    let is_meant = offset(instant) == offset(after) && instants_of(cron, zone, found).contains(&instant);
    is_meant.then_some(instant)
}

fn next_of_days(cron: &Cron, zone: Tz, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
    // A day before: what a gap moved, and the second of a doubled hour, belong to local times that seem past.
    let mut day = after.with_timezone(&zone).date_naive().pred_opt()?;
    for looked in 0..MAX_DAYS {
        if cron.allows_day(day)
            && let Some(instant) = first_of_day(cron, zone, day, after)
        {
            return later_days(cron, zone, day, after, instant, looked);
        }
        day = day.succ_opt()?;
    }
    None
}

/// The zone's clock may go back over midnight: the day behind may hold an earlier instant.
fn later_days(
    cron: &Cron,
    zone: Tz,
    day: NaiveDate,
    after: DateTime<Utc>,
    found: DateTime<Utc>,
    looked: u32,
) -> Option<DateTime<Utc>> {
    let is_near = looked <= 2;
    let other = day.succ_opt().filter(|day| is_near && cron.allows_day(*day));
    let other = other.and_then(|day| first_of_day(cron, zone, day, after));
    Some(other.map_or(found, |other| other.min(found)))
}

fn first_of_day(cron: &Cron, zone: Tz, day: NaiveDate, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
    // Nothing of a day lies further from its midnight than this by any clock.
    let midnight = Utc.with_ymd_and_hms(day.year(), day.month(), day.day(), 0, 0, 0).single()?;
    if midnight + Duration::hours(24 + 27) < after {
        return None;
    }
    let locals = cron.times(NaiveTime::MIN).map(|time| day.and_time(time));
    if let Some(offset) = steady_offset(zone, midnight) {
        let mut instants = locals.map(|local| local.and_utc() - offset);
        return instants.find(|instant| *instant > after);
    }
    let instants = locals.flat_map(|local| instants_of(cron, zone, local));
    instants.filter(|instant| *instant > after).min()
}

/// How far the zone's clock is ahead, if it does not change on that day or near it.
fn steady_offset(zone: Tz, midnight: DateTime<Utc>) -> Option<Duration> {
    let at = |hours| zone.offset_from_utc_datetime(&(midnight + Duration::hours(hours)).naive_utc()).fix();
    (at(-40) == at(64)).then(|| Duration::seconds(i64::from(at(0).local_minus_utc())))
}

/// When a local time is.
fn instants_of(cron: &Cron, zone: Tz, local: NaiveDateTime) -> Vec<DateTime<Utc>> {
    match zone.from_local_datetime(&local) {
        MappedLocalTime::Single(instant) => vec![instant.to_utc()],
        MappedLocalTime::Ambiguous(first, _) if cron.is_fixed() => vec![first.to_utc()],
        MappedLocalTime::Ambiguous(first, second) => vec![first.to_utc(), second.to_utc()],
        MappedLocalTime::None => behind_gap(zone, local).into_iter().collect(),
    }
}

/// The first moment behind the gap that a local time is in; clocks change at whole minutes, but not in whole hours.
fn behind_gap(zone: Tz, local: NaiveDateTime) -> Option<DateTime<Utc>> {
    let minute = local - Duration::seconds(i64::from(chrono::Timelike::second(&local)));
    let (mut low, mut high) = (0, MAX_GAP_MINUTES);
    let at = |minutes: i64| zone.from_local_datetime(&(minute + Duration::minutes(minutes)));
    // All minutes up to the end of the gap are in it, none behind is.
    while low + 1 < high {
        let middle = low.midpoint(high);
        if matches!(at(middle), MappedLocalTime::None) { low = middle } else { high = middle }
    }
    at(high).earliest().map(|instant| instant.to_utc())
}
