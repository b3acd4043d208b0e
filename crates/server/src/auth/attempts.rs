//! A brake on guessing passwords.

use crate::connections::neighbourhood;
use crate::error::{Code, Problem, Result};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);
/// Failures for one name from one address within the window.
const MAX_FAILURES: u32 = 10;
/// Failures from one address within the window, whatever the names.
const MAX_FAILURES_PER_ADDRESS: u32 = 50;
/// Addresses and names remembered at the most; those without a guess under way go first.
const MAX_ENTRIES: usize = 10_000;
/// When guesses under way are what stands in the way.
const MOMENT: Duration = Duration::from_secs(1);

/// Sign-ins that failed in the last minute or have not ended yet.
#[derive(Default)]
pub(crate) struct Attempts {
    counts: Mutex<HashMap<Attempt, Count>>,
}

/// Where from, and as whom; `None` counts every name.
type Attempt = (IpAddr, Option<String>);

struct Count {
    begun: Instant,
    failed: u32,
    under_way: u32,
}

impl Attempts {
    /// Takes one of the guesses that are left; refuses when there have been too many lately. A guess counts from
    /// here on, not when the password has been checked: many at once would all find the count as it was.
    pub(crate) fn reserve(&self, address: IpAddr, tenant: &str, username: &str) -> Result<Guess<'_>> {
        let address = neighbourhood(address);
        let attempts = [(address, Some(name(tenant, username))), (address, None)];
        let mut counts = self.counts();
        for (attempt, max) in attempts.iter().zip([MAX_FAILURES, MAX_FAILURES_PER_ADDRESS]) {
            let Some(wait) = counts.get(attempt).and_then(|count| count.wait(max)) else { continue };
            let detail = format!("too many failed sign-ins; try again in {} s", wait.as_secs() + 1);
            return Err(Problem::new(Code::RateLimited, detail).retry_after(wait));
        }
        if counts.len() >= MAX_ENTRIES {
            counts.retain(|_, count| count.under_way > 0 || count.begun.elapsed() < WINDOW);
        }
        if counts.len() >= MAX_ENTRIES {
            counts.retain(|_, count| count.under_way > 0);
        }
        for attempt in &attempts {
            let new = Count { begun: Instant::now(), failed: 0, under_way: 0 };
            let count = counts.entry(attempt.clone()).or_insert(new);
            if count.begun.elapsed() >= WINDOW {
                (count.begun, count.failed) = (Instant::now(), 0);
            }
            count.under_way += 1;
        }
        Ok(Guess { of: self, attempts, has_failed: true })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Attempt, Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Count {
    /// How long to wait, if this was too often.
    fn wait(&self, max: u32) -> Option<Duration> {
        let left = WINDOW.saturating_sub(self.begun.elapsed());
        let failed = if left.is_zero() { 0 } else { self.failed };
        match failed {
            failed if failed >= max => Some(left),
            failed if failed + self.under_way >= max => Some(MOMENT),
            _ => None,
        }
    }
}

/// A guess under way. It counts as a failure unless it is excused, also when nobody waits for it any more.
pub(crate) struct Guess<'a> {
    of: &'a Attempts,
    attempts: [Attempt; 2],
    has_failed: bool,
}

impl Guess<'_> {
    /// Counts as none: the password was right, or was not looked at.
    pub(crate) fn excuse(mut self) {
        self.has_failed = false;
    }
}

impl Drop for Guess<'_> {
    fn drop(&mut self) {
        let mut counts = self.of.counts();
        for attempt in &self.attempts {
            let Some(count) = counts.get_mut(attempt) else { continue };
            count.under_way = count.under_way.saturating_sub(1);
            count.failed += u32::from(self.has_failed);
        }
    }
}

fn name(tenant: &str, username: &str) -> String {
    let short = |text: &str| text.chars().take(128).collect::<String>();
    format!("{}/{}", short(tenant), short(username))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn slows_down_guessing_one_name_or_many() {
        let attempts = Attempts::default();
        for _ in 0..MAX_FAILURES {
            drop(attempts.reserve(HERE, "acme", "ada").unwrap());
        }
        assert!(attempts.reserve(HERE, "acme", "ada").is_err());
        attempts.reserve(HERE, "acme", "bob").unwrap().excuse();
        attempts.reserve(IpAddr::from([127, 0, 0, 2]), "acme", "ada").unwrap().excuse();
        for n in MAX_FAILURES..MAX_FAILURES_PER_ADDRESS {
            drop(attempts.reserve(HERE, "acme", &n.to_string()).unwrap());
        }
        assert!(attempts.reserve(HERE, "acme", "bob").is_err());
    }

    #[test]
    fn counts_guesses_that_have_not_ended() {
        let attempts = Attempts::default();
        let under_way: Vec<_> =
            (0..MAX_FAILURES).map(|_| attempts.reserve(HERE, "acme", "ada").unwrap()).collect();
        assert!(attempts.reserve(HERE, "acme", "ada").is_err());
        under_way.into_iter().for_each(Guess::excuse);
        attempts.reserve(HERE, "acme", "ada").unwrap().excuse();
    }
}
