//! Rate and concurrency limits, counted without locks.

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tool::{Error, Limits, Result};

/// After so long without a call, a limiter holds nothing that a new one would not.
const FORGETS_AFTER: Duration = Duration::from_secs(60);

/// The limits of one tenant or key, in use.
#[derive(Debug)]
pub struct Limiter {
    limits: Limits,
    made: Instant,
    /// Milliseconds between its making and its last use.
    last_use_ms: AtomicU64,
    rate: Option<DefaultDirectRateLimiter>,
    concurrency: Option<Arc<Semaphore>>,
}

/// Nothing may be called. Nobody can set this any more; where it is stored, it is no way around a limit.
fn is_none_at_all(limits: Limits) -> bool {
    limits.calls_per_minute == Some(0) || limits.concurrent_calls == Some(0)
}

/// Lets a call go on; its place is free again when this is dropped.
#[derive(Debug, Default)]
pub struct Permit {
    places: [Option<OwnedSemaphorePermit>; 2],
}

impl Permit {
    pub(super) fn add(&mut self, place: Option<OwnedSemaphorePermit>) {
        if let Some(free) = self.places.iter_mut().find(|place| place.is_none()) {
            *free = place;
        }
    }
}

impl Limiter {
    /// A limiter, or none where nothing is limited.
    #[must_use]
    pub fn new(limits: Limits) -> Option<Self> {
        let rate = limits.calls_per_minute.and_then(NonZeroU32::new);
        let concurrency = limits.concurrent_calls.filter(|&count| count > 0);
        if rate.is_none() && concurrency.is_none() && !is_none_at_all(limits) {
            return None;
        }
        Some(Self {
            limits,
            made: Instant::now(),
            last_use_ms: AtomicU64::new(0),
            rate: rate.map(|count| RateLimiter::direct(Quota::per_minute(count))),
            concurrency: concurrency.map(|count| Arc::new(Semaphore::new(count as usize))),
        })
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Nobody has a place, and the last call was so long ago that it does not count any more.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let last_use = self.made + Duration::from_millis(self.last_use_ms.load(Ordering::Relaxed));
        let places = self.limits.concurrent_calls.unwrap_or_default() as usize;
        let is_free = self.concurrency.as_ref().is_none_or(|free| free.available_permits() == places);
        is_free && now.duration_since(last_use) > FORGETS_AFTER
    }

    /// Takes a place, or says when to come back. `whose` names the holder of the limit.
    pub(super) fn admit(&self, whose: &str) -> Result<Option<OwnedSemaphorePermit>> {
        let place = match &self.concurrency {
            None => None,
            Some(places) => Some(places.clone().try_acquire_owned().map_err(|_| {
                let count = self.limits.concurrent_calls.unwrap_or_default();
                Error::rate_limited(format!(
                    "{whose} may have {count} calls under way at once; wait for one to end"
                ))
                .with_retry_after(Duration::from_secs(1))
                .retryable()
            })?),
        };
        self.count(whose)?;
        Ok(place)
    }

    /// Counts a call that needs no place of its own, or says when to come back.
    pub(super) fn count(&self, whose: &str) -> Result<()> {
        let age_ms = self.made.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        self.last_use_ms.store(age_ms, Ordering::Relaxed);
        if is_none_at_all(self.limits) {
            let message =
                format!("{whose} may make no calls: a limit of it is 0; set another, or leave it out");
            return Err(Error::denied(message));
        }
        if let Some(rate) = &self.rate {
            rate.check().map_err(|until| {
                let count = self.limits.calls_per_minute.unwrap_or_default();
                let wait = until.wait_time_from(DefaultClock::default().now()).max(Duration::from_millis(1));
                let ms = wait.as_millis();
                Error::rate_limited(format!("{whose} may make {count} calls a minute; try again in {ms} ms"))
                    .with_retry_after(wait)
                    .retryable()
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_concurrency_until_a_permit_is_dropped() {
        let limiter = Limiter::new(Limits { concurrent_calls: Some(1), calls_per_minute: None }).unwrap();
        let first = limiter.admit("k").unwrap();
        assert!(limiter.admit("k").unwrap_err().to_string().contains("1 calls under way"));
        drop(first);
        assert!(limiter.admit("k").is_ok());
    }

    #[test]
    fn limits_the_rate_and_says_when_to_come_back() {
        let limiter = Limiter::new(Limits { concurrent_calls: None, calls_per_minute: Some(2) }).unwrap();
        assert!(limiter.admit("k").is_ok() && limiter.admit("k").is_ok());
        let error = limiter.admit("k").unwrap_err();
        assert!(error.is_retryable() && error.retry_after().is_some());
    }

    #[test]
    fn is_idle_when_nothing_it_knows_counts_any_more() {
        let limiter = Limiter::new(Limits { concurrent_calls: Some(2), calls_per_minute: Some(2) }).unwrap();
        let place = limiter.admit("k").unwrap();
        let later = Instant::now() + 2 * FORGETS_AFTER;
        assert!(!limiter.is_idle(later));
        drop(place);
        assert!(limiter.is_idle(later));
        assert!(!limiter.is_idle(Instant::now()));
    }

    /// A limit of 0 is none that is missing.
    #[test]
    fn lets_nobody_in_whose_limit_is_0() {
        for limits in [
            Limits { concurrent_calls: Some(0), calls_per_minute: None },
            Limits { concurrent_calls: None, calls_per_minute: Some(0) },
            Limits { concurrent_calls: Some(5), calls_per_minute: Some(0) },
        ] {
            let limiter = Limiter::new(limits).unwrap();
            assert!(limiter.admit("k").unwrap_err().to_string().contains("a limit of it is 0"));
            assert!(limiter.count("k").is_err());
        }
    }

    #[test]
    fn has_nothing_to_do_without_limits() {
        assert!(Limiter::new(Limits::default()).is_none());
    }
}
