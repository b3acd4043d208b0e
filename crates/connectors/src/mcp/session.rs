//! One connection while it lasts, and who is using it.

use mcp::client::{Client, Diagnosis};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    pub(super) usage: watch::Sender<()>,
    calls: AtomicUsize,
    /// Fires when it is not to be used any more.
    pub(super) retired: CancellationToken,
}

impl Session {
    pub(super) fn new(client: Client, diagnosis: Arc<Diagnosis>) -> Self {
        Self {
            client,
            diagnosis,
            began: Instant::now(),
            usage: watch::Sender::new(()),
            calls: AtomicUsize::new(0),
            retired: CancellationToken::new(),
        }
    }

    /// Calls are under way.
    pub(super) fn is_used(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    /// Calls that were sent before may still be answered.
    pub(super) async fn wait_until_unused(&self) {
        let mut usage = self.usage.subscribe();
        let unused = async { while self.is_used() && usage.changed().await.is_ok() {} };
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
        session.calls.fetch_add(1, Ordering::Relaxed);
        Self(session)
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
        self.0.usage.send_replace(());
    }
}
