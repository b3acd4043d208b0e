//! A circuit breaker: a service that fails again and again is left alone for a while.

use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tool::{Error, ErrorKind, Reason, Result};

/// When a failing service is left alone, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BreakerSettings {
    /// So many calls in a row that find the service down or too slow; 0 never leaves it alone.
    #[schemars(range(min = 0, max = 10_000))]
    pub(crate) failures: u32,
    /// How long it is left alone before one call tries again, in milliseconds.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(crate) open_ms: u64,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 10, open_ms: 10_000 }
    }
}

/// Counts failures in a row. Closed, it lets every call through; open, none; when the pause is
/// over, one call tries whether the service is back, and the others still wait.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// Zero for one that never opens.
    max_failures: u32,
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// Set while the breaker is open.
    open_until: Option<Instant>,
    is_probing: bool,
}

/// The right to make one call; whoever holds it says how the call went.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    breaker: &'a Breaker,
    is_probe: bool,
}

/// Who set the time that a call ran out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeSetBy {
    /// The caller, so that running out of it says nothing about the service.
    Caller,
    Service,
}

impl From<BreakerSettings> for Breaker {
    fn from(BreakerSettings { failures, open_ms }: BreakerSettings) -> Self {
        Self::new(failures, Duration::from_millis(open_ms))
    }
}

impl Breaker {
    pub(crate) fn new(max_failures: u32, pause: Duration) -> Self {
        Self { max_failures, pause, state: Mutex::default() }
    }

    /// Lets a call through.
    ///
    /// # Errors
    /// `CircuitOpen` while the service is left alone.
    pub(crate) fn admit(&self) -> Result<Pass<'_>> {
        let mut state = self.state();
        let Some(until) = state.open_until else { return Ok(Pass { breaker: self, is_probe: false }) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() && !state.is_probing {
            state.is_probing = true;
            return Ok(Pass { breaker: self, is_probe: true });
        }
        Err(refusal(state.failures, left))
    }

    /// What the next call would meet, without making it.
    pub(crate) fn refusal(&self) -> Option<Error> {
        let state = self.state();
        let left = state.open_until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| refusal(state.failures, left))
    }

    /// Says so while the service is left alone.
    pub(crate) fn trouble(&self) -> Option<String> {
        let state = self.state();
        let failures = state.failures;
        state.open_until.map(|_| format!("the service failed {failures} times in a row and is left alone"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(failures: u32, left: Duration) -> Error {
    let message = if left.is_zero() {
        format!("the service failed {failures} times in a row; another call is trying whether it is back")
    } else {
        let seconds = left.as_secs_f64().ceil();
        format!("the service failed {failures} times in a row and is left alone for {seconds} more seconds")
    };
    Error::circuit_open(message).with_retry_after(left).retryable()
}

impl Pass<'_> {
    /// Counts how the call went. What the caller caused says nothing about the service.
    pub(crate) fn judge<T>(self, result: &Result<T>, time: TimeSetBy) {
        let Err(error) = result else { return self.succeeded() };
        match error.kind() {
            ErrorKind::Unavailable => self.failed(),
            // One that ran out while it waited for its turn says nothing either.
            ErrorKind::Timeout
                if time == TimeSetBy::Service && error.reason() == Some(Reason::AttemptTimedOut) =>
            {
                self.failed()
            }
            ErrorKind::Upstream if matches!(error.status(), Some(502..=504)) => self.failed(),
            ErrorKind::Upstream => self.succeeded(),
            _ => drop(self),
        }
    }

    /// The service answered, well or not: it is there.
    pub(crate) fn succeeded(self) {
        *self.breaker.state() = State::default();
    }

    /// The service was not there, or not able.
    pub(crate) fn failed(self) {
        let breaker = self.breaker;
        let mut state = breaker.state();
        state.failures = state.failures.saturating_add(1);
        let is_enough = breaker.max_failures > 0 && state.failures >= breaker.max_failures;
        // Calls that began before it opened must not make the pause longer.
        if self.is_probe || (is_enough && state.open_until.is_none()) {
            state.open_until = Some(Instant::now() + breaker.pause);
        }
    }
}

impl Drop for Pass<'_> {
    /// A probe that ended without a verdict leaves its place to the next.
    fn drop(&mut self) {
        if self.is_probe {
            self.breaker.state().is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(40);

    #[test]
    fn opens_after_failures_in_a_row_and_closes_after_a_good_probe() {
        let breaker = Breaker::new(2, PAUSE);
        breaker.admit().unwrap().failed();
        breaker.admit().unwrap().succeeded();
        breaker.admit().unwrap().failed();
        breaker.admit().unwrap().failed();
        let error = breaker.admit().unwrap_err();
        assert_eq!(error.kind(), tool::ErrorKind::CircuitOpen);
        assert!(breaker.refusal().is_some_and(|told| told.message() == error.message()));
        assert!(error.is_retryable() && error.message().contains("failed 2 times in a row"), "{error}");
        std::thread::sleep(PAUSE);
        assert!(breaker.refusal().is_none(), "the next call may try");
        let probe = breaker.admit().unwrap();
        assert!(breaker.admit().is_err(), "one probe at a time");
        probe.failed();
        assert!(breaker.admit().is_err(), "a failed probe opens it again");
        std::thread::sleep(PAUSE);
        drop(breaker.admit().unwrap());
        breaker.admit().unwrap().succeeded();
        breaker.admit().unwrap();
        breaker.admit().unwrap();
    }

    #[test]
    fn never_opens_when_it_is_turned_off() {
        let breaker = Breaker::new(0, PAUSE);
        for _ in 0..100 {
            breaker.admit().unwrap().failed();
        }
        breaker.admit().unwrap();
    }
}
