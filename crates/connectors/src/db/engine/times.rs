//! Dates and times as RFC 3339 writes them.

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat};

/// The first day of PostgreSQL's calendar.
fn epoch_2000() -> NaiveDate {
    NaiveDate::from_ymd_opt(2000, 1, 1).unwrap_or_default()
}

/// So many days after 2000-01-01.
pub(super) fn date_2000(days: i32) -> String {
    match days {
        i32::MAX => return "infinity".to_owned(),
        i32::MIN => return "-infinity".to_owned(),
        _ => {}
    }
    let (day, era) = calendar(days.into());
    day + era
}

/// So many days after 2000-01-01 as PostgreSQL reads the day again, also before the first year and behind the 9999th. Its
/// calendar is longer than ours, and begins anew every 400 years.
fn calendar(days: i64) -> (String, &'static str) {
    const YEARS: i64 = 400;
    const DAYS: i64 = 146_097;
    let date = epoch_2000() + Duration::days(days.rem_euclid(DAYS));
    let year = i64::from(date.year()) + days.div_euclid(DAYS) * YEARS;
    let (year, era) = if year < 1 { (1 - year, " BC") } else { (year, "") };
    (format!("{year:04}-{:02}-{:02}", date.month(), date.day()), era)
}

/// So many microseconds after midnight.
pub(super) fn time_of_day(micros: i64) -> String {
    let seconds = u32::try_from(micros.div_euclid(1_000_000)).unwrap_or(u32::MAX);
    let nanos = u32::try_from(micros.rem_euclid(1_000_000)).unwrap_or_default() * 1000;
    match NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos) {
        Some(time) => time.format("%H:%M:%S%.f").to_string(),
        // PostgreSQL knows the end of a day as a time of its own.
        None => "24:00:00".to_owned(),
    }
}

/// So many microseconds after the beginning of 2000, in UTC.
pub(super) fn instant_2000(micros: i64) -> String {
    match micros {
        i64::MAX => return "infinity".to_owned(),
        i64::MIN => return "-infinity".to_owned(),
        _ => {}
    }
    const DAY: i64 = 86_400_000_000;
    let (days, time) = (micros.div_euclid(DAY), Duration::microseconds(micros.rem_euclid(DAY)));
    let (day, era) = calendar(days);
    // In the years of RFC 3339 it is written as that is.
    match epoch_2000()
        .checked_add_signed(Duration::days(days))
        .filter(|date| (1..=9999).contains(&date.year()))
    {
        Some(date) => rfc3339(date.and_time(NaiveTime::MIN) + time),
        None => format!("{day}T{}Z{era}", (NaiveTime::MIN + time).format("%H:%M:%S%.f")),
    }
}

/// A moment in UTC.
pub(super) fn rfc3339(moment: NaiveDateTime) -> String {
    moment.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// A moment that a caller wrote, as MySQL reads it: in UTC, without a zone.
pub(in crate::db) fn to_mysql(text: &str) -> Option<String> {
    let moment = DateTime::parse_from_rfc3339(text).ok()?;
    Some(moment.naive_utc().format("%Y-%m-%d %H:%M:%S%.6f").to_string())
}

/// A duration as ISO 8601 writes it, from PostgreSQL's three parts.
pub(super) fn interval(months: i32, days: i32, micros: i64) -> String {
    let (years, months) = (months / 12, months % 12);
    let (hours, rest) = (micros / 3_600_000_000, micros % 3_600_000_000);
    let (minutes, rest) = (rest / 60_000_000, rest % 60_000_000);
    let mut text = String::from("P");
    for (number, unit) in [(years, 'Y'), (months, 'M'), (days, 'D')] {
        if number != 0 {
            text.push_str(&format!("{number}{unit}"));
        }
    }
    if micros != 0 {
        text.push('T');
    }
    for (number, unit) in [(hours, 'H'), (minutes, 'M')] {
        if number != 0 {
            text.push_str(&format!("{number}{unit}"));
        }
    }
    if rest != 0 {
        let sign = if rest < 0 { "-" } else { "" };
        let seconds = format!("{}.{:06}", rest.abs() / 1_000_000, rest.abs() % 1_000_000);
        text.push_str(&format!("{sign}{}S", seconds.trim_end_matches('0').trim_end_matches('.')));
    }
    if text == "P" { "PT0S".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_moments_as_rfc_3339() {
        assert_eq!(date_2000(-1), "1999-12-31");
        assert_eq!(date_2000(i32::MAX), "infinity");
        assert_eq!(date_2000(-746_117), "0044-03-15 BC");
        assert_eq!(date_2000(2_145_031_948), "5874897-12-31");
        assert_eq!(instant_2000(9_223_371_331_199_000_000), "294276-12-31T23:59:59Z");
        assert_eq!(instant_2000(-63_082_281_600_000_001), "0001-12-31T23:59:59.999999Z BC");
        assert_eq!(instant_2000(1), "2000-01-01T00:00:00.000001Z");
        assert_eq!(instant_2000(0), "2000-01-01T00:00:00Z");
        assert_eq!(time_of_day(3_661_500_000), "01:01:01.500");
        assert_eq!(time_of_day(86_400_000_000), "24:00:00");
        assert_eq!(interval(14, 3, 4_500_000), "P1Y2M3DT4.5S");
        assert_eq!(interval(0, 0, -3_600_000_000), "PT-1H");
        assert_eq!(interval(0, 0, 0), "PT0S");
    }

    #[test]
    fn reads_moments_for_mysql() {
        let text = "2024-05-06T07:08:09.5+02:00";
        assert_eq!(to_mysql(text).as_deref(), Some("2024-05-06 05:08:09.500000"));
        assert_eq!(to_mysql("2024-05-06"), None);
    }
}
