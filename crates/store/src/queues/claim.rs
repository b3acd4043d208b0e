//! Reading a queue: looking, and taking for a while.

use crate::database::{Backend, Write};
use crate::queues::row::{COLUMNS, decode, decode_all};
use crate::queues::whole;
use crate::{Result, Store, leases};
use sqlx::AssertSqlSafe;
use std::time::Duration;
use tool::TenantId;
use tool::queue::{Claim, Order, QueuedMessage};

/// What could be had now.
fn due(backend: Backend) -> String {
    let now = leases::now(backend);
    format!("tenant = $1 AND queue = $2 AND due_at <= {now} AND leased_until <= {now}")
}

pub(super) async fn peek(
    store: &Store,
    tenant: &TenantId,
    queue: &str,
    skip: usize,
    max: usize,
) -> Result<Vec<QueuedMessage>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM queue_messages WHERE {} ORDER BY due_at, position LIMIT $3 OFFSET $4",
        due(store.backend())
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(queue)
        .bind(whole(max))
        .bind(whole(skip))
        .fetch_all(store.pool())
        .await?;
    rows.iter().map(decode).collect()
}

/// A look that costs no write, for those who come often and find nothing.
async fn is_empty(store: &Store, tenant: &TenantId, queue: &str) -> Result<bool> {
    let sql = format!("SELECT 1 FROM queue_messages WHERE {} LIMIT 1", due(store.backend()));
    let query = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(queue);
    Ok(query.fetch_optional(store.pool()).await?.is_none())
}

pub(super) async fn claim(
    store: &Store,
    tenant: &TenantId,
    queue: &str,
    max: usize,
    order: Order,
    lease: Duration,
) -> Result<Vec<QueuedMessage>> {
    if is_empty(store, tenant, queue).await? {
        return Ok(Vec::new());
    }
    let mut write = store.write().await?;
    let now = leases::now(write.backend());
    let sql = format!(
        "WITH {} UPDATE queue_messages SET attempt = attempt + 1, leased_until = {now} + $4
         WHERE tenant = $1 AND queue = $2 AND position IN (SELECT position FROM chosen WHERE leased_until <= {now})
         RETURNING {COLUMNS}",
        chosen(write.backend(), order)
    );
    let max = match order {
        Order::Any => max,
        Order::Strict => 1,
    };
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(queue)
        .bind(whole(max))
        .bind(leases::milliseconds(lease))
        .fetch_all(write.connection())
        .await?;
    write.commit().await?;
    decode_all(&rows)
}

/// The next messages, locked. In strict order that is the first one, even while somebody else has it.
fn chosen(backend: Backend, order: Order) -> String {
    let now = leases::now(backend);
    let free = match order {
        Order::Any => format!("AND leased_until <= {now}"),
        Order::Strict => String::new(),
    };
    let lock = match (backend, order) {
        (Backend::Sqlite, _) => "",
        (Backend::Postgres, Order::Any) => "FOR UPDATE SKIP LOCKED",
        (Backend::Postgres, Order::Strict) => "FOR UPDATE",
    };
    format!(
        "chosen AS MATERIALIZED (
             SELECT position, leased_until FROM queue_messages
             WHERE tenant = $1 AND queue = $2 AND due_at <= {now} {free} ORDER BY due_at, position LIMIT $3 {lock})"
    )
}

/// Whether the message is still ours, and now for longer.
pub(super) async fn renew(
    store: &Store,
    tenant: &TenantId,
    queue: &str,
    claim: Claim,
    lease: Duration,
) -> Result<bool> {
    let mut write: Write = store.write().await?;
    let now = leases::now(write.backend());
    let sql = format!(
        "UPDATE queue_messages SET leased_until = {now} + $5
         WHERE tenant = $1 AND queue = $2 AND position = $3 AND attempt = $4"
    );
    let done = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(queue)
        .bind(claim.position)
        .bind(i64::from(claim.attempt))
        .bind(leases::milliseconds(lease))
        .execute(write.connection())
        .await?;
    write.commit().await?;
    Ok(done.rows_affected() == 1)
}
