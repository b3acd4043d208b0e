//! Revisions: a number that grows with every change of configuration, kept per tenant.

use crate::database::Backend;
use crate::{Result, Store, row};
use sqlx::AnyConnection;
use sqlx::Row as _;
use tool::TenantId;

/// The channel that PostgreSQL replicas listen on.
pub(crate) const CHANNEL: &str = "mcp_all_in_one_revision";

/// The counter's row; no tenant can have this name.
const COUNTER: &str = "*";

/// What changed when.
#[derive(Debug, Clone, Copy)]
pub struct Revisions<'a>(pub(crate) &'a Store);

impl Revisions<'_> {
    /// The number of the last change.
    pub async fn current(self) -> Result<i64> {
        let row = sqlx::query("SELECT value FROM revisions WHERE tenant = $1")
            .bind(COUNTER)
            .fetch_one(self.0.pool())
            .await?;
        row::integer(&row, "value")
    }

    /// The number of the last change, and the tenants changed after `revision`, deleted ones too.
    pub async fn changed_since(self, revision: i64) -> Result<(i64, Vec<TenantId>)> {
        let rows = sqlx::query("SELECT tenant, value FROM revisions WHERE value > $1 ORDER BY value, tenant")
            .bind(revision)
            .fetch_all(self.0.pool())
            .await?;
        let mut latest = revision;
        let mut tenants = Vec::with_capacity(rows.len());
        for row in &rows {
            latest = latest.max(row::integer(row, "value")?);
            if row::text(row, "tenant")? != COUNTER {
                tenants.push(row::parsed(row, "tenant")?);
            }
        }
        Ok((latest, tenants))
    }
}

/// Counts one change of the tenant within the transaction that makes it.
pub(crate) async fn bump(connection: &mut AnyConnection, backend: Backend, tenant: &TenantId) -> Result<()> {
    let row = sqlx::query("UPDATE revisions SET value = value + 1 WHERE tenant = $1 RETURNING value")
        .bind(COUNTER)
        .fetch_one(&mut *connection)
        .await?;
    let value: i64 = row.try_get(0)?;
    sqlx::query(
        "INSERT INTO revisions (tenant, value) VALUES ($1, $2)
         ON CONFLICT (tenant) DO UPDATE SET value = excluded.value",
    )
    .bind(tenant.as_str())
    .bind(value)
    .execute(&mut *connection)
    .await?;
    if backend == Backend::Postgres {
        sqlx::query("SELECT pg_notify($1, $2)")
            .bind(CHANNEL)
            .bind(value.to_string())
            .execute(connection)
            .await?;
    }
    Ok(())
}
