//! The audit: one row per call, refused ones too, appended in batches and read in pages.

use crate::database::{Backend, Write};
use crate::{Page, PageRequest, Result, Store, row, values};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row as _};
use std::borrow::Cow;
use std::sync::LazyLock;
use tool::TenantId;

/// Rows per statement. PostgreSQL likes fewer round trips; SQLite likes shorter statements.
fn chunk_size(backend: Backend) -> usize {
    match backend {
        Backend::Sqlite => 32,
        Backend::Postgres => 400,
    }
}

/// Rows per step of an export.
const EXPORT_STEP: i64 = 1000;
/// Rows per step of a purge, so that no lock is held for long.
const PURGE_STEP: i64 = 5000;

const COLUMNS: &str = "tenant, at, id, caller, tool, service, status, arguments, details";
const COLUMN_COUNT: usize = 9;

/// The condition of every query; `$1` is the tenant.
const WHERE: &str = "tenant = $1 AND ($2 IS NULL OR tool = $2) AND ($3 IS NULL OR service = $3)
    AND ($4 IS NULL OR caller = $4) AND ($5 IS NULL OR status = $5)
    AND ($6 IS NULL OR at >= $6) AND ($7 IS NULL OR at < $7)";

/// What a record is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// A call of a tool.
    #[default]
    Call,
    /// A change of what is configured.
    Management,
}

impl Kind {
    /// The kind as it is asked for.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Management => "management",
        }
    }

    /// Each has a table of its own, with the same columns.
    fn table(self) -> &'static str {
        match self {
            Self::Call => "audit",
            Self::Management => "management",
        }
    }
}

/// What is remembered of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow<'a> {
    /// Made by the caller of `append`; the same row is stored once.
    pub id: Cow<'a, str>,
    /// Whose call it was; a text, because a refused call may name a tenant that does not exist.
    pub tenant: Cow<'a, str>,
    /// When it began. Milliseconds since 1970.
    pub at: i64,
    /// Who called: a user name, a key's name.
    pub caller: Cow<'a, str>,
    /// The tool as the caller named it.
    pub tool: Cow<'a, str>,
    /// The service's id, empty when there is none.
    pub service: Cow<'a, str>,
    /// The arguments, redacted, as JSON text.
    pub arguments: Option<Cow<'a, str>>,
    /// `ok`, `error` or `refused`.
    pub status: Cow<'a, str>,
    /// What is shown, but not asked for.
    #[serde(flatten)]
    pub details: AuditDetails<'a>,
}

/// What is remembered of a call beyond what rows are searched by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditDetails<'a> {
    /// What the caller is: `user`, `key`, …
    pub caller_kind: Cow<'a, str>,
    /// Where the call came in: `rest`, `mcp`, …
    pub door: Cow<'a, str>,
    /// The tool's URI, empty when there is none.
    pub uri: Cow<'a, str>,
    /// The error's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'a, str>>,
    /// The error's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
    /// How long it took, in microseconds.
    pub duration_us: i64,
    /// The request's id, as the client saw it.
    pub request_id: Cow<'a, str>,
    /// The trace's id.
    pub trace_id: Cow<'a, str>,
    /// The size of the result.
    pub result_bytes: i64,
    /// The request that made the call, where another call did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_request_id: Option<Cow<'a, str>>,
    /// The run it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Cow<'a, str>>,
}

/// Which rows to read; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this kind.
    pub kind: Kind,
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this service.
    pub service: Option<String>,
    /// By this caller.
    pub caller: Option<String>,
    /// With this status.
    pub status: Option<String>,
    /// Begun at or after this time. Milliseconds since 1970.
    pub from: Option<i64>,
    /// Begun before this time. Milliseconds since 1970.
    pub to: Option<i64>,
}

/// The record of calls.
#[derive(Debug, Clone, Copy)]
pub struct Audit<'a>(pub(crate) &'a Store);

impl Audit<'_> {
    /// Appends the rows, all or none. Each row carries its tenant: one batch serves all.
    /// Rows that are there already are passed over, so a batch may be tried again.
    pub async fn append(self, rows: &[AuditRow<'_>]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut write = self.0.write().await?;
        let size = chunk_size(self.0.backend());
        for chunk in rows.chunks(size) {
            let mut insert = match chunk.len() == size {
                true => sqlx::query(whole_insert(self.0.backend())),
                false => {
                    sqlx::query(AssertSqlSafe(insert_statement(self.0.backend(), Kind::Call, chunk.len())))
                }
            };
            for row in chunk {
                insert = bind(insert, row)?;
            }
            // Partial chunks differ in length; keeping a prepared statement for each is waste.
            insert.persistent(chunk.len() == size).execute(write.connection()).await?;
        }
        write.commit().await
    }

    /// The tenant's rows that fit the filter, newest first.
    pub async fn query(
        self,
        tenant: &TenantId,
        filter: &Filter,
        page: PageRequest,
    ) -> Result<Page<AuditRow<'static>>> {
        let mut snapshot = self.0.snapshot().await?;
        let table = filter.kind.table();
        let total = filtered(format!("SELECT COUNT(*) FROM {table} WHERE {WHERE}"), tenant, filter)
            .fetch_one(&mut *snapshot)
            .await?
            .try_get(0)?;
        let sql = format!(
            "SELECT {COLUMNS} FROM {table} WHERE {WHERE} ORDER BY at DESC, id DESC LIMIT $8 OFFSET $9"
        );
        let rows = filtered(sql, tenant, filter)
            .bind(page.limit())
            .bind(page.offset())
            .fetch_all(&mut *snapshot)
            .await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// All rows that fit the filter, oldest first, step by step. Rows of calls that begin
    /// after this moment are left out, so an export always ends.
    #[must_use]
    pub fn export(self, tenant: &TenantId, mut filter: Filter) -> Export {
        let end = row::now() + 1;
        filter.to = Some(filter.to.map_or(end, |to| to.min(end)));
        Export {
            store: self.0.clone(),
            tenant: tenant.clone(),
            filter,
            after: Some((i64::MIN, String::new())),
        }
    }

    /// Deletes the rows of what began before `time`. Platform-wide: for the retention period.
    pub async fn purge_before(self, time: i64) -> Result<u64> {
        let mut count = 0;
        for kind in [Kind::Call, Kind::Management] {
            let mut tenant = self.tenant_after(kind, "").await?;
            while let Some(name) = tenant {
                count += self.purge_tenant(kind, &name, time).await?;
                tenant = self.tenant_after(kind, &name).await?;
            }
        }
        Ok(count)
    }

    /// The next tenant that has rows, by name: a step through the key, whatever the number of rows.
    async fn tenant_after(self, kind: Kind, tenant: &str) -> Result<Option<String>> {
        let sql = format!("SELECT MIN(tenant) FROM {} WHERE tenant > $1", kind.table());
        let row = sqlx::query(AssertSqlSafe(sql)).bind(tenant).fetch_one(self.0.pool()).await?;
        Ok(row.try_get(0)?)
    }

    async fn purge_tenant(self, kind: Kind, tenant: &str, time: i64) -> Result<u64> {
        let table = kind.table();
        let sql = format!(
            "DELETE FROM {table} WHERE (tenant, at, id) IN
                 (SELECT tenant, at, id FROM {table} WHERE tenant = $1 AND at < $2 ORDER BY at, id LIMIT $3)"
        );
        let mut count = 0;
        loop {
            let mut write = self.0.write().await?;
            let done = sqlx::query(AssertSqlSafe(sql.clone()))
                .bind(tenant)
                .bind(time)
                .bind(PURGE_STEP)
                .execute(write.connection())
                .await?;
            write.commit().await?;
            if done.rows_affected() == 0 {
                return Ok(count);
            }
            count += done.rows_affected();
        }
    }
}

/// An export under way; it holds no connection between its steps.
#[derive(Debug)]
pub struct Export {
    store: Store,
    tenant: TenantId,
    filter: Filter,
    /// The last row given; `None` at the end.
    after: Option<(i64, String)>,
}

impl Export {
    /// The next rows, at most a thousand; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<AuditRow<'static>>>> {
        let Some((at, id)) = self.after.clone() else { return Ok(None) };
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE {WHERE} AND (at, id) > ($8, $9) ORDER BY at, id LIMIT $10",
            self.filter.kind.table()
        );
        let rows = filtered(sql, &self.tenant, &self.filter)
            .bind(at)
            .bind(id)
            .bind(EXPORT_STEP)
            .fetch_all(self.store.pool())
            .await?;
        let rows = rows.iter().map(decode).collect::<Result<Vec<_>>>()?;
        self.after = rows.last().map(|row| (row.at, row.id.to_string()));
        Ok((!rows.is_empty()).then_some(rows))
    }
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Any, sqlx::any::AnyArguments>;

fn filtered<'q>(sql: String, tenant: &TenantId, filter: &Filter) -> Query<'q> {
    sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str().to_owned())
        .bind(filter.tool.as_deref().map(row::clean))
        .bind(filter.service.as_deref().map(row::clean))
        .bind(filter.caller.as_deref().map(row::clean))
        .bind(filter.status.as_deref().map(row::clean))
        .bind(filter.from)
        .bind(filter.to)
}

/// Puts one row into a transaction.
pub(crate) async fn insert(write: &mut Write, kind: Kind, row: &AuditRow<'_>) -> Result<()> {
    let sql = insert_statement(write.backend(), kind, 1);
    bind(sqlx::query(AssertSqlSafe(sql)), row)?.execute(write.connection()).await?;
    Ok(())
}

/// The statement for a whole chunk, made once.
fn whole_insert(backend: Backend) -> AssertSqlSafe<&'static str> {
    fn whole(backend: Backend) -> String {
        insert_statement(backend, Kind::Call, chunk_size(backend))
    }
    static SQLITE: LazyLock<String> = LazyLock::new(|| whole(Backend::Sqlite));
    static POSTGRES: LazyLock<String> = LazyLock::new(|| whole(Backend::Postgres));
    AssertSqlSafe(match backend {
        Backend::Sqlite => SQLITE.as_str(),
        Backend::Postgres => POSTGRES.as_str(),
    })
}

fn insert_statement(backend: Backend, kind: Kind, rows: usize) -> String {
    let values = values::rows(backend, rows, COLUMN_COUNT);
    format!("INSERT INTO {} ({COLUMNS}) VALUES {values} ON CONFLICT DO NOTHING", kind.table())
}

fn bind<'q>(query: Query<'q>, entry: &AuditRow<'_>) -> Result<Query<'q>> {
    Ok(query
        .bind(row::clean(&entry.tenant))
        .bind(entry.at)
        .bind(row::clean(&entry.id))
        .bind(row::clean(&entry.caller))
        .bind(row::clean(&entry.tool))
        .bind(row::clean(&entry.service))
        .bind(row::clean(&entry.status))
        .bind(entry.arguments.as_deref().map(row::clean))
        .bind(row::to_json(&entry.details)?))
}

fn decode(row: &AnyRow) -> Result<AuditRow<'static>> {
    Ok(AuditRow {
        id: row::text(row, "id")?.into(),
        tenant: row::text(row, "tenant")?.into(),
        at: row::integer(row, "at")?,
        caller: row::text(row, "caller")?.into(),
        tool: row::text(row, "tool")?.into(),
        service: row::text(row, "service")?.into(),
        arguments: row::optional_text(row, "arguments")?.map(Cow::from),
        status: row::text(row, "status")?.into(),
        details: row::json(row, "details")?,
    })
}
