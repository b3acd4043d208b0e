//! The journal: records that are added and never changed.

use crate::database::Write;
use crate::error::check_text;
use crate::runs::{Runs, row as run_row};
use crate::{Result, Store, meta, row, values};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use tool::{RunId, TenantId};

const COLUMN_COUNT: usize = 9;
/// As many rows as one statement takes.
const CHUNK: usize = 64;

/// A record to be.
#[derive(Clone, PartialEq, Eq)]
pub struct NewRecord {
    /// Milliseconds since 1970.
    pub at: i64,
    /// Which node, e.g. `ship[3].send`; empty for the run itself.
    pub path: String,
    /// From 1.
    pub attempt: i64,
    /// What, in a word.
    pub kind: String,
    /// Everything else, as JSON.
    pub data: String,
}

/// A record of a journal.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place in the journal, from 1.
    pub seq: i64,
    /// Not written by the run's owner.
    pub is_news: bool,
    /// What it says.
    pub record: NewRecord,
}

impl NewRecord {
    pub(crate) fn check(&self) -> Result<()> {
        check_text("path", &self.path)?;
        check_text("kind", &self.kind)?;
        check_text("data", &self.data)
    }
}

impl Runs<'_> {
    /// The records of a run behind `after`, at most `limit`, in their order.
    pub async fn journal(
        self,
        tenant: &TenantId,
        run: &RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Record>> {
        self.records(tenant, run, after, limit, "").await
    }

    /// The records behind `after` that others than the run's owner wrote.
    pub async fn news(self, tenant: &TenantId, run: &RunId, after: i64) -> Result<Vec<Record>> {
        self.records(tenant, run, after, u32::MAX, "AND is_news = 1").await
    }

    async fn records(
        self,
        tenant: &TenantId,
        run: &RunId,
        after: i64,
        limit: u32,
        also: &str,
    ) -> Result<Vec<Record>> {
        let sql = format!(
            "SELECT tenant, run, seq, at, path, attempt, kind, data, is_news FROM run_journal
             WHERE tenant = $1 AND run = $2 AND seq > $3 {also} ORDER BY seq LIMIT $4"
        );
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(run.as_str())
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(|row| decode(self.0, row)).collect()
    }
}

fn decode(store: &Store, row: &AnyRow) -> Result<Record> {
    let seq = row::integer(row, "seq")?;
    let place = run_row::record_place(&row::text(row, "tenant")?, &row::text(row, "run")?, seq);
    let record = NewRecord {
        at: row::integer(row, "at")?,
        path: row::text(row, "path")?,
        attempt: row::integer(row, "attempt")?,
        kind: row::text(row, "kind")?,
        data: run_row::open(store.vault(), &place, row::text(row, "data")?)?,
    };
    Ok(Record { seq, is_news: row::integer(row, "is_news")? == 1, record })
}

/// A record whose place is known.
pub(crate) struct Line<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) run: &'a RunId,
    pub(crate) seq: i64,
    pub(crate) is_news: bool,
    pub(crate) is_secret: bool,
    pub(crate) record: &'a NewRecord,
}

/// Adds the records of any number of runs, whose rows are locked.
pub(crate) async fn add(store: &Store, write: &mut Write, lines: &[Line<'_>]) -> Result<()> {
    let key_id = match lines.iter().any(|line| line.is_secret) {
        true => meta::sealing_key(store, write).await?,
        false => String::new(),
    };
    for chunk in lines.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO run_journal (tenant, run, seq, at, path, attempt, kind, data, is_news) VALUES {}",
            values::rows(write.backend(), chunk.len(), COLUMN_COUNT)
        );
        let mut insert = sqlx::query(AssertSqlSafe(sql));
        for line in chunk {
            let data = sealed(store, &key_id, line)?;
            insert = insert
                .bind(line.tenant.as_str())
                .bind(line.run.as_str())
                .bind(line.seq)
                .bind(line.record.at)
                .bind(line.record.path.as_str())
                .bind(line.record.attempt)
                .bind(line.record.kind.as_str())
                .bind(data)
                .bind(i64::from(line.is_news));
        }
        // Keeping a prepared statement for every length is waste; that of a run alone is used again and again.
        insert.persistent(chunk.len() == 1).execute(write.connection()).await?;
    }
    Ok(())
}

fn sealed(store: &Store, key_id: &str, line: &Line<'_>) -> Result<String> {
    if !line.is_secret {
        return Ok(line.record.data.clone());
    }
    let place = run_row::record_place(line.tenant.as_str(), line.run.as_str(), line.seq);
    store.vault().seal(key_id, &place, &line.record.data)
}
