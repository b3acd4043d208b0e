//! The lease of an index: who works on it, how far that is, and how it ended.

use crate::database::Write;
use crate::search::{IndexStatus, Search, SearchIndex};
use crate::{Error, ErrorKind, Result, Store, row as column};
use std::time::Duration;

/// The right to work on an index. Every write renews it, and fails when it was lost.
#[derive(Debug, Clone)]
pub struct Lease {
    pub(crate) store: Store,
    pub(crate) index: SearchIndex,
    worker: String,
    time: Duration,
}

impl Search<'_> {
    /// Takes an index that is due; `None` when somebody else was faster. The attempt counts as one at
    /// the table as it is now, however early it ends: only a newer version is tried without a pause.
    pub async fn claim(self, index: &SearchIndex, worker: &str, time: Duration) -> Result<Option<Lease>> {
        let now = column::now();
        let mut write = self.0.write().await?;
        let done = sqlx::query(
            "UPDATE search_indexes SET status = 'indexing', worker = $3, leased_until = $4, due_at = $6,
                 attempts = attempts + 1,
                 tried_version = COALESCE((SELECT t.version FROM tables t
                     WHERE t.tenant = search_indexes.tenant AND t.id = search_indexes.table_id), tried_version)
             WHERE tenant = $1 AND tool = $2 AND number = $5 AND leased_until < $6 AND attempts = $7
                 AND COALESCE(indexed_at, 0) = $8",
        )
        .bind(index.tenant.as_str())
        .bind(index.tool.as_str())
        .bind(worker)
        .bind(now.saturating_add(milliseconds(time)))
        .bind(index.number)
        .bind(now)
        .bind(index.attempts)
        .bind(index.indexed_at.unwrap_or_default())
        .execute(write.connection())
        .await?;
        write.commit().await?;
        let lease = || Lease {
            store: self.0.clone(),
            index: SearchIndex { attempts: index.attempts + 1, ..index.clone() },
            worker: worker.to_owned(),
            time,
        };
        Ok((done.rows_affected() == 1).then(lease))
    }
}

impl Lease {
    /// The index as it was when it was claimed.
    #[must_use]
    pub fn index(&self) -> &SearchIndex {
        &self.index
    }

    /// Keeps the lease for some more time.
    pub async fn renew(&self) -> Result<()> {
        self.begin().await?.commit().await
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
                 last_error = NULL, attempts = 0, due_at = $5, worker = NULL, leased_until = 0
             WHERE tenant = $1 AND tool = $2",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(model)
        .bind(now)
        .bind(now.saturating_add(milliseconds(pause)))
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// The attempt failed; the next one is due after `pause`, without one never. The lease ends.
    pub async fn fail(self, why: &str, pause: Option<Duration>) -> Result<()> {
        let mut write = self.begin().await?;
        sqlx::query(
            "UPDATE search_indexes SET status = $3, last_error = $4, due_at = $5, worker = NULL, leased_until = 0
             WHERE tenant = $1 AND tool = $2",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(IndexStatus::Error.as_str())
        .bind(column::clean(why))
        .bind(pause.map(|pause| column::now().saturating_add(milliseconds(pause))))
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// Gives the index back as it is, e.g. because the process ends.
    pub async fn release(self) -> Result<()> {
        let mut write = self.begin().await?;
        sqlx::query(
            "UPDATE search_indexes SET status = 'pending', worker = NULL, leased_until = 0
             WHERE tenant = $1 AND tool = $2",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// A write under the lease: the row is held until it ends, so nobody can take the index over
    /// in between.
    pub(crate) async fn begin(&self) -> Result<Write> {
        let mut write = self.store.write().await?;
        let done = sqlx::query(
            "UPDATE search_indexes SET leased_until = $5
             WHERE tenant = $1 AND tool = $2 AND number = $3 AND worker = $4",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(self.index.number)
        .bind(self.worker.as_str())
        .bind(column::now().saturating_add(milliseconds(self.time)))
        .execute(write.connection())
        .await?;
        if done.rows_affected() == 0 {
            return Err(Error::new(ErrorKind::Stale, "somebody else works on the search index now"));
        }
        Ok(write)
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2)
}
