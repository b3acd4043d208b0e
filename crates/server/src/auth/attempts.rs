//! A brake on guessing passwords.

use crate::manage::error::{Code, Problem, Result};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);
/// Failures for one name from one address within the window.
const MAX_FAILURES: u32 = 10;
/// Failures from one address within the window, whatever the names.
const MAX_FAILURES_PER_ADDRESS: u32 = 50;
/// Addresses and names remembered at the most; the oldest windows go first.
const MAX_ENTRIES: usize = 10_000;

/// Failed sign-ins of the last minute.
#[derive(Default)]
pub(crate) struct Attempts {
    failures: Mutex<HashMap<Attempt, (Instant, u32)>>,
}

/// Where from, and as whom; `None` counts every name.
type Attempt = (IpAddr, Option<String>);

impl Attempts {
    /// Refuses when there have been too many failures lately.
    pub(crate) fn check(&self, address: IpAddr, tenant: &str, username: &str) -> Result<()> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = [(Some(name(tenant, username)), MAX_FAILURES), (None, MAX_FAILURES_PER_ADDRESS)];
        for (name, max) in limits {
            let Some((begun, count)) = failures.get(&(address, name)) else { continue };
            let left = WINDOW.saturating_sub(begun.elapsed());
            if *count >= max && !left.is_zero() {
                let detail = format!("too many failed sign-ins; try again in {} s", left.as_secs() + 1);
                return Err(Problem::new(Code::RateLimited, detail).retry_after(left));
            }
        }
        Ok(())
    }

    /// Counts a failure.
    pub(crate) fn failed(&self, address: IpAddr, tenant: &str, username: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= MAX_ENTRIES {
            failures.retain(|_, (begun, _)| begun.elapsed() < WINDOW);
        }
        if failures.len() >= MAX_ENTRIES {
            failures.clear();
        }
        for name in [Some(name(tenant, username)), None] {
            let entry = failures.entry((address, name)).or_insert((Instant::now(), 0));
            if entry.0.elapsed() >= WINDOW {
                *entry = (Instant::now(), 0);
            }
            entry.1 += 1;
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

    #[test]
    fn slows_down_guessing_one_name_or_many() {
        let attempts = Attempts::default();
        let here = IpAddr::from([127, 0, 0, 1]);
        for _ in 0..MAX_FAILURES {
            assert!(attempts.check(here, "acme", "ada").is_ok());
            attempts.failed(here, "acme", "ada");
        }
        assert!(attempts.check(here, "acme", "ada").is_err());
        assert!(attempts.check(here, "acme", "bob").is_ok());
        assert!(attempts.check(IpAddr::from([127, 0, 0, 2]), "acme", "ada").is_ok());
        for n in 0..MAX_FAILURES_PER_ADDRESS {
            attempts.failed(here, "acme", &n.to_string());
        }
        assert!(attempts.check(here, "acme", "bob").is_err());
    }
}
