//! A file that is followed: a change is seen within a second, a mistake keeps the last good state.

use super::McpConfig;
use gateway::ServiceDefinition;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Looking is cheaper than the ways in which notifications of file systems and editors go wrong.
const POLL: Duration = Duration::from_millis(500);

/// The services in the file, now and after every change, until cancelled.
#[must_use]
pub fn follow(
    path: PathBuf,
    first: &McpConfig,
    cancel: CancellationToken,
) -> watch::Receiver<Vec<ServiceDefinition>> {
    let (tx, rx) = watch::channel(first.services());
    tokio::spawn(async move {
        let mut seen = tokio::fs::read(&path).await.unwrap_or_default();
        while cancel.run_until_cancelled(tokio::time::sleep(POLL)).await.is_some() {
            let Ok(now) = tokio::fs::read(&path).await else { continue };
            if now == seen {
                continue;
            }
            seen = now;
            match McpConfig::read(&path) {
                Ok(config) => {
                    tracing::info!("{} has changed and is in use", path.display());
                    tx.send_replace(config.services());
                }
                Err(error) => tracing::warn!(%error, "the last good state stays: {error}"),
            }
        }
    });
    rx
}
