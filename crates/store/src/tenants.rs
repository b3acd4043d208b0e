//! Tenants: the walls that nothing crosses.

use crate::error::check_text;
use crate::tables::TABLE_QUOTA_BYTES;
use crate::{Error, Page, PageRequest, Result, Status, Store, row};
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row as _};
use tool::{Limits, TenantId, ToolSearch};

/// Named one by one: `*` would break a running replica when a later version adds a column.
const COLUMNS: &str = "id, name, status, limits, table_quota_bytes, allow_private_network, tool_search, created_at, updated_at, version";

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tenant {
    /// Its name in URLs and tokens.
    pub id: TenantId,
    /// Its name for people.
    pub name: String,
    /// Whether its users and keys may do anything.
    pub status: Status,
    /// What all of it together may use.
    pub limits: Limits,
    /// Its services may say themselves that they call private addresses; `None`: while there is no other tenant.
    pub allow_private_network: Option<bool>,
    /// What its tables may take.
    pub table_quota_bytes: i64,
    /// How its door tells of its tools; `None`: as the server does.
    pub tool_search: Option<ToolSearch>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change.
    pub version: i64,
}

/// A tenant to be.
#[derive(Debug, Clone)]
pub struct NewTenant {
    /// Its name in URLs and tokens.
    pub id: TenantId,
    /// Its name for people.
    pub name: String,
    /// What all of it together may use.
    pub limits: Limits,
    /// Its services may say themselves that they call private addresses.
    pub allow_private_network: Option<bool>,
    /// What its tables may take; the usual unless given.
    pub table_quota_bytes: Option<i64>,
}

/// What to change; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct TenantChanges {
    /// The name for people.
    pub name: Option<String>,
    /// Whether it may be used.
    pub status: Option<Status>,
    /// What it may use.
    pub limits: Option<Limits>,
    /// Its services may say themselves that they call private addresses; `Some(None)` is while it is alone.
    pub allow_private_network: Option<Option<bool>>,
    /// What its tables may take; `Some(None)` is the usual.
    pub table_quota_bytes: Option<Option<i64>>,
    /// How its door tells of its tools; `Some(None)` is as the server does.
    pub tool_search: Option<Option<ToolSearch>>,
}

/// The tenants.
#[derive(Debug, Clone, Copy)]
pub struct Tenants<'a>(pub(crate) &'a Store);

impl Tenants<'_> {
    /// Adds a tenant; a taken id is a conflict.
    pub async fn create(self, new: NewTenant) -> Result<Tenant> {
        check_text("name", &new.name)?;
        let now = row::now();
        let mut write = self.0.write().await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "INSERT INTO tenants (id, name, status, limits, table_quota_bytes, created_at, updated_at, version,
                 allow_private_network)
             VALUES ($1, $2, $3, $4, $5, $6, $6, 1, $7) RETURNING {COLUMNS}"
        )))
        .bind(new.id.as_str())
        .bind(new.name)
        .bind(Status::Active.as_str())
        .bind(row::to_json(&new.limits)?)
        .bind(new.table_quota_bytes)
        .bind(now)
        .bind(new.allow_private_network.map(i64::from))
        .fetch_one(write.connection())
        .await?;
        write.commit_change(&new.id).await?;
        decode(&row)
    }

    /// The tenant.
    pub async fn get(self, tenant: &TenantId) -> Result<Tenant> {
        let row = sqlx::query(AssertSqlSafe(format!("SELECT {COLUMNS} FROM tenants WHERE id = $1")))
            .bind(tenant.as_str())
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// All tenants, oldest first. Platform-wide: for administrators.
    pub async fn list(self, page: PageRequest) -> Result<Page<Tenant>> {
        let mut snapshot = self.0.snapshot().await?;
        let total = sqlx::query("SELECT COUNT(*) AS total FROM tenants").fetch_one(&mut *snapshot).await?;
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM tenants ORDER BY created_at, id LIMIT $1 OFFSET $2"
        )))
        .bind(page.limit())
        .bind(page.offset())
        .fetch_all(&mut *snapshot)
        .await?;
        let items = rows.iter().map(decode).collect::<Result<_>>()?;
        Ok(page.of(items, row::integer(&total, "total")?))
    }

    /// Every tenant. Platform-wide: for the snapshots that calls are checked against.
    pub async fn all(self) -> Result<Vec<Tenant>> {
        let rows =
            sqlx::query(AssertSqlSafe(format!("SELECT {COLUMNS} FROM tenants ORDER BY created_at, id")))
                .fetch_all(self.0.pool())
                .await?;
        rows.iter().map(decode).collect()
    }

    /// How many tenants there are. Platform-wide: what one alone may do, it may not among others.
    pub async fn count(self) -> Result<i64> {
        let row = sqlx::query("SELECT COUNT(*) AS total FROM tenants").fetch_one(self.0.pool()).await?;
        row::integer(&row, "total")
    }

    /// Changes the tenant; with an expected version, only if it is still that one.
    pub async fn update(
        self,
        tenant: &TenantId,
        changes: TenantChanges,
        expected_version: Option<i64>,
    ) -> Result<Tenant> {
        check_text("name", changes.name.as_deref().unwrap_or_default())?;
        let mut write = self.0.write().await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "UPDATE tenants SET name = COALESCE($3, name), status = COALESCE($4, status),
                 limits = COALESCE($5, limits), updated_at = $6, version = version + 1,
                 allow_private_network = CASE WHEN $7 = 1 THEN $8 ELSE allow_private_network END,
                 table_quota_bytes = CASE WHEN $9 = 1 THEN $10 ELSE table_quota_bytes END,
                 tool_search = CASE WHEN $11 = 1 THEN $12 ELSE tool_search END
             WHERE id = $1 AND ($2 IS NULL OR version = $2) RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(expected_version)
        .bind(changes.name)
        .bind(changes.status.map(Status::as_str))
        .bind(changes.limits.as_ref().map(row::to_json).transpose()?)
        .bind(row::now())
        .bind(i64::from(changes.allow_private_network.is_some()))
        .bind(changes.allow_private_network.flatten().map(i64::from))
        .bind(i64::from(changes.table_quota_bytes.is_some()))
        .bind(changes.table_quota_bytes.flatten())
        .bind(i64::from(changes.tool_search.is_some()))
        .bind(changes.tool_search.flatten().as_ref().map(row::to_json).transpose()?)
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else {
            drop(write);
            self.get(tenant).await?;
            return Err(Error::stale("tenant"));
        };
        write.commit_change(tenant).await?;
        decode(&row)
    }

    /// Deletes the tenant with everything it has: users, keys, services, Tools, audit.
    pub async fn delete(self, tenant: &TenantId) -> Result<()> {
        let mut write = self.0.write().await?;
        // The rest goes with the tenant's row, by reference.
        let done = sqlx::query("DELETE FROM tenants WHERE id = $1")
            .bind(tenant.as_str())
            .execute(write.connection())
            .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        for sql in ["DELETE FROM audit WHERE tenant = $1", "DELETE FROM management WHERE tenant = $1"] {
            sqlx::query(sql).bind(tenant.as_str()).execute(write.connection()).await?;
        }
        write.commit_change(tenant).await
    }
}

fn missing() -> Error {
    Error::not_found("tenant")
}

fn decode(row: &AnyRow) -> Result<Tenant> {
    Ok(Tenant {
        id: row::parsed(row, "id")?,
        name: row::text(row, "name")?,
        status: Status::parse(&row::text(row, "status")?)?,
        limits: row::json(row, "limits")?,
        allow_private_network: row::optional_integer(row, "allow_private_network")?.map(|number| number != 0),
        table_quota_bytes: row.try_get::<Option<i64>, _>("table_quota_bytes")?.unwrap_or(TABLE_QUOTA_BYTES),
        tool_search: row::optional_json(row, "tool_search")?,
        created_at: row::integer(row, "created_at")?,
        updated_at: row::integer(row, "updated_at")?,
        version: row::integer(row, "version")?,
    })
}
