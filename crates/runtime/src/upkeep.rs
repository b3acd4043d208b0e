//! Upkeep: what nobody needs any more is deleted now and then, by one process at a time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::Store;
use store::runs::Retention;
use tokio_util::sync::CancellationToken;

/// The first time comes soon, so that a process that never runs for long does its part, too.
const FIRST: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// How long the work stays with a process that no longer says anything.
const LEASE: Duration = Duration::from_secs(60);

/// How long runs are kept that have ended.
const RUNS: Retention = Retention {
    succeeded: Duration::from_secs(7 * 24 * 60 * 60),
    failed: Duration::from_secs(30 * 24 * 60 * 60),
};

/// Deletes audit records older than `retention`, if there is such, runs and leases that ended long ago, conversations whose
/// time is over, and messages that nobody came for, until cancelled.
pub async fn upkeep(store: Store, retention: Option<Duration>, cancel: CancellationToken) {
    let mut pause = FIRST;
    while cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        pause = PAUSE;
        let work = store.leases().run("upkeep", LEASE, |_| clean(&store, retention));
        match cancel.run_until_cancelled(work).await {
            Some(Ok(None | Some(Ok(())))) => {}
            Some(Err(error) | Ok(Some(Err(error)))) => {
                tracing::warn!(%error, "old audit records and runs stay for now: {error}");
            }
            None => return,
        }
    }
}

async fn clean(store: &Store, retention: Option<Duration>) -> store::Result<()> {
    if let Some(retention) = retention {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = now.saturating_sub(retention);
        store.audit().purge_before(i64::try_from(first.as_millis()).unwrap_or(i64::MAX)).await?;
    }
    store.sweep_queues().await?;
    store.runs().sweep(RUNS).await?;
    store.conversations().sweep().await?;
    store.leases().sweep().await
}
