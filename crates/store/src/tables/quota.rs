//! How much room the tables of a tenant may take, so that no caller fills the disk.

use crate::tables::Table;
use crate::{Error, Result, row as column};
use sqlx::AnyConnection;
use tool::TenantId;

/// What a tenant's tables and their older versions may take, unless the tenant says otherwise.
pub const TABLE_QUOTA_BYTES: i64 = 1024 * 1024 * 1024;

/// Refuses a document that has just been written and for which there is no room. Looked at with each snapshot:
/// the changes between two of them take no more room than the document itself.
///
/// Where there is no room, the table's older versions go first; one that has not grown is never refused, so that
/// there is a way back.
pub(crate) async fn check(connection: &mut AnyConnection, table: &Table, size_before: i64) -> Result<()> {
    let quota = quota(connection, &table.tenant).await?;
    if used(connection, &table.tenant).await? <= quota {
        return Ok(());
    }
    for sql in [
        "DELETE FROM table_versions WHERE tenant = $1 AND table_id = $2 AND version < $3",
        "DELETE FROM table_snapshots WHERE tenant = $1 AND table_id = $2 AND version < $3",
    ] {
        sqlx::query(sql)
            .bind(table.tenant.as_str())
            .bind(table.id.as_str())
            .bind(table.version)
            .execute(&mut *connection)
            .await?;
    }
    let used = used(connection, &table.tenant).await?;
    if used <= quota || table.size_bytes <= size_before {
        return Ok(());
    }
    let message = format!(
        "the tenant's tables with their older versions would take {used} bytes, its quota is {quota}; delete \
         tables or data, or let the platform's admin raise the tenant's table_quota_bytes"
    );
    Err(Error::invalid(message).at("data"))
}

async fn quota(connection: &mut AnyConnection, tenant: &TenantId) -> Result<i64> {
    let row = sqlx::query("SELECT COALESCE(table_quota_bytes, $2) AS quota FROM tenants WHERE id = $1")
        .bind(tenant.as_str())
        .bind(TABLE_QUOTA_BYTES)
        .fetch_optional(connection)
        .await?;
    row.map_or(Ok(TABLE_QUOTA_BYTES), |row| column::integer(&row, "quota"))
}

async fn used(connection: &mut AnyConnection, tenant: &TenantId) -> Result<i64> {
    let row = sqlx::query(
        "SELECT CAST(COALESCE((SELECT SUM(size_bytes) FROM table_snapshots WHERE tenant = $1), 0)
             + COALESCE((SELECT SUM(log_bytes) FROM tables WHERE tenant = $1), 0) AS BIGINT) AS used",
    )
    .bind(tenant.as_str())
    .fetch_one(connection)
    .await?;
    column::integer(&row, "used")
}
