//! An index that somebody works on: how far that is, and how it ended.

use crate::database::Write;
use crate::search::{IndexStatus, LEASE_PREFIX, Search, SearchIndex};
use crate::{Error, ErrorKind, Lease, Result, Store, row as column};
use std::time::Duration;

/// An index that is ours to work on. Every write renews the lease, and fails when it was lost.
#[derive(Debug, Clone)]
pub struct ClaimedIndex {
    pub(crate) store: Store,
    pub(crate) index: SearchIndex,
    lease: Lease,
}

impl Search<'_> {
    /// Takes an index that is due; `None` when somebody else was faster. The attempt counts as one at
    /// the table as it is now, however early it ends: only a newer version is tried without a pause.
    pub async fn claim(self, index: &SearchIndex, time: Duration) -> Result<Option<ClaimedIndex>> {
        let mut write = self.0.write().await?;
        let lease = self.0.leases().claim_in(&mut write, &lease_name(index), time).await?;
        let claimed = match lease {
            Some(lease) if begin_attempt(&mut write, index).await? => Some(lease),
            Some(lease) => {
                lease.end_in(&mut write).await?;
                None
            }
            None => None,
        };
        write.commit().await?;
        let index = SearchIndex { attempts: index.attempts + 1, ..index.clone() };
        Ok(claimed.map(|lease| ClaimedIndex { store: self.0.clone(), index, lease }))
    }
}

/// Each index has a lease of its own, which ends with it: one that begins anew has another number.
fn lease_name(index: &SearchIndex) -> String {
    format!("{LEASE_PREFIX}{}/{}/{}", index.tenant, index.tool, index.number)
}

/// Whether the index is still as it was when somebody looked.
async fn begin_attempt(write: &mut Write, index: &SearchIndex) -> Result<bool> {
    let done = sqlx::query(
        "UPDATE search_indexes SET status = 'indexing', due_at = $4, attempts = attempts + 1,
             tried_version = COALESCE((SELECT t.version FROM tables t
                 WHERE t.tenant = search_indexes.tenant AND t.id = search_indexes.table_id), tried_version)
         WHERE tenant = $1 AND tool = $2 AND number = $3 AND attempts = $5 AND COALESCE(indexed_at, 0) = $6",
    )
    .bind(index.tenant.as_str())
    .bind(index.tool.as_str())
    .bind(index.number)
    .bind(column::now())
    .bind(index.attempts)
    .bind(index.indexed_at.unwrap_or_default())
    .execute(write.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

impl ClaimedIndex {
    /// The index as it was when it was claimed.
    #[must_use]
    pub fn index(&self) -> &SearchIndex {
        &self.index
    }

    /// Keeps the lease; returns only when it is lost.
    pub async fn keep(&self) -> Error {
        self.lease.keep().await
    }

    /// Says how much there is to do, and how much of it is done.
    pub async fn note_progress(&self, nodes: i64, chunks: i64, indexed: i64) -> Result<()> {
        let mut write = self.begin().await?;
        sqlx::query(
            "UPDATE search_indexes SET nodes_count = $3, chunks_count = $4, indexed_chunks_count = $5
             WHERE tenant = $1 AND tool = $2",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(nodes)
        .bind(chunks)
        .bind(indexed)
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// The words in the index are those of this version of the table.
    pub async fn note_words(&self, table_version: i64) -> Result<()> {
        let mut write = self.begin().await?;
        sqlx::query("UPDATE search_indexes SET table_version = $3 WHERE tenant = $1 AND tool = $2")
            .bind(self.index.tenant.as_str())
            .bind(self.index.tool.as_str())
            .bind(table_version)
            .execute(write.connection())
            .await?;
        write.commit().await
    }

    /// The index is ready; it is not looked at again before `pause` is over. The lease ends.
    pub async fn finish(self, model: &str, pause: Duration) -> Result<()> {
        let mut write = self.begin().await?;
        let now = column::now();
        sqlx::query(
            "UPDATE search_indexes SET status = 'ready', model = $3, indexed_at = $4,
                 last_error = NULL, attempts = 0, due_at = $5
             WHERE tenant = $1 AND tool = $2",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(model)
        .bind(now)
        .bind(now.saturating_add(milliseconds(pause)))
        .execute(write.connection())
        .await?;
        self.lease.end_in(&mut write).await?;
        write.commit().await
    }

    /// The attempt failed; the next one is due after `pause`, without one never. The lease ends.
    pub async fn fail(self, why: &str, pause: Option<Duration>) -> Result<()> {
        let mut write = self.begin().await?;
        sqlx::query(
            "UPDATE search_indexes SET status = $3, last_error = $4, due_at = $5
             WHERE tenant = $1 AND tool = $2",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(IndexStatus::Error.as_str())
        .bind(column::clean(why))
        .bind(pause.map(|pause| column::now().saturating_add(milliseconds(pause))))
        .execute(write.connection())
        .await?;
        self.lease.end_in(&mut write).await?;
        write.commit().await
    }

    /// Gives the index back as it is, e.g. because the process ends.
    pub async fn release(self) -> Result<()> {
        let mut write = self.begin().await?;
        sqlx::query("UPDATE search_indexes SET status = 'pending' WHERE tenant = $1 AND tool = $2")
            .bind(self.index.tenant.as_str())
            .bind(self.index.tool.as_str())
            .execute(write.connection())
            .await?;
        self.lease.end_in(&mut write).await?;
        write.commit().await
    }

    /// A write under the lease, to an index that is still there: it is held until the write ends, so that it cannot
    /// begin anew in between.
    pub(crate) async fn begin(&self) -> Result<Write> {
        let mut write = self.lease.begin().await?;
        let done = sqlx::query(
            "UPDATE search_indexes SET number = number WHERE tenant = $1 AND tool = $2 AND number = $3",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(self.index.number)
        .execute(write.connection())
        .await?;
        if done.rows_affected() == 1 {
            return Ok(write);
        }
        write.commit().await?;
        Err(Error::new(ErrorKind::Stale, "the search index is not there any more, or has begun anew"))
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}
