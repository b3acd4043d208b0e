//! What nobody came for in a long time goes, so that services that are gone do not fill a tenant's room for ever.

use crate::{Result, Store, leases};
use sqlx::AssertSqlSafe;
use std::time::Duration;

/// How long a message waits at the most once it is due.
const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);

impl Store {
    /// Deletes messages that have been due for 90 days, and what is known of keys and calls that are over. Platform-wide.
    pub async fn sweep_queues(&self) -> Result<()> {
        let mut write = self.write().await?;
        let now = leases::now(self.backend());
        let kept = leases::milliseconds(KEPT);
        for sql in [
            format!("DELETE FROM queue_messages WHERE due_at < {now} - {kept}"),
            "UPDATE queues SET messages = counted.messages, bytes = counted.bytes FROM
                 (SELECT q.tenant, q.name, COUNT(m.position) AS messages, CAST(COALESCE(SUM(m.bytes), 0) AS BIGINT) AS bytes
                  FROM queues q LEFT JOIN queue_messages m ON m.tenant = q.tenant AND m.queue = q.name
                  GROUP BY q.tenant, q.name) AS counted
             WHERE queues.tenant = counted.tenant AND queues.name = counted.name AND queues.messages <> counted.messages"
                .to_owned(),
            format!("DELETE FROM later_calls WHERE failure IS NOT NULL AND due_at < {now} - {kept}"),
            format!("DELETE FROM once_results WHERE until < {now}"),
        ] {
            sqlx::query(AssertSqlSafe(sql)).execute(write.connection()).await?;
        }
        write.commit().await
    }
}
