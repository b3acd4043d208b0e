//! What was said in a conversation: whole turns, each a question and its answer.

use crate::conversations::{Conversations, missing};
use crate::{ErrorKind, Result, leases, meta, row};
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::time::Duration;
use tool::{RunId, TenantId};

/// As many turns as are looked at together.
const MOST: i64 = 1_000;

/// A turn to be.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// The run that made it; one makes one turn, however often it is added.
    pub run: RunId,
    /// What was asked.
    pub prompt: String,
    /// What was answered.
    pub answer: String,
    /// Something that is not trusted was read for it, or before it.
    pub is_untrusted: bool,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The run that made it.
    pub run: RunId,
    /// Milliseconds since 1970.
    pub at: i64,
    /// What was asked.
    pub prompt: String,
    /// What was answered.
    pub answer: String,
    /// Something that is not trusted was read for it, or before it.
    pub is_untrusted: bool,
}

/// What is sealed of a turn.
#[derive(Serialize, Deserialize)]
struct Said {
    prompt: String,
    answer: String,
    /// Of what was said before this was written down nobody knows.
    #[serde(default = "yes")]
    is_untrusted: bool,
}

fn yes() -> bool {
    true
}

/// Of one turn.
pub(crate) fn turn_place(tenant: &str, conversation: &str, number: i64) -> String {
    format!("conversation/{tenant}/{conversation}/{number}")
}

impl Conversations<'_> {
    /// Adds a turn behind all others, keeps the last `most` of them, and the whole for `time` from now on. One that is gone
    /// is passed over.
    pub async fn add(
        self,
        tenant: &TenantId,
        id: &str,
        turn: &NewTurn,
        most: u32,
        time: Duration,
    ) -> Result<()> {
        let mut write = self.0.write().await?;
        let now = leases::now(write.backend());
        let sql = format!(
            "UPDATE conversations SET updated_at = {now}, expires_at = {now} + $3 WHERE tenant = $1 AND id = $2"
        );
        let found = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(id);
        let found = found.bind(leases::milliseconds(time)).execute(write.connection()).await?;
        if found.rows_affected() == 0 {
            return Ok(());
        }
        let last = sqlx::query(
            "SELECT COALESCE(MAX(number), 0) AS last FROM conversation_turns WHERE tenant = $1 AND conversation = $2",
        );
        let last = last.bind(tenant.as_str()).bind(id).fetch_one(write.connection()).await?;
        let number = row::integer(&last, "last")? + 1;
        let key_id = meta::sealing_key(self.0, &mut write).await?;
        let NewTurn { prompt, answer, is_untrusted, .. } = turn.clone();
        let said = row::to_json(&Said { prompt, answer, is_untrusted })?;
        let sealed = self.0.vault().seal(&key_id, &turn_place(tenant.as_str(), id, number), &said)?;
        let sql = format!(
            "INSERT INTO conversation_turns (tenant, conversation, number, run, at, bytes, said)
             VALUES ($1, $2, $3, $4, {now}, $5, $6) ON CONFLICT (tenant, conversation, run) DO NOTHING"
        );
        let inserted = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id)
            .bind(number)
            .bind(turn.run.as_str())
            .bind(i64::try_from(turn.prompt.len() + turn.answer.len()).unwrap_or(i64::MAX))
            .bind(sealed)
            .execute(write.connection())
            .await?;
        if inserted.rows_affected() == 0 {
            return write.commit().await;
        }
        sqlx::query(
            "DELETE FROM conversation_turns WHERE tenant = $1 AND conversation = $2 AND number <= $3",
        )
        .bind(tenant.as_str())
        .bind(id)
        .bind(number - i64::from(most))
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// The last turns that have no more than `bytes` together, in their order, and how many before them are left out, those
    /// that are kept no more among them.
    pub async fn turns(self, tenant: &TenantId, id: &str, bytes: usize) -> Result<(Vec<Turn>, usize)> {
        let sizes = sqlx::query(
            "SELECT number, bytes FROM conversation_turns WHERE tenant = $1 AND conversation = $2
             ORDER BY number DESC LIMIT $3",
        );
        let sizes = sizes.bind(tenant.as_str()).bind(id).bind(MOST).fetch_all(self.0.pool()).await?;
        let (mut left, mut first) = (i64::try_from(bytes).unwrap_or(i64::MAX), i64::MAX);
        let last = sizes.first().map_or(Ok(0), |size| row::integer(size, "number"))?;
        for size in &sizes {
            left -= row::integer(size, "bytes")?;
            if left < 0 {
                break;
            }
            first = row::integer(size, "number")?;
        }
        let rows = sqlx::query(
            "SELECT number, run, at, said FROM conversation_turns WHERE tenant = $1 AND conversation = $2 AND number >= $3
             ORDER BY number",
        );
        let rows = rows.bind(tenant.as_str()).bind(id).bind(first).fetch_all(self.0.pool()).await?;
        let turns: Result<Vec<_>> = rows.iter().map(|row| self.opened(tenant, id, row)).collect();
        // Turns are numbered from 1, without a gap.
        Ok((turns?, usize::try_from(last.min(first - 1)).unwrap_or(0)))
    }

    fn opened(self, tenant: &TenantId, id: &str, row: &AnyRow) -> Result<Turn> {
        let place = turn_place(tenant.as_str(), id, row::integer(row, "number")?);
        let said = self.0.vault().open(&place, &row::text(row, "said")?)?;
        let said = serde_json::from_str(&said).map_err(|_| row::undecodable("said"))?;
        let Said { prompt, answer, is_untrusted } = said;
        Ok(Turn { run: row::parsed(row, "run")?, at: row::integer(row, "at")?, prompt, answer, is_untrusted })
    }

    /// The conversation of this caller with that agent.
    pub async fn own(self, tenant: &TenantId, id: &str, agent: &str, caller: &str) -> Result<()> {
        match self.get(tenant, id).await {
            Ok(found) if found.agent == agent && found.caller == caller => Ok(()),
            Ok(_) => Err(missing()),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(missing()),
            Err(error) => Err(error),
        }
    }
}
