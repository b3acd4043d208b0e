//! Messages as rows.

use crate::database::Write;
use crate::queues::attempt_of;
use crate::{Result, row, values};
use serde_json::value::RawValue;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use tool::TenantId;
use tool::queue::QueuedMessage;

pub(super) const COLUMNS: &str = "position, id, body, key, headers, bytes, published_at, due_at, attempt";

/// As many as the parameters of one statement allow.
const CHUNK: usize = 500;

/// A message that is about to be written.
pub(super) struct NewRow {
    pub(super) tenant: TenantId,
    pub(super) queue: String,
    pub(super) position: i64,
    pub(super) id: String,
    pub(super) body: String,
    pub(super) key: Option<String>,
    pub(super) headers: String,
    pub(super) bytes: i64,
    pub(super) published_at: i64,
    pub(super) due_at: i64,
}

pub(super) fn decode(row: &AnyRow) -> Result<QueuedMessage> {
    Ok(QueuedMessage {
        id: row::text(row, "id")?,
        body: RawValue::from_string(row::text(row, "body")?).map_err(|_| row::undecodable("body"))?,
        key: row::optional_text(row, "key")?,
        headers: row::json(row, "headers")?,
        published_at: row::integer(row, "published_at")?,
        position: row::integer(row, "position")?,
        attempt: attempt_of(row)?,
    })
}

/// In the order in which they are due; `RETURNING` has none.
pub(super) fn decode_all(rows: &[AnyRow]) -> Result<Vec<QueuedMessage>> {
    let mut messages = Vec::with_capacity(rows.len());
    for row in rows {
        messages.push((row::integer(row, "due_at")?, decode(row)?));
    }
    messages.sort_by_key(|(due_at, message)| (*due_at, message.position));
    Ok(messages.into_iter().map(|(_, message)| message).collect())
}

pub(super) async fn insert(write: &mut Write, rows: &[NewRow]) -> Result<()> {
    for chunk in rows.chunks(CHUNK) {
        let sql = format!(
            "INSERT INTO queue_messages
                 (tenant, queue, position, id, body, key, headers, bytes, published_at, due_at, leased_until, attempt)
             VALUES {}",
            values::rows(write.backend(), chunk.len(), 12)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for row in chunk {
            query = query
                .bind(row.tenant.as_str())
                .bind(row.queue.as_str())
                .bind(row.position)
                .bind(row.id.as_str())
                .bind(row.body.as_str())
                .bind(row.key.as_deref())
                .bind(row.headers.as_str())
                .bind(row.bytes)
                .bind(row.published_at)
                .bind(row.due_at)
                .bind(0_i64)
                .bind(0_i64);
        }
        query.persistent(chunk.len() == 1).execute(write.connection()).await?;
    }
    Ok(())
}
