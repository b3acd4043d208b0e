//! Schedules by the clocks of time zones.

use chrono::{DateTime, MappedLocalTime, TimeDelta, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use flow::CatchUp;
use flow::schedule::{Cron, due, firing, next};
use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Instant;

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// The first instants behind a time, by a zone's clock.
fn times(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let zone = zone.parse().unwrap();
    let cron: Cron = cron.parse().unwrap();
    let mut instants = Vec::new();
    let mut after = instant(after);
    for _ in 0..count {
        after = next(&cron, zone, after).unwrap();
        instants.push(after.with_timezone(&zone).format("%m-%d %H:%M:%S %z").to_string());
    }
    instants
}

#[test]
fn fields_are_lists_ranges_steps_and_names() {
    for (cron, wanted) in [
        ("*/20 * * * *", vec!["01-01 00:20:00 +0000", "01-01 00:40:00 +0000", "01-01 01:00:00 +0000"]),
        (
            "30 9-17/4 * * mon-fri",
            vec![
                "01-01 09:30:00 +0000",
                "01-01 13:30:00 +0000",
                "01-01 17:30:00 +0000",
                "01-02 09:30:00 +0000",
                "01-02 13:30:00 +0000",
            ],
        ),
        ("0 0 29 2 *", vec!["02-29 00:00:00 +0000"]),
        (
            "0 12 1,15 * 0",
            vec![
                "01-01 12:00:00 +0000",
                "01-04 12:00:00 +0000",
                "01-11 12:00:00 +0000",
                "01-15 12:00:00 +0000",
            ],
        ),
        ("15 0 0 * jan,JUL 7", vec!["01-04 00:00:15 +0000"]),
        ("@monthly", vec!["02-01 00:00:00 +0000", "03-01 00:00:00 +0000"]),
    ] {
        // 2026-01-01 is a Thursday.
        assert_eq!(times(cron, "UTC", "2026-01-01T00:00:00Z", wanted.len()), wanted, "{cron}");
    }
}

/// FL-27: a time that the clocks skip comes at the first moment behind the gap.
#[test]
fn a_gap_is_followed_by_its_first_moment() {
    // Berlin skips 02:00 to 03:00 on 2026-03-29.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3),
        ["03-28 02:30:00 +0100", "03-29 03:00:00 +0200", "03-30 02:30:00 +0200"]
    );
    // Lord Howe moves by half an hour, 02:00 to 02:30 on 2026-10-04.
    assert_eq!(
        times("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 1),
        ["10-04 02:30:00 +1100"]
    );
    // Samoa skipped 30 December 2011.
    assert_eq!(
        times("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", 3),
        ["12-29 12:00:00 -1000", "12-31 00:00:00 +1400", "12-31 12:00:00 +1400"]
    );
}

/// FL-27: a fixed time in a doubled hour comes once, an interval goes on.
#[test]
fn a_doubled_hour_holds_fixed_times_once() {
    // Berlin has 02:00 to 03:00 twice on 2026-10-25.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
        ["10-25 02:30:00 +0200", "10-26 02:30:00 +0100"]
    );
    assert_eq!(
        times("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 4),
        ["10-25 02:30:00 +0200", "10-25 02:00:00 +0100", "10-25 02:30:00 +0100", "10-25 03:00:00 +0100"]
    );
    // Havana goes back over midnight, 01:00 to 00:00 on 2026-11-01.
    assert_eq!(
        times("*/30 * * * *", "America/Havana", "2026-11-01T04:00:00Z", 4),
        ["11-01 00:30:00 -0400", "11-01 00:00:00 -0500", "11-01 00:30:00 -0500", "11-01 01:00:00 -0500"]
    );
}

/// FL-27: what was missed is all that lies between.
#[test]
fn due_instants_lie_between() {
    let cron: Cron = "0 * * * *".parse().unwrap();
    let zone = "Asia/Kolkata".parse().unwrap();
    let found: Vec<_> =
        due(&cron, zone, instant("2026-01-01T00:30:00Z"), instant("2026-01-01T02:30:00Z")).collect();
    assert_eq!(found, [instant("2026-01-01T01:30:00Z"), instant("2026-01-01T02:30:00Z")]);
}

/// FL-27: of what was missed all, the last or nothing is made up for.
#[test]
fn missed_instants_are_caught_up_with() {
    let cron: Cron = "0 * * * *".parse().unwrap();
    let zone = "UTC".parse().unwrap();
    let since = |watches: &str, now: &str, catch_up| {
        let last = instant("2026-01-01T00:10:00Z");
        let found = firing(&cron, zone, last, instant(watches), instant(now), catch_up);
        found.into_iter().map(|at| at.format("%H:%M").to_string()).collect::<Vec<_>>()
    };
    let fires = |now: &str, catch_up| since(now, now, catch_up);
    assert_eq!(fires("2026-01-01T03:10:00Z", CatchUp::All), ["01:00", "02:00", "03:00"]);
    assert_eq!(fires("2026-01-01T03:10:00Z", CatchUp::Last), ["03:00"]);
    assert!(fires("2026-01-01T03:10:00Z", CatchUp::None).is_empty());
    assert!(fires("2026-01-01T03:00:01Z", CatchUp::None).is_empty(), "nobody watched");
    // Whoever watches without a break is late, and misses nothing.
    let watched = "2026-01-01T02:59:59Z";
    for catch_up in [CatchUp::None, CatchUp::Last] {
        let missed = if catch_up == CatchUp::Last { vec!["02:00"] } else { Vec::new() };
        let wanted: Vec<_> = missed.into_iter().chain(["03:00", "04:00"]).collect();
        assert_eq!(since(watched, "2026-01-01T04:20:00Z", catch_up), wanted);
    }
    assert!(fires("2026-01-01T00:59:59Z", CatchUp::All).is_empty());
    assert_eq!(
        {
            let now = instant("2026-01-01T00:00:00Z");
            firing(&cron, zone, instant("2020-01-01T00:00:00Z"), now, now, CatchUp::All).len()
        },
        1000
    );
}

/// FL-27: a schedule of every second that nobody looked at for long is looked through in a moment, also where clocks change.
#[test]
fn a_long_time_of_many_instants_is_short_work() {
    let zone: Tz = "Europe/Berlin".parse().unwrap();
    for cron in ["* * * * * *", "*/7 * * * * *", "* * 1-3 * * *"] {
        let cron: Cron = cron.parse().unwrap();
        for now in ["2026-07-01T12:00:00Z", "2026-03-29T01:30:00Z", "2026-10-25T01:30:00Z"].map(instant) {
            let begun = Instant::now();
            let found = firing(&cron, zone, now - TimeDelta::days(400), now, now, CatchUp::All);
            assert!(begun.elapsed().as_secs() < 10, "{cron} until {now}: {:?}", begun.elapsed());
            assert_eq!(found.len(), 1000);
            assert!(
                found.is_sorted_by(|a, b| a < b) && now - found[0] < TimeDelta::days(2),
                "{cron} until {now}"
            );
            assert_eq!(firing(&cron, zone, now - TimeDelta::days(1), now, now, CatchUp::Last).len(), 1);
        }
    }
}

#[test]
fn what_is_no_schedule_is_told() {
    for (text, wanted) in [
        ("", "five fields"),
        ("* * * *", "has 4"),
        ("60 * * * *", "'60' is no minute"),
        ("* * 0 * *", "'0' is no day"),
        ("* 9-5 * * *", "'9-5' is no hour"),
        ("*/0 * * * *", "'*/0' is no minute"),
        ("* * * foo *", "'foo' is no month"),
        ("0 0 31 2,4 *", "never comes"),
        ("@often", "five fields"),
        ("99999999999999999999 * * * *", "is no minute"),
    ] {
        let error = text.parse::<Cron>().unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

mod random {
    use super::*;
    use proptest::prelude::*;

    /// What a schedule says, read without our code.
    #[derive(Debug, Clone)]
    struct Fields {
        seconds: Vec<u32>,
        minutes: Option<Vec<u32>>,
        hours: Option<Vec<u32>>,
    }

    impl Fields {
        fn text(&self) -> String {
            let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            let open = |numbers: &Option<Vec<u32>>| numbers.as_deref().map_or("*".to_owned(), list);
            format!("{} {} {} * * *", list(&self.seconds), open(&self.minutes), open(&self.hours))
        }

        /// All instants of some days around a time, one local time after the other.
        fn instants(&self, zone: Tz, around: DateTime<Utc>) -> BTreeSet<DateTime<Utc>> {
            let is_fixed = self.minutes.is_some() && self.hours.is_some();
            let minutes = self.minutes.clone().unwrap_or_else(|| (0..60).collect());
            let hours = self.hours.clone().unwrap_or_else(|| (0..24).collect());
            let mut found = BTreeSet::new();
            for day in -3..=8 {
                let day = around.with_timezone(&zone).date_naive() + TimeDelta::days(day);
                for (hour, minute, second) in hours.iter().flat_map(|hour| {
                    let seconds = |minute| self.seconds.iter().map(move |second| (*hour, minute, *second));
                    minutes.iter().flat_map(move |minute| seconds(*minute)).collect::<Vec<_>>()
                }) {
                    let mut local = day.and_hms_opt(hour, minute, second).unwrap();
                    match zone.from_local_datetime(&local) {
                        MappedLocalTime::Single(at) => drop(found.insert(at.to_utc())),
                        MappedLocalTime::Ambiguous(first, second) => {
                            found.insert(first.to_utc());
                            found.extend((!is_fixed).then(|| second.to_utc()));
                        }
                        MappedLocalTime::None => {
                            while zone.from_local_datetime(&local) == MappedLocalTime::None {
                                local = local.with_second(0).unwrap() + TimeDelta::minutes(1);
                            }
                            found.insert(zone.from_local_datetime(&local).earliest().unwrap().to_utc());
                        }
                    }
                }
            }
            found
        }
    }

    fn fields() -> impl Strategy<Value = Fields> {
        let some = |end: u32| {
            prop::collection::btree_set(0..end, 1..4).prop_map(|numbers| numbers.into_iter().collect())
        };
        let seconds = prop_oneof![Just(vec![0]), some(60)];
        (seconds, prop::option::of(some(60)), prop::option::of(some(24)))
            .prop_map(|(seconds, minutes, hours)| Fields { seconds, minutes, hours })
    }

    /// Gaps and doubled hours, one of them at midnight, one of half an hour, one of a day; the last is no change.
    const CHANGES: [(&str, &str); 8] = [
        ("Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("Europe/Berlin", "2026-10-25T01:00:00Z"),
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
        ("America/Sao_Paulo", "2018-02-18T02:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("Asia/Kolkata", "2026-01-01T00:00:00Z"),
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// The next instant is always later, and none lies between: looking from any moment before gives the same.
        #[test]
        fn instants_only_grow(
            minute in 0..60u32, hour in 0..24u32, every in 1..30u32, start in 1_700_000_000i64..1_900_000_000, back in 1..7_200i64,
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Tehran"]),
            kind in 0..3,
        ) {
            let text = match kind { 0 => format!("{minute} {hour} * * *"), 1 => format!("*/{every} * * * *"), _ => format!("{minute} */{every} * * 1,4") };
            let (cron, zone) = (text.parse::<Cron>().unwrap(), zone.parse().unwrap());
            let start = DateTime::from_timestamp(start, 0).unwrap();
            let found = next(&cron, zone, start).unwrap();
            prop_assert!(found > start);
            let between: Vec<_> = due(&cron, zone, start - chrono::Duration::seconds(back), found).filter(|at| *at > start).collect();
            prop_assert_eq!(between, [found]);
        }

        /// FL-27: the next instant is the first of all that local times stand for, near changes of clocks and far from them.
        #[test]
        fn the_next_instant_is_the_first_there_is(fields in fields(), change in 0..CHANGES.len(), minutes in -2000..2000i64) {
            let (zone, change) = (CHANGES[change].0.parse().unwrap(), instant(CHANGES[change].1));
            let mut after = change + TimeDelta::minutes(minutes);
            let all = fields.instants(zone, after);
            let cron: Cron = fields.text().parse().unwrap();
            for _ in 0..4 {
                let wanted = all.range((Bound::Excluded(after), Bound::Unbounded)).next().copied();
                prop_assert_eq!(next(&cron, zone, after), wanted, "{} behind {}", cron, after);
                after = wanted.unwrap();
            }
        }
    }
}
