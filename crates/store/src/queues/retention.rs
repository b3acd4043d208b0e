//! What nobody came for in a long time goes, so that services that are gone do not fill a tenant's room for ever.

use crate::queues::ledger::Ledger;
use crate::{Result, Store, leases, row};
use sqlx::AssertSqlSafe;
use std::time::Duration;

/// How long a message waits at the most once it is due.
const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// As many as one transaction deletes; the rest goes the next time.
const CHUNK: usize = 10_000;

impl Store {
    /// Deletes messages that have been due for 90 days, and what is known of keys and calls that are over. Platform-wide.
    pub async fn sweep_queues(&self) -> Result<()> {
        let mut write = self.write().await?;
        let now = leases::now(self.backend());
        let kept = leases::milliseconds(KEPT);
        let sql = format!(
            "DELETE FROM queue_messages WHERE (tenant, queue, position) IN
                 (SELECT tenant, queue, position FROM queue_messages WHERE due_at < {now} - {kept} LIMIT {CHUNK})
             RETURNING tenant, queue, bytes"
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(write.connection()).await?;
        let mut ledger = Ledger::default();
        for found in &rows {
            let queue = row::text(found, "queue")?;
            ledger.remove(&row::parsed(found, "tenant")?, &queue, row::integer(found, "bytes")?);
        }
        ledger.write(&mut write).await?;
        for sql in [
            format!("DELETE FROM later_calls WHERE failure IS NOT NULL AND due_at < {now} - {kept}"),
            format!("DELETE FROM once_results WHERE until < {now}"),
        ] {
            sqlx::query(AssertSqlSafe(sql)).execute(write.connection()).await?;
        }
        write.commit().await
    }
}
