//! Deleting what is old, in steps.

use super::{Audit, Kind};
use crate::Result;
use sqlx::{AssertSqlSafe, Row as _};

/// Rows per step, so that no lock is held for long.
const PURGE_STEP: i64 = 5000;

impl Audit<'_> {
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
