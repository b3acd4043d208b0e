//! Where the audit goes: into the store, and into a file while the store is away.

use async_trait::async_trait;
use gateway::audit::{Entry, Sink};
use std::path::PathBuf;
use std::time::Duration;
use store::{AuditDetails, AuditRow, Store, within};
use tokio::sync::Mutex;
use tool::{Error, ErrorKind};

/// Keeps audit entries in the store. While it cannot, they go to a file, so that calls go on,
/// and from there into the store when it is back.
pub struct AuditSink {
    store: Store,
    /// What programs call a kind of failure.
    code_of: fn(ErrorKind) -> &'static str,
    /// How long the database may take to answer.
    timeout: Duration,
    spill: Mutex<Spill>,
}

struct Spill {
    path: PathBuf,
    is_empty: bool,
}

impl AuditSink {
    /// `path` is where entries wait while the store is away; `code_of` is what programs call a kind of failure.
    #[must_use]
    pub fn new(
        store: Store,
        path: PathBuf,
        timeout: Duration,
        code_of: fn(ErrorKind) -> &'static str,
    ) -> Self {
        let is_empty = !path.exists();
        Self { store, code_of, timeout, spill: Mutex::new(Spill { path, is_empty }) }
    }
}

#[async_trait]
impl Sink for AuditSink {
    async fn write(&self, batch: &[Entry]) -> tool::Result<()> {
        let rows: Vec<AuditRow<'_>> = batch.iter().map(|entry| row(entry, self.code_of)).collect();
        let mut spill = self.spill.lock().await;
        if !spill.is_empty && self.replay(&mut spill).await.is_err() {
            return spill.append(&rows).await;
        }
        match within(self.timeout, self.store.audit().append(&rows)).await {
            Ok(()) => Ok(()),
            Err(error) if error.is_retryable() => {
                tracing::warn!(%error, "audit records wait in {}: {error}", spill.path.display());
                spill.append(&rows).await
            }
            Err(error) => Err(Error::internal("the audit was not written").caused_by(error)),
        }
    }

    async fn catch_up(&self) {
        let mut spill = self.spill.lock().await;
        if !spill.is_empty {
            // The store is still away: the file keeps what it has until the next time.
            let _ = self.replay(&mut spill).await;
        }
    }
}

impl AuditSink {
    /// Brings what waits in the file into the store, but for what is there already.
    async fn replay(&self, spill: &mut Spill) -> store::Result<()> {
        within(self.timeout, self.store.ping()).await?;
        let path = spill.path.clone();
        let rows = tokio::task::spawn_blocking(move || read(&path)).await.unwrap_or_default();
        for chunk in rows.chunks(1000) {
            within(self.timeout, self.store.audit().append_missing(chunk)).await?;
        }
        if let Err(error) = tokio::fs::remove_file(&spill.path).await {
            tracing::warn!(%error, "{} is in the store but cannot be removed: {error}", spill.path.display());
        }
        tracing::info!("{} audit records came from {} into the store", rows.len(), spill.path.display());
        spill.is_empty = true;
        Ok(())
    }
}

impl Spill {
    async fn append(&mut self, rows: &[AuditRow<'_>]) -> tool::Result<()> {
        let path = self.path.clone();
        let failed =
            |error: std::io::Error| Error::unavailable("the audit file cannot be written").caused_by(error);
        let text = lines(rows).map_err(|error| failed(error.into()))?;
        tokio::task::spawn_blocking(move || append(&path, &text))
            .await
            .map_err(|error| Error::internal("the audit file was not written").caused_by(error))?
            .map_err(failed)?;
        self.is_empty = false;
        Ok(())
    }
}

fn lines(rows: &[AuditRow<'_>]) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut text, row)?;
        text.push(b'\n');
    }
    Ok(text)
}

fn append(path: &std::path::Path, text: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    let mut file = std::fs::OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let end = file.metadata()?.len();
    // A line that a crash has cut would swallow the next one.
    let is_cut = end > 0 && {
        let mut last = [0];
        file.read_exact_at(&mut last, end - 1)?;
        last != *b"\n"
    };
    let separator: &[u8] = if is_cut { b"\n" } else { b"" };
    let written =
        file.write_all(separator).and_then(|()| file.write_all(text)).and_then(|()| file.sync_data());
    written.inspect_err(|_| {
        // A full disk takes the beginning of a batch; the whole of it is offered again.
        let _ = file.set_len(end);
    })
}

/// The rows in the file. A last line cut by a crash is passed over.
fn read(path: &std::path::Path) -> Vec<AuditRow<'static>> {
    let text = std::fs::read(path).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn row(entry: &Entry, code_of: fn(ErrorKind) -> &'static str) -> AuditRow<'_> {
    AuditRow {
        id: entry.id.as_str().into(),
        tenant: entry.tenant.as_str().into(),
        at: entry.at_ms,
        caller: entry.caller.as_str().into(),
        tool: entry.tool.as_str().into(),
        service: entry.service.as_deref().unwrap_or_default().into(),
        arguments: Some(entry.arguments.as_str().into()),
        status: entry.status.as_str().into(),
        details: AuditDetails {
            caller_name: Some(entry.caller_name.as_str().into()),
            caller_kind: entry.caller_kind.into(),
            door: entry.door.into(),
            uri: entry.uri.as_deref().unwrap_or_default().into(),
            code: entry.code.map(|kind| code_of(kind).into()),
            message: entry.message.as_deref().map(Into::into),
            duration_us: entry.duration_us,
            request_id: entry.request_id.as_str().into(),
            trace_id: entry.trace_id.as_deref().unwrap_or_default().into(),
            result_bytes: entry.result_bytes,
            parent_request_id: entry.parent_request_id.as_deref().map(Into::into),
            run_id: entry.run_id.as_deref().map(Into::into),
            node: entry.node.as_deref().map(Into::into),
            agent: entry.agent.as_deref().map(Into::into),
            step: entry.step,
            via: entry.via.map(Into::into),
            usage: entry.usage.as_deref().map(Into::into),
        },
    }
}
