//! Attempts: how often something is tried, and how long it rests in between.

use fetch::http::header::{HeaderMap, RETRY_AFTER};
use schemars::JsonSchema;
use serde::Deserialize;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tool::{Context, Error, Inspection, Problem, Reason, Result, Span, SpanKind, Trace};

/// When and how often to try again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetrySettings {
    /// How often the API is asked at the most. POST and PATCH are asked once, unless the tool is
    /// `idempotent`.
    #[schemars(range(min = 1, max = 20))]
    pub(crate) max_attempts: u32,
    /// The pause after the first failure, in milliseconds; it doubles with each one. Up to half of a pause is left out, by
    /// chance, so that many callers do not come back together.
    #[schemars(range(min = 0, max = 300_000))]
    pub(crate) initial_delay_ms: u64,
    /// The longest pause that doubling makes, in milliseconds. A service that says when to come back (`Retry-After`) is
    /// waited for as long as it says if the call has so much time, and otherwise not at all.
    #[schemars(range(min = 0, max = 300_000))]
    pub(crate) max_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { max_attempts: 3, initial_delay_ms: 1_000, max_delay_ms: 30_000 }
    }
}

impl RetrySettings {
    /// The pauses, if the first is no longer than the longest.
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) -> Backoff {
        if self.initial_delay_ms > self.max_delay_ms {
            let message = "the first pause, initial_delay_ms, is longer than the longest, max_delay_ms";
            problems.push(Problem::new("retry.initial_delay_ms", "TooLarge", message));
        }
        Backoff {
            initial: Duration::from_millis(self.initial_delay_ms),
            max: Duration::from_millis(self.max_delay_ms),
        }
    }
}

/// Pauses that double with each failure in a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    pub(crate) initial: Duration,
    pub(crate) max: Duration,
}

impl Backoff {
    /// The pause after so many failures; there has been one at least.
    pub(crate) fn after(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.initial.saturating_mul(factor).min(self.max)
    }

    /// The same, half of it by chance, so that many callers do not come back together.
    fn scattered(self, failures: u32) -> Duration {
        let chance = RandomState::new().hash_one(failures) as f64 / u64::MAX as f64;
        self.after(failures).mul_f64(0.5 + chance / 2.0)
    }
}

/// What one call may spend on its attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// When the last attempt must have ended.
    pub(crate) deadline: Instant,
    /// How long one attempt may take.
    pub(crate) attempt: Duration,
    /// How many there may be.
    pub(crate) attempts: u32,
    pub(crate) backoff: Backoff,
}

/// Why an attempt failed, and whether the service said when to come back.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) retry_after: Option<Duration>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, retry_after: None }
    }
}

impl Budget {
    /// Tries until an attempt succeeds, fails for good, or nothing is left to spend.
    pub(crate) async fn run<T, F>(&self, attempt: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.run_each(&Inspection::default(), None, |_| attempt()).await
    }

    /// The same, where somebody may look at each attempt, which gets its place in the call's trace.
    pub(crate) async fn run_seen<T, F>(
        &self,
        cx: &Context,
        attempt: impl Fn(Option<Arc<Trace>>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.run_each(&cx.inspection, cx.trace.as_ref(), attempt).await
    }

    /// The same, where each attempt is looked at in the trace alone.
    pub(crate) async fn run_traced<T, F>(
        &self,
        around: Option<&Arc<Trace>>,
        attempt: impl Fn(Option<Arc<Trace>>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.run_each(&Inspection::default(), around, attempt).await
    }

    async fn run_each<T, F>(
        &self,
        inspection: &Inspection,
        around: Option<&Arc<Trace>>,
        attempt: impl Fn(Option<Arc<Trace>>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut watch = inspection.watch();
        let mut number = 1;
        loop {
            let time = self.remaining().min(self.attempt);
            let mut span = Span::below(around, SpanKind::Client, || format!("attempt {number}"));
            let place = span.trace().or(around).cloned();
            let failure = match tokio::time::timeout(time, attempt(place)).await {
                Ok(Ok(output)) => {
                    watch.attempt(None);
                    return Ok(output);
                }
                Ok(Err(failure)) => failure,
                Err(_) => timed_out(time, number).because(Reason::AttemptTimedOut).into(),
            };
            watch.attempt(Some(&failure.error));
            span.note("http.response.status_code", failure.error.status());
            span.fail(&failure.error);
            drop(span);
            let error = match number {
                1 => failure.error,
                _ => failure.error.with("attempts", number),
            };
            let left = self.attempts.saturating_sub(number);
            // An attempt without any time would be made all the same, and nobody would wait for its answer.
            if left == 0 || !error.is_retryable() || self.remaining().is_zero() {
                return Err(error);
            }
            let Some(pause) = self.pause(number, left, failure.retry_after) else { return Err(error) };
            tracing::debug!(attempt = number, ?pause, "an attempt failed, trying again");
            tokio::time::sleep(pause).await;
            watch.restart();
            number += 1;
        }
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The pause before the next attempt, or nothing when the service wants more time than there is.
    fn pause(&self, failed: u32, left: u32, retry_after: Option<Duration>) -> Option<Duration> {
        let remaining = self.remaining();
        match retry_after {
            Some(wanted) => Some(wanted).filter(|wanted| *wanted < remaining),
            // The attempts that are left must fit into the time that is left.
            None => Some(self.backoff.scattered(failed).min(remaining / (left + 1))),
        }
    }
}

/// The service was too slow.
pub(crate) fn timed_out(time: Duration, attempts: u32) -> Error {
    // What is left of 500 ms a moment later is still 500 ms to whoever reads it.
    let ms = time.as_micros().div_ceil(1000);
    let tried = if attempts > 1 { format!(", {attempts} times") } else { String::new() };
    Error::timeout(format!("the service did not answer within {ms} ms{tried}")).retryable().in_doubt()
}

/// How long to wait, told in seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    // More than any number has room for is long, not nothing.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::MAX);
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fetch::http::HeaderValue;

    #[test]
    fn doubles_the_pause_up_to_the_longest() {
        let (initial, max) = (Duration::from_millis(100), Duration::from_secs(30));
        let backoff = Backoff { initial, max };
        let after = [0, 1, 2, 3, 10, 33, u32::MAX].map(|failures| backoff.after(failures).as_millis());
        assert_eq!(after, [100, 100, 200, 400, 30_000, 30_000, 30_000]);
        for failures in 1..50 {
            let (whole, scattered) = (backoff.after(failures), backoff.scattered(failures));
            assert!(whole / 2 <= scattered && scattered <= whole, "{scattered:?} of {whole:?}");
        }
    }

    #[tokio::test]
    async fn the_end_of_the_time_is_the_end_of_the_attempts() {
        let backoff = Backoff { initial: Duration::ZERO, max: Duration::ZERO };
        for attempt in [Duration::MAX, Duration::from_secs(60), Duration::from_millis(50)] {
            let made = std::cell::Cell::new(0);
            let deadline = Instant::now() + Duration::from_millis(50);
            let budget = Budget { deadline, attempt, attempts: 3, backoff };
            let ended = budget.run(|| async {
                made.set(made.get() + 1);
                std::future::pending::<Result<(), Failure>>().await
            });
            assert_eq!(ended.await.unwrap_err().kind(), tool::ErrorKind::Timeout);
            assert_eq!(made.get(), 1, "{attempt:?}");
        }
    }

    #[test]
    fn reads_when_to_come_back() {
        for (text, expected) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            // Too long for a number, and not for a pause.
            ("99999999999999999999", Some(u64::MAX)),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            assert_eq!(retry_after(&headers).map(|time| time.as_secs()), expected, "{text}");
        }
    }
}
