//! Tables: JSON documents of tenants, kept as snapshots and the changes since.

mod documents;
mod log;
mod quota;
mod steps;

pub use documents::{Documents, Loaded};
pub use log::TableVersion;
pub use quota::TABLE_QUOTA_BYTES;
pub use steps::TableStep;

use crate::error::check_text;
use crate::page::List;
use crate::{Error, Page, PageRequest, Result, Store, row as column};
use document::{Change, Node};
use log::Log;
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe};
use tool::{TableId, TenantId};

/// The most bytes of a document.
pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024 * 1024;

const COLUMNS: &str = "tenant, id, name, description, owner, size_bytes, log_count, log_bytes,
    created_at, updated_at, version";

/// A table without its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Where the table belongs.
    pub tenant: TenantId,
    /// Never changes, whatever the table is called.
    pub id: TableId,
    /// Its name for people.
    pub name: String,
    /// What it is about.
    pub description: Option<String>,
    /// The id of the key or user that made it.
    pub owner: String,
    /// How many bytes the document has as text, roughly.
    pub size_bytes: i64,
    /// Changes since the last snapshot.
    #[serde(skip)]
    pub(crate) log: Log,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change of the document.
    pub version: i64,
}

/// A table to be.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// Its name for people.
    pub name: String,
    /// What it is about.
    pub description: Option<String>,
    /// The id of the key or user that makes it.
    pub owner: String,
    /// What is in it.
    pub document: Node,
}

/// What to change besides the document; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct TableChanges {
    /// The name for people.
    pub name: Option<String>,
    /// What it is about; `Some(None)` removes the text.
    pub description: Option<Option<String>>,
}

/// Which tables to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct TableFilter {
    /// Of this owner only.
    pub owner: Option<String>,
    /// With this text in name or description, in any case.
    pub text: Option<String>,
}

/// The tables of the tenants.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a>(pub(crate) &'a Store);

impl Tables<'_> {
    /// Adds a table.
    pub async fn create(self, tenant: &TenantId, new: NewTable) -> Result<Table> {
        check_texts(&new.name, new.description.as_deref())?;
        check_depth(&new.document)?;
        let content = log::text_of(&new.document).await?;
        let size_bytes = check_size(content.len())?;
        let now = column::now();
        let table = Table {
            tenant: tenant.clone(),
            id: TableId::generate(),
            name: new.name,
            description: new.description,
            owner: new.owner,
            size_bytes,
            log: Log::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        };
        let mut write = self.0.write().await?;
        sqlx::query(
            "INSERT INTO tables (tenant, id, name, description, search, owner, size_bytes, log_count, log_bytes,
                 created_at, updated_at, version)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $8, 1)",
        )
        .bind(tenant.as_str())
        .bind(table.id.as_str())
        .bind(table.name.as_str())
        .bind(table.description.as_deref())
        .bind(search_text(&table.name, table.description.as_deref()))
        .bind(table.owner.as_str())
        .bind(table.size_bytes)
        .bind(now)
        .execute(write.connection())
        .await?;
        log::note(write.connection(), &table, None, &table.owner).await?;
        log::snapshot(write.connection(), &table, content).await?;
        quota::check(write.connection(), &table, 0).await?;
        write.commit().await?;
        Ok(table)
    }

    /// The table, without its document.
    pub async fn get(self, tenant: &TenantId, id: &TableId) -> Result<Table> {
        let mut connection = self.0.pool().acquire().await?;
        self.get_in(&mut connection, tenant, id).await
    }

    pub(crate) async fn get_in(
        self,
        connection: &mut AnyConnection,
        tenant: &TenantId,
        id: &TableId,
    ) -> Result<Table> {
        let sql = format!("SELECT {COLUMNS} FROM tables WHERE tenant = $1 AND id = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(connection)
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// The tenant's tables that fit the filter, oldest first.
    pub async fn list(
        self,
        tenant: &TenantId,
        filter: &TableFilter,
        page: PageRequest,
    ) -> Result<Page<Table>> {
        const WHERE: &str =
            "tenant = $1 AND ($2 IS NULL OR owner = $2) AND ($3 IS NULL OR search LIKE $3 ESCAPE '!')";
        let bound = |sql: String| {
            sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str().to_owned())
                .bind(filter.owner.clone())
                .bind(filter.text.as_deref().map(column::pattern))
        };
        let list = List {
            columns: COLUMNS,
            from: &format!("tables WHERE {WHERE}"),
            order: "created_at, id",
            values: 3,
        };
        let (rows, total) = page.read(self.0, &list, bound).await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// Changes what is not the document.
    pub async fn update(self, tenant: &TenantId, id: &TableId, changes: TableChanges) -> Result<Table> {
        let mut write = self.0.write().await?;
        let mut table = lock(write.connection(), tenant, id).await?;
        table.name = changes.name.unwrap_or(table.name);
        table.description = changes.description.unwrap_or(table.description);
        check_texts(&table.name, table.description.as_deref())?;
        table.updated_at = column::now();
        sqlx::query(
            "UPDATE tables SET name = $3, description = $4, search = $5, updated_at = $6
             WHERE tenant = $1 AND id = $2",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(table.name.as_str())
        .bind(table.description.as_deref())
        .bind(search_text(&table.name, table.description.as_deref()))
        .bind(table.updated_at)
        .execute(write.connection())
        .await?;
        write.commit().await?;
        Ok(table)
    }

    /// Deletes the table with every version.
    pub async fn delete(self, tenant: &TenantId, id: &TableId) -> Result<()> {
        let mut write = self.0.write().await?;
        let done = sqlx::query("DELETE FROM tables WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .execute(write.connection())
            .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        write.commit().await
    }
}

/// Writes a change down: only itself, or the whole document when the changes since the last
/// snapshot have become more than it is worth reading again.
pub(crate) async fn write_change(
    connection: &mut AnyConnection,
    table: &mut Table,
    change: &Change,
    document: &Node,
    by: &str,
    size_before: i64,
) -> Result<()> {
    table.version += 1;
    table.updated_at = column::now();
    let mut is_snapshot = true;
    if let Change::Set { value } = change {
        let content = log::text_of(value).await?;
        table.size_bytes = check_size(content.len())?;
        table.log = Log::default();
        log::note(connection, table, None, by).await?;
        log::snapshot(connection, table, content).await?;
    } else {
        let size = usize::try_from(table.size_bytes).unwrap_or_default();
        check_size(size)?;
        let text = column::to_json(change)?;
        table.log.add(text.len());
        log::note(connection, table, Some(text), by).await?;
        is_snapshot = table.log.is_due(size);
        if is_snapshot {
            let content = log::text_of(document).await?;
            table.size_bytes = i64::try_from(content.len()).unwrap_or(i64::MAX);
            table.log = Log::default();
            log::snapshot(connection, table, content).await?;
        }
    }
    sqlx::query(
        "UPDATE tables SET size_bytes = $3, log_count = $4, log_bytes = $5, updated_at = $6, version = $7
         WHERE tenant = $1 AND id = $2",
    )
    .bind(table.tenant.as_str())
    .bind(table.id.as_str())
    .bind(table.size_bytes)
    .bind(table.log.count)
    .bind(table.log.bytes)
    .bind(table.updated_at)
    .bind(table.version)
    .execute(&mut *connection)
    .await?;
    if is_snapshot { quota::check(connection, table, size_before).await } else { Ok(()) }
}

/// Holds the row until the transaction ends, so that changes follow one another.
pub(crate) async fn lock(connection: &mut AnyConnection, tenant: &TenantId, id: &TableId) -> Result<Table> {
    let sql =
        format!("UPDATE tables SET version = version WHERE tenant = $1 AND id = $2 RETURNING {COLUMNS}");
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(id.as_str())
        .fetch_optional(connection)
        .await?;
    decode(&row.ok_or_else(missing)?)
}

pub(crate) fn missing() -> Error {
    Error::not_found("table")
}

fn check_size(size_bytes: usize) -> Result<i64> {
    if size_bytes > MAX_DOCUMENT_BYTES {
        let message =
            format!("the document would have {size_bytes} bytes; a table keeps at most {MAX_DOCUMENT_BYTES}");
        return Err(Error::invalid(message).at("data"));
    }
    Ok(i64::try_from(size_bytes).unwrap_or(i64::MAX))
}

fn check_depth(document: &Node) -> Result<()> {
    let depth = document.depth();
    if depth > document::MAX_DEPTH {
        let message =
            format!("the document is {depth} levels deep; at most {} are kept", document::MAX_DEPTH);
        return Err(Error::invalid(message).at("data"));
    }
    Ok(())
}

fn check_texts(name: &str, description: Option<&str>) -> Result<()> {
    check_text("name", name)?;
    check_text("description", description.unwrap_or_default())
}

fn search_text(name: &str, description: Option<&str>) -> String {
    [name, description.unwrap_or_default()].join("\n").to_lowercase()
}

fn decode(row: &AnyRow) -> Result<Table> {
    Ok(Table {
        tenant: column::parsed(row, "tenant")?,
        id: column::parsed(row, "id")?,
        name: column::text(row, "name")?,
        description: column::optional_text(row, "description")?,
        owner: column::text(row, "owner")?,
        size_bytes: column::integer(row, "size_bytes")?,
        log: Log { count: column::integer(row, "log_count")?, bytes: column::integer(row, "log_bytes")? },
        created_at: column::integer(row, "created_at")?,
        updated_at: column::integer(row, "updated_at")?,
        version: column::integer(row, "version")?,
    })
}
