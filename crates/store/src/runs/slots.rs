//! Slots: how many runs of a group are under way at once. Who finds none waits until one becomes free.

use crate::Result;
use crate::database::Write;
use crate::{leases, row};
use sqlx::AssertSqlSafe;
use tool::TenantId;

/// The group of all runs of a tenant; no flow has this name.
pub(crate) const WHOLE_TENANT: &str = "";

/// Holds the group's row until the transaction ends and says how many slots of it are free. A group that was forgotten
/// while nobody was in it has one, until whoever starts next says how many.
pub(crate) async fn lock(
    write: &mut Write,
    tenant: &TenantId,
    group: &str,
    slots: Option<i64>,
) -> Result<i64> {
    let row = sqlx::query(
        "INSERT INTO run_slots (tenant, group_key, slots, taken) VALUES ($1, $2, COALESCE($3, 1), 0)
         ON CONFLICT (tenant, group_key) DO UPDATE SET slots = COALESCE($3, run_slots.slots)
         RETURNING slots - taken AS free",
    )
    .bind(tenant.as_str())
    .bind(group)
    .bind(slots)
    .fetch_one(write.connection())
    .await?;
    row::integer(&row, "free")
}

/// Gives the free slots of a group that is locked to the runs that have waited longest.
pub(crate) async fn admit(write: &mut Write, tenant: &TenantId, group: &str, free: i64) -> Result<()> {
    if free <= 0 {
        return Ok(());
    }
    let now = leases::now(write.backend());
    let sql = format!(
        "UPDATE runs SET is_admitted = 1, due_at = {now} WHERE tenant = $1 AND id IN
             (SELECT id FROM runs WHERE tenant = $1 AND group_key = $2 AND is_admitted = 0
              ORDER BY created_at, id LIMIT $3)"
    );
    let done = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(group)
        .bind(free)
        .execute(write.connection())
        .await?;
    take(write, tenant, group, i64::try_from(done.rows_affected()).unwrap_or(i64::MAX)).await
}

/// A run of the group has ended: its slot goes to the next.
pub(crate) async fn release(write: &mut Write, tenant: &TenantId, group: &str) -> Result<()> {
    let free = lock(write, tenant, group, None).await?;
    take(write, tenant, group, -1).await?;
    admit(write, tenant, group, free + 1).await
}

async fn take(write: &mut Write, tenant: &TenantId, group: &str, count: i64) -> Result<()> {
    sqlx::query("UPDATE run_slots SET taken = taken + $3 WHERE tenant = $1 AND group_key = $2")
        .bind(tenant.as_str())
        .bind(group)
        .bind(count)
        .execute(write.connection())
        .await?;
    Ok(())
}
