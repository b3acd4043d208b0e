//! Runs that ended long ago are deleted, a few at a time.

use crate::runs::{Runs, missing};
use crate::{Error, ErrorKind, Result, leases};
use sqlx::AssertSqlSafe;
use std::time::Duration;
use tool::{RunId, TenantId};

/// How many runs one transaction deletes, with everything that belongs to them.
const STEP: i64 = 200;

/// How long runs are kept that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Those that succeeded.
    pub succeeded: Duration,
    /// Those that failed or were cancelled.
    pub failed: Duration,
}

impl Runs<'_> {
    /// Deletes what has been kept long enough, and says how many runs that were. Platform-wide.
    pub async fn sweep(self, retention: Retention) -> Result<u64> {
        let now = leases::now(self.0.backend());
        let (succeeded, failed) =
            (leases::milliseconds(retention.succeeded), leases::milliseconds(retention.failed));
        let sql = format!(
            "DELETE FROM runs WHERE (tenant, id) IN
                 (SELECT tenant, id FROM runs WHERE ended_at <= {now} - {sooner}
                      AND ended_at <= {now} - CASE WHEN state = 'succeeded' THEN {succeeded} ELSE {failed} END
                  LIMIT {STEP})",
            sooner = succeeded.min(failed),
        );
        let count = self.delete_in_steps(&sql).await?;
        self.delete_in_steps(&format!(
            "DELETE FROM run_dedupe WHERE (tenant, flow, key) IN
                 (SELECT tenant, flow, key FROM run_dedupe WHERE until <= {now} LIMIT {STEP})"
        ))
        .await?;
        self.delete_in_steps(&format!(
            "DELETE FROM run_slots WHERE taken = 0 AND (tenant, group_key) IN
                 (SELECT tenant, group_key FROM run_slots WHERE taken = 0 AND group_key <> '' LIMIT {STEP})"
        ))
        .await?;
        Ok(count)
    }

    /// Deletes a run that has ended, with everything that belongs to it.
    pub async fn delete(self, tenant: &TenantId, id: &RunId) -> Result<()> {
        let mut write = self.0.write().await?;
        let done = sqlx::query("DELETE FROM runs WHERE tenant = $1 AND id = $2 AND ended_at IS NOT NULL")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .execute(write.connection())
            .await?;
        if done.rows_affected() == 0 {
            self.read(write.connection(), tenant, id).await.map_err(|_| missing())?;
            return Err(Error::new(ErrorKind::Conflict, "the run has not ended"));
        }
        write.commit().await
    }

    async fn delete_in_steps(self, sql: &str) -> Result<u64> {
        let mut count = 0;
        loop {
            let mut write = self.0.write().await?;
            let done = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(write.connection()).await?;
            write.commit().await?;
            count += done.rows_affected();
            if done.rows_affected() < STEP.unsigned_abs() {
                return Ok(count);
            }
        }
    }
}
