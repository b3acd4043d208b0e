//! What values of the types `datetime` and `time` look like: as the functions of expressions read and write them.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use tool::schema::Format;

/// Formats that mean more here than in JSON Schema, where both have a zone.
pub(super) const FORMATS: [Format; 2] = [("date-time", is_date_time), ("time", is_time)];

fn is_date_time(text: &str) -> bool {
    date_time(text).is_some()
}

/// RFC 3339, or the same without a zone, which is UTC: as expressions read it.
fn date_time(text: &str) -> Option<DateTime<Utc>> {
    let without_zone = |pattern: &str| NaiveDateTime::parse_from_str(text, pattern).ok();
    let with_zone = DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
    with_zone.or_else(|| {
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
            .into_iter()
            .find_map(without_zone)
            .map(|time| time.and_utc())
    })
}

/// When that is; a day begins at midnight.
pub(super) fn instant(text: &str) -> Option<DateTime<Utc>> {
    let day =
        || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0).map(|time| time.and_utc());
    date_time(text).or_else(day)
}

/// `10:30` or `10:30:00.5`, with or without a zone.
fn is_time(text: &str) -> bool {
    let without_zone = |pattern: &&str| NaiveTime::parse_from_str(text, pattern).is_ok();
    ["%H:%M:%S%.f", "%H:%M"].iter().any(without_zone)
        || DateTime::parse_from_rfc3339(&format!("2000-01-01T{text}")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_with_and_without_a_zone() {
        for text in [
            "2026-07-28T10:00:00Z",
            "2026-07-28T10:00:00.5+02:00",
            "2026-07-28 10:00:00",
            "2026-07-28T10:00:00",
        ] {
            assert!(is_date_time(text), "{text}");
        }
        for text in ["2026-07-28", "2026-02-30T10:00:00Z", "tomorrow", "", "10:00:00"] {
            assert!(!is_date_time(text), "{text}");
        }
        for text in ["10:30", "10:30:00", "10:30:00.25", "10:30:00Z", "10:30:00+02:00"] {
            assert!(is_time(text), "{text}");
        }
        for text in ["25:00", "10:61:00", "noon", "", "2026-07-28T10:00:00Z"] {
            assert!(!is_time(text), "{text}");
        }
    }
}
