//! Search indexes: which Tool searches what, how far its index is, and who may work on it.

mod claim;
mod find;
mod write;

pub use claim::ClaimedIndex;
pub use find::{Found, Vectors};
pub use write::NewChunk;

use crate::database::{Backend, Write};
use crate::{Error, Result, Store, Tool, leases, row as column};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row as _};
use std::time::Duration;
use tool::search::TOOL_TYPE;
use tool::{TableId, TenantId, ToolId};

/// What the names of the indexes' leases begin with; tenant, Tool and number follow.
const LEASE_PREFIX: &str = "search/";

const COLUMNS: &str = "i.tenant AS tenant, i.tool AS tool, i.number AS number, i.table_id AS table_id,
    i.mount AS mount, i.status AS status, i.table_version AS table_version, i.model AS model,
    i.nodes_count AS nodes_count, i.chunks_count AS chunks_count,
    i.indexed_chunks_count AS indexed_chunks_count, i.indexed_at AS indexed_at,
    i.last_error AS last_error, i.attempts AS attempts, t.version AS newest_version";

const FROM: &str = "search_indexes i LEFT JOIN tables t ON t.tenant = i.tenant AND t.id = i.table_id";

/// How far an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexStatus {
    /// It waits for its turn, or the table has changed since.
    Pending,
    /// Somebody works on it.
    Indexing,
    /// It shows the table as it is.
    Ready,
    /// The last attempt failed; `last_error` says why.
    Error,
}

impl IndexStatus {
    /// The status as it is written in JSON and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Indexing => "indexing",
            Self::Ready => "ready",
            Self::Error => "error",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        [Self::Pending, Self::Indexing, Self::Ready, Self::Error]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| Error::corrupt("the database holds an unknown status of a search index"))
    }
}

/// The index of one Tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchIndex {
    /// Where the Tool belongs.
    pub tenant: TenantId,
    /// Whose index it is.
    pub tool: ToolId,
    /// The table whose texts are in it.
    pub table: TableId,
    /// The part of the document that is indexed, a JSON Pointer.
    pub mount: String,
    /// How far it is.
    pub status: IndexStatus,
    /// The version of the table that it shows.
    pub table_version: i64,
    /// The embeddings that are in it; empty for none.
    pub model: String,
    /// Texts below the mount.
    pub nodes_count: i64,
    /// Chunks of those texts.
    pub chunks_count: i64,
    /// Chunks that can be found by all that is configured, embeddings included.
    pub indexed_chunks_count: i64,
    /// When it was last ready, in milliseconds since 1970.
    pub indexed_at: Option<i64>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// Attempts since it was last ready.
    pub attempts: i64,
    pub(crate) number: i64,
}

/// The indexes of the Tools that search.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a>(pub(crate) &'a Store);

impl Search<'_> {
    /// The index of a Tool.
    pub async fn get(self, tenant: &TenantId, tool: &ToolId) -> Result<SearchIndex> {
        let sql = format!("SELECT {COLUMNS} FROM {FROM} WHERE i.tenant = $1 AND i.tool = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(tool.as_str())
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(|| Error::not_found("search index"))?)
    }

    /// Every index of the tenant.
    pub async fn all(self, tenant: &TenantId) -> Result<Vec<SearchIndex>> {
        let sql = format!("SELECT {COLUMNS} FROM {FROM} WHERE i.tenant = $1");
        let rows = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).fetch_all(self.0.pool()).await?;
        rows.iter().map(decode).collect()
    }

    /// Every index of a table.
    pub async fn of_table(self, tenant: &TenantId, table: &TableId) -> Result<Vec<SearchIndex>> {
        let sql = format!("SELECT {COLUMNS} FROM {FROM} WHERE i.tenant = $1 AND i.table_id = $2");
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(table.as_str())
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(decode).collect()
    }

    /// Indexes of the whole platform that wait to be worked on, the longest waiting first: new
    /// ones, failed ones whose time has come or whose table has changed, abandoned ones, and
    /// those whose table or model has changed.
    pub async fn due(self, model: &str, limit: i64) -> Result<Vec<SearchIndex>> {
        let now = leases::now(self.0.backend());
        let sql = format!(
            "SELECT {COLUMNS} FROM {FROM}
             WHERE i.due_at IS NOT NULL
               AND (i.due_at <= $1 OR i.status = 'error' AND t.version <> i.tried_version)
               AND (i.status <> 'ready' OR i.model <> $2 OR t.version IS NULL OR t.version <> i.table_version)
               AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.until > {now} AND l.name =
                   '{LEASE_PREFIX}' || i.tenant || '/' || i.tool || '/' || CAST(i.number AS TEXT))
             ORDER BY i.due_at, i.tenant, i.tool LIMIT $3"
        );
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(column::now())
            .bind(model)
            .bind(limit)
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(decode).collect()
    }

    /// Waits until this process has written something that may make an index due, or for `time`.
    pub async fn wait_for_work(self, time: Duration) {
        tokio::select! {
            () = self.0.changed().notified() => {}
            () = self.0.tables_changed().notified() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    /// Drops full text indexes that no Tool has any more, e.g. because its tenant was deleted.
    pub async fn sweep(self) -> Result<()> {
        if self.0.backend() == Backend::Postgres {
            return Ok(());
        }
        let mut write = self.0.write().await?;
        let rows = sqlx::query(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'
                 AND name LIKE 'search!_words!_%' ESCAPE '!'
                 AND CAST(substr(name, 14) AS INTEGER) NOT IN (SELECT number FROM search_indexes)",
        )
        .fetch_all(write.connection())
        .await?;
        for row in rows {
            let number: i64 = row.try_get::<String, _>(0)?["search_words_".len()..].parse().unwrap_or(-1);
            sqlx::query(AssertSqlSafe(format!("DROP TABLE IF EXISTS {}", words_table(number))))
                .execute(write.connection())
                .await?;
        }
        write.commit().await
    }
}

/// Keeps a Tool's index in step with the Tool, in the same transaction: a new Tool gets one, and
/// one that now searches elsewhere begins anew. Whoever works on the old one loses the lease.
pub(crate) async fn follow(write: &mut Write, tool: &Tool) -> Result<()> {
    if tool.kind != TOOL_TYPE {
        return Ok(());
    }
    let text =
        |field: &str| tool.definition.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
    let (table, mount) = (text("table_id"), text("json_path"));
    let same = sqlx::query(
        "SELECT 1 FROM search_indexes WHERE tenant = $1 AND tool = $2 AND table_id = $3 AND mount = $4",
    )
    .bind(tool.tenant.as_str())
    .bind(tool.id.as_str())
    .bind(table)
    .bind(mount)
    .fetch_optional(write.connection())
    .await?;
    if same.is_some() {
        return Ok(());
    }
    drop_words(write, &tool.tenant, &tool.id).await?;
    sqlx::query("DELETE FROM search_indexes WHERE tenant = $1 AND tool = $2")
        .bind(tool.tenant.as_str())
        .bind(tool.id.as_str())
        .execute(write.connection())
        .await?;
    sqlx::query(
        "INSERT INTO search_indexes (tenant, tool, number, table_id, mount, status, table_version, tried_version, model,
             nodes_count, chunks_count, indexed_chunks_count, attempts, due_at)
         SELECT $1, $2, COALESCE(MAX(number), 0) + 1, $3, $4, 'pending', 0, 0, '', 0, 0, 0, 0, $5
         FROM search_indexes",
    )
    .bind(tool.tenant.as_str())
    .bind(tool.id.as_str())
    .bind(table)
    .bind(mount)
    .bind(column::now())
    .execute(write.connection())
    .await?;
    Ok(())
}

/// SQLite's full text index of a Tool is a table of its own, which no foreign key reaches.
pub(crate) async fn drop_words(write: &mut Write, tenant: &TenantId, tool: &ToolId) -> Result<()> {
    if write.backend() == Backend::Postgres {
        return Ok(());
    }
    let row = sqlx::query("SELECT number FROM search_indexes WHERE tenant = $1 AND tool = $2")
        .bind(tenant.as_str())
        .bind(tool.as_str())
        .fetch_optional(write.connection())
        .await?;
    if let Some(row) = row {
        let table = words_table(column::integer(&row, "number")?);
        sqlx::query(AssertSqlSafe(format!("DROP TABLE IF EXISTS {table}")))
            .execute(write.connection())
            .await?;
    }
    Ok(())
}

/// Drops the full text index of every Tool.
pub(crate) async fn drop_all_words(write: &mut Write) -> Result<()> {
    if write.backend() == Backend::Postgres {
        return Ok(());
    }
    let rows = sqlx::query(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'
             AND name LIKE 'search!_words!_%' ESCAPE '!'",
    )
    .fetch_all(write.connection())
    .await?;
    for row in rows {
        let number: i64 = row.try_get::<String, _>(0)?["search_words_".len()..].parse().unwrap_or(-1);
        let sql = format!("DROP TABLE IF EXISTS {}", words_table(number));
        sqlx::query(AssertSqlSafe(sql)).execute(write.connection()).await?;
    }
    Ok(())
}

/// The full text index of a Tool on SQLite.
pub(crate) fn words_table(number: i64) -> String {
    format!("search_words_{number}")
}

fn decode(row: &AnyRow) -> Result<SearchIndex> {
    let table_version = column::integer(row, "table_version")?;
    let newest = column::optional_integer(row, "newest_version")?;
    let status = match IndexStatus::parse(&column::text(row, "status")?)? {
        IndexStatus::Ready if newest != Some(table_version) => IndexStatus::Pending,
        other => other,
    };
    Ok(SearchIndex {
        tenant: column::parsed(row, "tenant")?,
        tool: column::parsed(row, "tool")?,
        number: column::integer(row, "number")?,
        table: column::parsed(row, "table_id")?,
        mount: column::text(row, "mount")?,
        status,
        table_version,
        model: column::text(row, "model")?,
        nodes_count: column::integer(row, "nodes_count")?,
        chunks_count: column::integer(row, "chunks_count")?,
        indexed_chunks_count: column::integer(row, "indexed_chunks_count")?,
        indexed_at: column::optional_integer(row, "indexed_at")?,
        last_error: column::optional_text(row, "last_error")?,
        attempts: column::integer(row, "attempts")?,
    })
}
