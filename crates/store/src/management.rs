//! Who changed what in the configuration: records that are written with the change itself, all or nothing.

use crate::audit::{self, AuditRow, Kind};
use crate::database::Write;
use crate::{Result, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

tokio::task_local! {
    /// What the task is about to change on whose behalf. A parameter of every function that writes would say
    /// the same, and could be forgotten in one of them.
    static PENDING: Arc<Pending>;
}

struct Pending {
    row: AuditRow<'static>,
    is_written: AtomicBool,
}

/// Runs `work`. The first write of it that is committed is committed together with the record; says whether there
/// was one.
pub async fn recording<T>(row: AuditRow<'static>, work: impl Future<Output = T>) -> (T, bool) {
    let pending = Arc::new(Pending { row, is_written: AtomicBool::new(false) });
    let done = PENDING.scope(pending.clone(), work).await;
    (done, pending.is_written.load(Ordering::Acquire))
}

/// A record that is written as soon as its transaction is committed.
pub(crate) struct PendingRecord(Option<Arc<Pending>>);

impl PendingRecord {
    /// The transaction is committed.
    pub(crate) fn keep(self) {
        if let Some(pending) = self.0 {
            pending.is_written.store(true, Ordering::Release);
        }
    }
}

/// Puts the record that waits, if one does, into the transaction.
pub(crate) async fn begin(write: &mut Write) -> Result<PendingRecord> {
    let pending = PENDING.try_with(Arc::clone).ok();
    let Some(pending) = pending.filter(|pending| !pending.is_written.load(Ordering::Acquire)) else {
        return Ok(PendingRecord(None));
    };
    audit::insert(write, Kind::Management, &pending.row).await?;
    Ok(PendingRecord(Some(pending)))
}

/// The record of changes.
#[derive(Debug, Clone, Copy)]
pub struct Management<'a>(pub(crate) &'a Store);

impl Management<'_> {
    /// Adds the record of a change that was not made.
    pub async fn append(self, row: &AuditRow<'_>) -> Result<()> {
        let mut write = self.0.write().await?;
        audit::insert(&mut write, Kind::Management, row).await?;
        write.commit().await
    }

    /// Says what came of a change that is on record.
    pub async fn complete(self, row: &AuditRow<'_>) -> Result<()> {
        let mut write = self.0.write().await?;
        audit::replace(&mut write, Kind::Management, row).await?;
        write.commit().await
    }
}
