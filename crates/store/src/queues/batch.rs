//! One transaction for many callers: messages that come, go, come again or are given up.

use crate::database::Write;
use crate::queues::ledger::{self, Ledger};
use crate::queues::row::{COLUMNS, NewRow, decode};
use crate::queues::writer::{Job, Outcome, Work};
use crate::queues::{QUEUE_QUOTA_BYTES, QUEUE_QUOTA_MESSAGES, row as message_row, whole};
use crate::{Result, Store, leases, row, values};
use sqlx::AssertSqlSafe;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tool::TenantId;
use tool::queue::{Claim, DEAD, DEAD_REASON, NewMessage, OnceKey, Published, Settlement};

/// The longest reason that is kept with a dead letter.
const MAX_REASON_CHARACTERS: usize = 1000;

/// Does the work of all jobs or of none.
pub(super) async fn write(store: &Store, jobs: &[&Job]) -> Result<Vec<Outcome>> {
    let mut batch = Batch::begin(store, jobs).await?;
    let mut outcomes = Vec::with_capacity(jobs.len());
    let done = batch.finish_done(jobs).await?;
    for (index, job) in jobs.iter().enumerate() {
        outcomes.push(match &job.work {
            Work::Publish(_, Some(key)) if !batch.is_open(job, key).await? => Outcome::Stale,
            Work::Publish(message, _) => batch.publish(index, job, message)?,
            Work::Settle { settlement: Settlement::Done, .. } => settled(done.contains(&index)),
            Work::Settle { claim, settlement } => batch.settle(job, *claim, settlement).await?,
        });
    }
    batch.commit(jobs, &mut outcomes).await?;
    Ok(outcomes)
}

fn settled(is_ours: bool) -> Outcome {
    if is_ours { Outcome::Settled } else { Outcome::Stale }
}

struct Batch {
    write: Write,
    now: i64,
    /// What each tenant may still add, in messages and bytes.
    room: BTreeMap<TenantId, (i64, i64)>,
    ledger: Ledger,
    /// With the position of the outcome that is to tell the message's own.
    rows: Vec<(NewRow, Option<usize>)>,
}

impl Batch {
    async fn begin(store: &Store, jobs: &[&Job]) -> Result<Self> {
        let mut write = store.write().await?;
        let sql = format!("SELECT {} AS now", leases::now(write.backend()));
        let found = sqlx::query(AssertSqlSafe(sql)).fetch_one(write.connection()).await?;
        let now = row::integer(&found, "now")?;
        let mut room = BTreeMap::new();
        for job in jobs.iter().filter(|job| matches!(job.work, Work::Publish(..))) {
            if !room.contains_key(&job.tenant) {
                let (messages, bytes) = ledger::held_by(&mut write, &job.tenant).await?;
                room.insert(job.tenant.clone(), (QUEUE_QUOTA_MESSAGES - messages, QUEUE_QUOTA_BYTES - bytes));
            }
        }
        Ok(Self { write, now, room, ledger: Ledger::default(), rows: Vec::new() })
    }

    /// Whether nobody has ended the key; nobody else does until this transaction ends.
    async fn is_open(&mut self, job: &Job, key: &OnceKey) -> Result<bool> {
        let found = sqlx::query(
            "UPDATE once_results SET until = until
             WHERE tenant = $1 AND scope = $2 AND key = $3 AND result IS NULL RETURNING key",
        )
        .bind(job.tenant.as_str())
        .bind(key.scope.as_str())
        .bind(key.key.as_str())
        .fetch_optional(self.write.connection())
        .await?;
        Ok(found.is_some())
    }

    /// Ends the keys of what was published.
    async fn end_keys(&mut self, jobs: &[&Job], outcomes: &[Outcome]) -> Result<()> {
        for (job, outcome) in jobs.iter().zip(outcomes) {
            let (Work::Publish(_, Some(key)), Outcome::Published(published)) = (&job.work, outcome) else {
                continue;
            };
            let mut result = key.result.clone();
            result.insert("position".to_owned(), published.position.to_string().into());
            sqlx::query("UPDATE once_results SET result = $4 WHERE tenant = $1 AND scope = $2 AND key = $3")
                .bind(job.tenant.as_str())
                .bind(key.scope.as_str())
                .bind(key.key.as_str())
                .bind(row::to_json(&result)?)
                .execute(self.write.connection())
                .await?;
        }
        Ok(())
    }

    fn publish(&mut self, index: usize, job: &Job, message: &NewMessage) -> Result<Outcome> {
        let headers = row::to_json(&message.headers)?;
        let bytes = whole(message.body.get().len() + headers.len());
        let room = self.room.entry(job.tenant.clone()).or_default();
        if room.0 < 1 || room.1 < bytes {
            return Ok(Outcome::Full);
        }
        *room = (room.0 - 1, room.1 - bytes);
        self.ledger.add(&job.tenant, &job.queue, bytes);
        let due_at = self.now.saturating_add(leases::milliseconds(message.delay));
        let row = NewRow {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            position: 0,
            id: message.id.clone(),
            body: message.body.get().to_owned(),
            key: message.key.clone(),
            headers,
            bytes,
            published_at: self.now,
            due_at,
        };
        self.rows.push((row, Some(index)));
        Ok(Outcome::Published(Published { position: 0, available_at: due_at }))
    }

    /// Deletes all messages that are done with in one statement; says which jobs still had theirs.
    async fn finish_done(&mut self, jobs: &[&Job]) -> Result<HashSet<usize>> {
        let of = |(index, job): (usize, &&Job)| match &job.work {
            Work::Settle { claim, settlement: Settlement::Done } => {
                Some((index, (job.tenant.clone(), job.queue.clone(), claim.position), claim.attempt))
            }
            Work::Settle { .. } | Work::Publish(..) => None,
        };
        let wanted: Vec<_> = jobs.iter().enumerate().filter_map(of).collect();
        if wanted.is_empty() {
            return Ok(HashSet::new());
        }
        let sql = format!(
            "DELETE FROM queue_messages WHERE (tenant, queue, position, attempt) IN (VALUES {})
             RETURNING tenant, queue, position, bytes",
            values::rows(self.write.backend(), wanted.len(), 4)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (_, (tenant, queue, position), attempt) in &wanted {
            query =
                query.bind(tenant.as_str()).bind(queue.as_str()).bind(*position).bind(i64::from(*attempt));
        }
        let rows = query.persistent(wanted.len() == 1).fetch_all(self.write.connection()).await?;
        let mut deleted = HashSet::with_capacity(rows.len());
        for found in &rows {
            let tenant: TenantId = row::parsed(found, "tenant")?;
            let queue = row::text(found, "queue")?;
            self.ledger.remove(&tenant, &queue, row::integer(found, "bytes")?);
            deleted.insert((tenant, queue, row::integer(found, "position")?));
        }
        Ok(wanted.into_iter().filter(|(_, key, _)| deleted.contains(key)).map(|(index, ..)| index).collect())
    }

    async fn settle(&mut self, job: &Job, claim: Claim, settlement: &Settlement) -> Result<Outcome> {
        let is_ours = match settlement {
            Settlement::Done => true,
            Settlement::Again(pause) => self.release(job, claim, *pause, claim.attempt).await?,
            Settlement::Back => {
                self.release(job, claim, Duration::ZERO, claim.attempt.saturating_sub(1)).await?
            }
            Settlement::Dead(reason) => self.bury(job, claim, reason).await?,
        };
        Ok(settled(is_ours))
    }

    /// Lets others have the message after a pause. Its place in the order stays.
    async fn release(&mut self, job: &Job, claim: Claim, pause: Duration, counted: u32) -> Result<bool> {
        let done = sqlx::query(
            "UPDATE queue_messages SET leased_until = $5, attempt = $6
             WHERE tenant = $1 AND queue = $2 AND position = $3 AND attempt = $4",
        )
        .bind(job.tenant.as_str())
        .bind(job.queue.as_str())
        .bind(claim.position)
        .bind(i64::from(claim.attempt))
        .bind(self.now.saturating_add(leases::milliseconds(pause)))
        .bind(i64::from(counted))
        .execute(self.write.connection())
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Moves the message to the queue for dead letters.
    async fn bury(&mut self, job: &Job, claim: Claim, reason: &str) -> Result<bool> {
        let sql = format!(
            "DELETE FROM queue_messages WHERE tenant = $1 AND queue = $2 AND position = $3 AND attempt = $4
             RETURNING {COLUMNS}"
        );
        let found = sqlx::query(AssertSqlSafe(sql))
            .bind(job.tenant.as_str())
            .bind(job.queue.as_str())
            .bind(claim.position)
            .bind(i64::from(claim.attempt))
            .fetch_optional(self.write.connection())
            .await?;
        let Some(found) = found else { return Ok(false) };
        self.ledger.remove(&job.tenant, &job.queue, row::integer(&found, "bytes")?);
        let mut message = decode(&found)?;
        let reason: String = row::clean(reason).chars().take(MAX_REASON_CHARACTERS).collect();
        message.headers.insert(DEAD_REASON.to_owned(), reason);
        let headers = row::to_json(&message.headers)?;
        let (queue, bytes) =
            (format!("{}{DEAD}", job.queue), whole(message.body.get().len() + headers.len()));
        self.ledger.add(&job.tenant, &queue, bytes);
        let row = NewRow {
            tenant: job.tenant.clone(),
            queue,
            position: 0,
            id: message.id,
            body: message.body.get().to_owned(),
            key: message.key,
            headers,
            bytes,
            published_at: message.published_at,
            due_at: self.now,
        };
        self.rows.push((row, None));
        Ok(true)
    }

    /// Numbers and writes the messages that are new where they are.
    async fn commit(mut self, jobs: &[&Job], outcomes: &mut [Outcome]) -> Result<()> {
        let mut positions = std::mem::take(&mut self.ledger).write(&mut self.write).await?;
        let mut rows = Vec::with_capacity(self.rows.len());
        for (mut row, outcome) in std::mem::take(&mut self.rows) {
            row.position = positions.next(&row.tenant, &row.queue);
            let outcome = outcome.and_then(|index| outcomes.get_mut(index));
            if let Some(Outcome::Published(published)) = outcome {
                published.position = row.position;
            }
            rows.push(row);
        }
        message_row::insert(&mut self.write, &rows).await?;
        self.end_keys(jobs, outcomes).await?;
        self.write.commit().await
    }
}
