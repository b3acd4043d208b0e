//! A file that is followed: a change is seen within a second, a mistake keeps the last good state.

use super::format::Format;
use super::{McpConfig, file, inputs};
use crate::Failure;
use crate::self_tools;
use gateway::ServiceDefinition;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Looking is cheaper than the ways in which notifications of file systems and editors go wrong.
const POLL: Duration = Duration::from_millis(500);

/// What is followed, and what goes with it.
#[derive(Debug, Clone)]
pub struct Followed {
    /// The mcp.json.
    pub path: PathBuf,
    /// The pins of its services: when somebody approves a change, the services are looked at again.
    pub pins: PathBuf,
    /// Whether tools that show and change the file are among its services.
    pub has_self_tools: bool,
}

/// The services in the file, now and after every change, until cancelled.
#[must_use]
pub fn follow(
    followed: Followed,
    first: &McpConfig,
    cancel: CancellationToken,
) -> watch::Receiver<Vec<ServiceDefinition>> {
    let poke = Arc::new(Notify::new());
    let own = followed.has_self_tools.then(|| self_tools::service(&followed.path, poke.clone()));
    let with_own = move |services: Vec<ServiceDefinition>| services.into_iter().chain(own.clone()).collect();
    let mut services = first.services();
    let (tx, rx) = watch::channel(with_own(services.clone()));
    tokio::spawn(async move {
        let Followed { path, pins, .. } = followed;
        let inputs = inputs::place().ok();
        let stamps = || (stamp(&pins), inputs.as_deref().and_then(stamp));
        let mut seen = (tokio::fs::read(&path).await.unwrap_or_default(), stamps());
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(POLL) => {}
                () = poke.notified() => {}
            }
            let Ok(now) = tokio::fs::read(&path).await else { continue };
            let now = (now, stamps());
            if now == seen {
                continue;
            }
            let is_changed = now.0 != seen.0;
            seen = now;
            match read(&path) {
                Ok(config) => {
                    if is_changed {
                        tracing::info!("{} has changed and is in use", path.display());
                    }
                    services = config.services_after(&services);
                    tx.send_replace(with_own(services.clone()));
                }
                Err(error) => tracing::warn!(%error, "the last good state stays: {error}"),
            }
        }
    });
    rx
}

/// The file, if it says anything: editors empty a file before they write it.
fn read(path: &Path) -> Result<McpConfig, Failure> {
    if file::read(path)?.is_none_or(|text| Format::of(path).is_blank(&text)) {
        return Err(Failure::new(format!("{} is empty", path.display()))
            .advice("write {\"mcpServers\": {}} if there are to be no services"));
    }
    McpConfig::read(path)
}

/// Changes whenever the file is replaced.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
