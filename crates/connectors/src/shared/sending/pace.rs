//! A rate that is spread evenly, and not used up at the beginning of each minute.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// Lets one through after the other, each some time after the one before, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Pace {
    interval: Duration,
    /// Held by whoever is next. Those who give up leave no gap.
    turn: Semaphore,
    next: Mutex<Instant>,
}

impl Pace {
    pub(crate) fn per_minute(rate: u32) -> Self {
        let interval = Duration::from_secs(60) / rate.max(1);
        Self { interval, turn: Semaphore::new(1), next: Mutex::new(Instant::now()) }
    }

    /// Waits until it is the caller's turn.
    pub(crate) async fn wait(&self) {
        // Nobody closes it.
        let _turn = self.turn.acquire().await;
        let next = *self.next.lock().unwrap_or_else(PoisonError::into_inner);
        sleep_until(next).await;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn spreads_a_rate_evenly_and_forgets_those_who_give_up() {
        let pace = Pace::per_minute(300);
        let begin = Instant::now();
        pace.wait().await;
        assert!(begin.elapsed() < Duration::from_millis(150));
        for _ in 0..20 {
            let given_up = tokio::time::timeout(Duration::from_millis(1), pace.wait()).await;
            assert!(given_up.is_err() || begin.elapsed() >= Duration::from_millis(200));
        }
        pace.wait().await;
        pace.wait().await;
        let took = begin.elapsed();
        // Twenty who gave up would have taken four seconds.
        assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(3), "{took:?}");
    }
}
