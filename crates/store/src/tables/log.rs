//! The versions of a table's document: snapshots, and the changes that lead from one to the next.

use crate::tables::{Table, Tables, missing};
use crate::{Error, Page, PageRequest, Result, row as column};
use document::{Change, Node};
use serde::Serialize;
use sqlx::{AnyConnection, Row as _};
use tool::{TableId, TenantId};

/// A version of so many is always readable, unless their snapshots take too much room.
const KEPT_VERSIONS: i64 = 100;
/// Older snapshots are let go beyond this.
const KEPT_SNAPSHOT_BYTES: i64 = 128 * 1024 * 1024;
/// After so many changes a snapshot is due: each costs a moment when the document is read.
const MAX_LOG_COUNT: i64 = 1000;
/// Changes of a small document may take this much more room than it does.
const MIN_LOG_BYTES: i64 = 256 * 1024;

/// What was written since the last snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) count: i64,
    pub(crate) bytes: i64,
}

impl Log {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.count += 1;
        self.bytes += i64::try_from(bytes).unwrap_or(i64::MAX);
    }

    /// A snapshot is due: reading the changes would take longer than reading the document.
    pub(crate) fn is_due(self, document_bytes: usize) -> bool {
        let document_bytes = i64::try_from(document_bytes).unwrap_or(i64::MAX);
        self.count >= MAX_LOG_COUNT || self.bytes > document_bytes.max(MIN_LOG_BYTES)
    }
}

/// One version of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableVersion {
    /// Which version.
    pub version: i64,
    /// The id of the key or user that made it.
    pub changed_by: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

impl Tables<'_> {
    /// The versions that can be read and restored, newest first.
    pub async fn versions(
        self,
        tenant: &TenantId,
        id: &TableId,
        page: PageRequest,
    ) -> Result<Page<TableVersion>> {
        self.get(tenant, id).await?;
        let mut snapshot = self.0.snapshot().await?;
        let total =
            sqlx::query("SELECT COUNT(*) AS total FROM table_versions WHERE tenant = $1 AND table_id = $2")
                .bind(tenant.as_str())
                .bind(id.as_str())
                .fetch_one(&mut *snapshot)
                .await?;
        let rows = sqlx::query(
            "SELECT version, changed_by, at FROM table_versions
             WHERE tenant = $1 AND table_id = $2 ORDER BY version DESC LIMIT $3 OFFSET $4",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(page.limit())
        .bind(page.offset())
        .fetch_all(&mut *snapshot)
        .await?;
        let items = rows.iter().map(|row| {
            Ok(TableVersion {
                version: column::integer(row, "version")?,
                changed_by: column::text(row, "changed_by")?,
                at: column::integer(row, "at")?,
            })
        });
        Ok(page.of(items.collect::<Result<_>>()?, column::integer(&total, "total")?))
    }

    /// The document as it was in a version.
    pub async fn document_at(self, tenant: &TenantId, id: &TableId, version: i64) -> Result<Node> {
        let table = self.get(tenant, id).await?;
        let mut snapshot = self.0.snapshot().await?;
        let known = sqlx::query(
            "SELECT version FROM table_versions WHERE tenant = $1 AND table_id = $2 AND version = $3",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(version)
        .fetch_optional(&mut *snapshot)
        .await?;
        if known.is_none() {
            return Err(Error::not_found("version of the table"));
        }
        load(&mut snapshot, &Table { version, ..table }).await
    }
}

/// Puts a version on record; without a change it must have a snapshot.
pub(crate) async fn note(
    connection: &mut AnyConnection,
    table: &Table,
    change: Option<String>,
    by: &str,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO table_versions (tenant, table_id, version, change, changed_by, at)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(table.tenant.as_str())
    .bind(table.id.as_str())
    .bind(table.version)
    .bind(change)
    .bind(by)
    .bind(table.updated_at)
    .execute(connection)
    .await?;
    Ok(())
}

/// Keeps the whole document, and lets go of versions that are too old to be kept.
pub(crate) async fn snapshot(connection: &mut AnyConnection, table: &Table, content: String) -> Result<()> {
    sqlx::query(
        "INSERT INTO table_snapshots (tenant, table_id, version, size_bytes, content)
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(table.tenant.as_str())
    .bind(table.id.as_str())
    .bind(table.version)
    .bind(i64::try_from(content.len()).unwrap_or(i64::MAX))
    .bind(content)
    .execute(&mut *connection)
    .await?;
    let oldest = oldest_kept(connection, table).await?;
    // Without the snapshot below it, a change leads nowhere.
    for sql in [
        "DELETE FROM table_versions WHERE tenant = $1 AND table_id = $2 AND version < $3",
        "DELETE FROM table_snapshots WHERE tenant = $1 AND table_id = $2 AND version < $3",
    ] {
        sqlx::query(sql)
            .bind(table.tenant.as_str())
            .bind(table.id.as_str())
            .bind(oldest)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// The version of the oldest snapshot to keep.
async fn oldest_kept(connection: &mut AnyConnection, table: &Table) -> Result<i64> {
    let rows = sqlx::query(
        "SELECT version, size_bytes FROM table_snapshots
         WHERE tenant = $1 AND table_id = $2 ORDER BY version DESC",
    )
    .bind(table.tenant.as_str())
    .bind(table.id.as_str())
    .fetch_all(connection)
    .await?;
    let (mut oldest, mut bytes) = (table.version, 0);
    for row in &rows {
        bytes += column::integer(row, "size_bytes")?;
        let version = column::integer(row, "version")?;
        let is_needed = oldest > table.version - KEPT_VERSIONS;
        if version < oldest && (!is_needed || bytes > KEPT_SNAPSHOT_BYTES) {
            break;
        }
        oldest = version;
    }
    Ok(oldest)
}

/// The document of `table.version`.
pub(crate) async fn load(connection: &mut AnyConnection, table: &Table) -> Result<Node> {
    let row = sqlx::query(
        "SELECT version, content FROM table_snapshots
         WHERE tenant = $1 AND table_id = $2 AND version <= $3 ORDER BY version DESC LIMIT 1",
    )
    .bind(table.tenant.as_str())
    .bind(table.id.as_str())
    .bind(table.version)
    .fetch_optional(&mut *connection)
    .await?
    .ok_or_else(missing)?;
    let from = column::integer(&row, "version")?;
    let document = read(column::text(&row, "content")?).await?;
    match catch_up(connection, table, from, document).await? {
        Some(document) => Ok(document),
        None => Err(Error::corrupt("a version of a table is incomplete")),
    }
}

/// Makes the changes between `from` and `table.version`; nothing when a snapshot lies between.
pub(crate) async fn catch_up(
    connection: &mut AnyConnection,
    table: &Table,
    from: i64,
    mut document: Node,
) -> Result<Option<Node>> {
    let rows = sqlx::query(
        "SELECT change FROM table_versions
         WHERE tenant = $1 AND table_id = $2 AND version > $3 AND version <= $4 ORDER BY version",
    )
    .bind(table.tenant.as_str())
    .bind(table.id.as_str())
    .bind(from)
    .bind(table.version)
    .fetch_all(connection)
    .await?;
    if i64::try_from(rows.len()).ok() != Some(table.version - from) {
        return Ok(None);
    }
    for row in &rows {
        let Some(change) = row.try_get::<Option<String>, _>("change")? else { return Ok(None) };
        let change: Change = serde_json::from_str(&change).map_err(|_| column::undecodable("change"))?;
        change.apply(&mut document).map_err(|_| column::undecodable("change"))?;
    }
    Ok(Some(document))
}

/// The document as text.
pub(crate) async fn text_of(document: &Node) -> Result<String> {
    let document = document.clone();
    blocking(move || document.to_json()).await
}

async fn read(text: String) -> Result<Node> {
    let parse = move || Node::parse(&text).map_err(|_| column::undecodable("content"));
    blocking(parse).await?
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::internal("a document could not be worked on"))
}
