//! One connection while it lasts, and who is using it.

use mcp::client::{Client, Diagnosis};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long a connection that is not used for new calls waits for the answers to old ones.
const LAST_CALLS: Duration = Duration::from_secs(60);

/// A connection that is up, or was.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) diagnosis: Arc<Diagnosis>,
    pub(super) began: Instant,
    calls: AtomicUsize,
    /// When the last call ended, in milliseconds since the connection began.
    last_used_ms: AtomicU64,
    /// Ticks when a call ends; only once nobody begins another.
    ended: watch::Sender<()>,
    /// Fires when it is not to be used any more.
    pub(super) retired: CancellationToken,
}

impl Session {
    pub(super) fn new(client: Client, diagnosis: Arc<Diagnosis>) -> Self {
        Self {
            client,
            diagnosis,
            began: Instant::now(),
            calls: AtomicUsize::new(0),
            last_used_ms: AtomicU64::new(0),
            ended: watch::Sender::new(()),
            retired: CancellationToken::new(),
        }
    }

    /// New calls may be sent over it.
    pub(super) fn is_usable(&self) -> bool {
        !self.client.closed().is_cancelled() && !self.retired.is_cancelled()
    }

    /// Calls are under way.
    pub(super) fn is_used(&self) -> bool {
        self.calls.load(Ordering::SeqCst) > 0
    }

    /// How long nobody has used it.
    pub(super) fn idle_time(&self) -> Duration {
        let last_used = Duration::from_millis(self.last_used_ms.load(Ordering::Relaxed));
        if self.is_used() { Duration::ZERO } else { self.began.elapsed().saturating_sub(last_used) }
    }

    /// Calls that were sent before may still be answered.
    pub(super) async fn wait_until_unused(&self) {
        let mut ended = self.ended.subscribe();
        let unused = async { while self.is_used() && ended.changed().await.is_ok() {} };
        tokio::select! {
            () = unused => {}
            () = self.client.closed().cancelled() => {}
            () = tokio::time::sleep(LAST_CALLS) => {}
        }
    }
}

/// One use of a session, so that it does not count as idle.
pub(super) struct Use<'a>(&'a Session);

impl<'a> Use<'a> {
    pub(super) fn begin(session: &'a Session) -> Self {
        session.calls.fetch_add(1, Ordering::SeqCst);
        Self(session)
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        let session = self.0;
        let now_ms = session.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        session.last_used_ms.store(now_ms, Ordering::Relaxed);
        session.calls.fetch_sub(1, Ordering::SeqCst);
        // Waking somebody for each call would cost more than the call.
        if session.retired.is_cancelled() {
            session.ended.send_replace(());
        }
    }
}
