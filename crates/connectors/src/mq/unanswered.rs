//! Questions that got no answer, after which a connection that calls share is tried before it is used again: the way may be
//! dead, and nobody would be told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool::{ErrorKind, Result};

/// The longest that a connection may take to show that it is alive.
const LONGEST: Duration = Duration::from_secs(2);

/// Whether a question is without an answer since the connection was last seen alive.
#[derive(Debug, Default)]
pub(super) struct Unanswered(AtomicBool);

impl Unanswered {
    /// Runs work over the connection; one that is dropped before its end, or whose answer never came, counts.
    pub(super) async fn watch<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut watch = Watch { unanswered: self, is_over: false };
        let result = work.await;
        let is_lost = |kind| matches!(kind, ErrorKind::Timeout | ErrorKind::Unavailable);
        watch.is_over = !result.as_ref().is_err_and(|error| is_lost(error.kind()));
        result
    }

    /// Whether the connection can be used: it is asked where something was not answered.
    pub(super) async fn is_alive(&self, timeout: Duration, probe: impl Future<Output = bool>) -> bool {
        if !self.0.load(Ordering::Relaxed) {
            return true;
        }
        let time = (timeout / 4).min(LONGEST);
        let is_alive = tokio::time::timeout(time, probe).await.unwrap_or(false);
        // One that is dead gives way to another.
        self.0.store(false, Ordering::Relaxed);
        is_alive
    }
}

struct Watch<'a> {
    unanswered: &'a Unanswered,
    is_over: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.unanswered.0.store(true, Ordering::Relaxed);
        }
    }
}
