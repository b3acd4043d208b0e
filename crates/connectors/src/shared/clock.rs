//! Clocks of others, which signatures depend on.

use fetch::http::HeaderMap;
use fetch::http::header::DATE;
use std::time::{Duration, SystemTime};

/// Further apart than that, clocks are wrong and not just late.
const MAX_SKEW: Duration = Duration::from_secs(10 * 60);

/// How far the clock of whoever answered is from ours, where that is too far.
pub(crate) fn skew(headers: &HeaderMap) -> Option<Duration> {
    let theirs = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    let ours = SystemTime::now();
    let skew = ours.duration_since(theirs).or_else(|_| theirs.duration_since(ours)).ok()?;
    (skew > MAX_SKEW).then_some(skew)
}
