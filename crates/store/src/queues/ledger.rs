//! What a transaction changes in the rows of queues, all at once and in one order.

use crate::database::Write;
use crate::{Result, row};
use sqlx::AssertSqlSafe;
use std::collections::BTreeMap;
use tool::TenantId;

/// Changes by queue.
#[derive(Default)]
pub(super) struct Ledger(BTreeMap<(TenantId, String), Change>);

#[derive(Default)]
struct Change {
    /// How many new positions are needed.
    added: i64,
    messages: i64,
    bytes: i64,
}

/// The next free position of each queue that got messages.
pub(super) struct Positions(BTreeMap<(TenantId, String), i64>);

impl Ledger {
    pub(super) fn add(&mut self, tenant: &TenantId, queue: &str, bytes: i64) {
        let change = self.0.entry((tenant.clone(), queue.to_owned())).or_default();
        change.added += 1;
        change.messages += 1;
        change.bytes += bytes;
    }

    pub(super) fn remove(&mut self, tenant: &TenantId, queue: &str, bytes: i64) {
        let change = self.0.entry((tenant.clone(), queue.to_owned())).or_default();
        change.messages -= 1;
        change.bytes -= bytes;
    }

    /// Writes the changes; the rows stay locked until the transaction ends, so that positions become visible in order.
    pub(super) async fn write(self, write: &mut Write) -> Result<Positions> {
        let mut positions = BTreeMap::new();
        for ((tenant, queue), change) in self.0 {
            let sql = "INSERT INTO queues (tenant, name, last_position, messages, bytes) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (tenant, name) DO UPDATE SET last_position = queues.last_position + excluded.last_position,
                     messages = queues.messages + excluded.messages, bytes = queues.bytes + excluded.bytes
                 RETURNING last_position";
            let row = sqlx::query(sql)
                .bind(tenant.as_str())
                .bind(queue.as_str())
                .bind(change.added)
                .bind(change.messages)
                .bind(change.bytes)
                .fetch_one(write.connection())
                .await?;
            let last = row::integer(&row, "last_position")?;
            positions.insert((tenant, queue), last - change.added + 1);
        }
        Ok(Positions(positions))
    }
}

impl Positions {
    pub(super) fn next(&mut self, tenant: &TenantId, queue: &str) -> i64 {
        let next = self.0.entry((tenant.clone(), queue.to_owned())).or_insert(1);
        *next += 1;
        *next - 1
    }
}

/// What the queues of a tenant hold together.
pub(super) async fn held_by(write: &mut Write, tenant: &TenantId) -> Result<(i64, i64)> {
    let sql = "SELECT CAST(COALESCE(SUM(messages), 0) AS BIGINT) AS messages,
                   CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM queues WHERE tenant = $1";
    let row = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).fetch_one(write.connection()).await?;
    Ok((row::integer(&row, "messages")?, row::integer(&row, "bytes")?))
}
