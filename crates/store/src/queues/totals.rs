//! How many calls of a tenant wait for their time: a row that changes with them. Calls are locked first, then this row.

use crate::database::Write;
use crate::queues::{QUEUE_QUOTA_BYTES, whole};
use crate::{Result, row};
use tool::TenantId;

/// The most that one tenant may have waiting.
const MAX_CALLS: i64 = 100_000;

/// What waits.
pub(super) struct Totals {
    calls: i64,
    bytes: i64,
}

impl Totals {
    pub(super) fn has_room(&self) -> bool {
        self.calls <= MAX_CALLS && self.bytes <= QUEUE_QUOTA_BYTES
    }
}

/// Counts a call with these arguments: what waits with it.
pub(super) async fn add(write: &mut Write, tenant: &TenantId, arguments: &str) -> Result<Totals> {
    change(write, tenant, 1, whole(arguments.len())).await
}

/// Counts calls no more.
pub(super) async fn remove(write: &mut Write, tenant: &TenantId, calls: i64, bytes: i64) -> Result<()> {
    change(write, tenant, -calls, -bytes).await.map(drop)
}

async fn change(write: &mut Write, tenant: &TenantId, calls: i64, bytes: i64) -> Result<Totals> {
    let sql = "INSERT INTO later_totals (tenant, calls, bytes) VALUES ($1, $2, $3)
         ON CONFLICT (tenant) DO UPDATE SET calls = later_totals.calls + excluded.calls,
             bytes = later_totals.bytes + excluded.bytes
         RETURNING calls, bytes";
    let changed =
        sqlx::query(sql).bind(tenant.as_str()).bind(calls).bind(bytes).fetch_one(write.connection()).await?;
    Ok(Totals { calls: row::integer(&changed, "calls")?, bytes: row::integer(&changed, "bytes")? })
}

/// Deletes the calls whose id begins so, which belong to something that is gone.
pub(crate) async fn forget_later_calls(write: &mut Write, tenant: &TenantId, start: &str) -> Result<()> {
    let sql = "DELETE FROM later_calls WHERE tenant = $1 AND substr(id, 1, length($2)) = $2
         RETURNING CASE WHEN failure IS NULL THEN CAST(octet_length(arguments) AS BIGINT) END AS waiting";
    let gone = sqlx::query(sql).bind(tenant.as_str()).bind(start).fetch_all(write.connection()).await?;
    let (mut calls, mut bytes) = (0, 0);
    for gone in &gone {
        if let Some(size_bytes) = row::optional_integer(gone, "waiting")? {
            calls += 1;
            bytes += size_bytes;
        }
    }
    if calls > 0 {
        remove(write, tenant, calls, bytes).await?;
    }
    Ok(())
}
