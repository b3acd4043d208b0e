//! Times: milliseconds inside, RFC 3339 in UTC outside.

use crate::error::{Problem, Result};
use chrono::{DateTime, SecondsFormat};

/// Milliseconds since 1970 as RFC 3339.
pub(crate) fn show(ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(ms).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// RFC 3339 as milliseconds since 1970; `field` is named when it is something else.
pub(super) fn parse(field: &str, text: &str) -> Result<i64> {
    DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis()).map_err(|_| {
        Problem::invalid_field(field, format!("'{field}' must be a time like 2026-01-31T12:00:00Z"))
    })
}
