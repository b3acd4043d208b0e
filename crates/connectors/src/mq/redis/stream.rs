//! Reading a stream as one consumer of a group. What a consumer leaves unacknowledged, another takes after a while.

use super::connection::Connection;
use super::{entry, failure};
use crate::mq::broker::Reader;
use crate::mq::message::{ATTEMPT_HEADER, Incoming, MESSAGE_FIELD, Outgoing, Payload, dead_reason};
use crate::mq::sole_reader::SoleReader;
use async_trait::async_trait;
use redis::streams::{StreamAutoClaimReply, StreamId, StreamPendingCountReply, StreamReadReply};
use redis::{AsyncCommands, Cmd, RedisError};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tool::queue::{DEAD_REASON, Settlement};
use tool::{Error, Result, Start};

/// How long Redis is asked to wait for a message; as long, stopping may take.
const WAIT: Duration = Duration::from_millis(500);

/// How long it may take to delete consumers.
const FORGETTING: Duration = Duration::from_secs(1);

/// Deletes consumers of the group that have nothing: this one, which stops, and those that nobody has heard of for so long.
/// A script, since whoever gets an entry between the look and the end would lose it.
const FORGET: &str = "
local gone = 0
for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for at = 1, #fields, 2 do consumer[fields[at]] = fields[at + 1] end
  local is_over = consumer.name == ARGV[2] or consumer.idle >= tonumber(ARGV[3])
  if is_over and consumer.pending == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    gone = gone + 1
  end
end
return gone";

/// One consumer.
pub(super) struct StreamReader {
    connection: Connection,
    stream: String,
    group: String,
    consumer: String,
    lease: Duration,
    held: Option<SoleReader>,
    /// When was last looked for what others left.
    looked_at: Mutex<Option<Instant>>,
}

impl StreamReader {
    pub(super) fn new(
        connection: Connection,
        stream: &str,
        (group, consumer): (&str, String),
        lease: Duration,
        held: Option<SoleReader>,
    ) -> Self {
        Self {
            connection,
            stream: stream.to_owned(),
            group: group.to_owned(),
            consumer,
            lease,
            held,
            looked_at: Mutex::default(),
        }
    }

    /// Makes the group, and the stream, where they are missing.
    pub(super) async fn make_group(&self, from: Start) -> Result<()> {
        let begin = match from {
            Start::Latest => "$",
            Start::Earliest => "0",
        };
        let mut connection = self.connection.commands.clone();
        let made: redis::RedisResult<()> =
            connection.xgroup_create_mkstream(&self.stream, &self.group, begin).await;
        match made {
            Err(error) if error.code() != Some("BUSYGROUP") => Err(failure::of(&error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Leaves no consumer in the group that nobody is: Redis keeps every one that ever read.
    pub(super) async fn forget_consumers(&self) {
        let mut forget = redis::cmd("EVAL");
        forget.arg(FORGET).arg(1).arg(&self.stream);
        forget.arg(&self.group).arg(&self.consumer).arg(self.lease_ms());
        let mut connection = self.connection.commands.clone();
        // Nothing depends on it, and nobody waits for it for long.
        let forgotten = tokio::time::timeout(FORGETTING, forget.exec_async(&mut connection)).await;
        if let Ok(Err(error)) = forgotten {
            tracing::debug!(%error, "consumers that are gone stay in group '{}': {error}", self.group);
        }
    }

    fn lease_ms(&self) -> u64 {
        u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX)
    }

    /// Looks for what others left at the beginning, and then now and then.
    fn is_time_to_look(&self) -> bool {
        let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = looked_at.is_none_or(|at| at.elapsed() >= self.lease / 3);
        if is_time {
            *looked_at = Some(Instant::now());
        }
        is_time
    }

    /// What other consumers have had for too long.
    pub(super) async fn take_over(&self, max: usize) -> Result<Vec<Incoming>> {
        let mut connection = self.connection.commands.clone();
        let mut claim = Cmd::new();
        claim.arg("XAUTOCLAIM").arg(&self.stream).arg(&self.group).arg(&self.consumer).arg(self.lease_ms());
        claim.arg("0-0").arg("COUNT").arg(max);
        let found: StreamAutoClaimReply =
            claim.query_async(&mut connection).await.map_err(|error| failure::of(&error))?;
        let mut messages = Vec::new();
        for claimed in found.claimed {
            let id = claimed.id.clone();
            let attempt = self.delivered(&id).await?.map_or(1, |(_, count)| count);
            messages.push(Incoming { attempt, ..entry::read(claimed) });
        }
        Ok(messages)
    }

    /// Who has an entry, and how often it was delivered; nothing when it is acknowledged.
    async fn delivered(&self, id: &str) -> Result<Option<(String, u32)>> {
        let mut connection = self.connection.commands.clone();
        let pending: StreamPendingCountReply = connection
            .xpending_count(&self.stream, &self.group, id, id, 1)
            .await
            .map_err(|error| failure::of(&error))?;
        let first = pending.ids.into_iter().next();
        Ok(first.map(|one| (one.consumer, u32::try_from(one.times_delivered).unwrap_or(u32::MAX))))
    }

    pub(super) async fn read(&self, max: usize, wait: Option<Duration>) -> Result<Vec<Incoming>> {
        let mut connection = self.connection.commands.clone();
        let mut read = Cmd::new();
        read.arg("XREADGROUP").arg("GROUP").arg(&self.group).arg(&self.consumer).arg("COUNT").arg(max);
        if let Some(wait) = wait {
            read.arg("BLOCK").arg(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        }
        read.arg("STREAMS").arg(&self.stream).arg(">");
        let found: Option<StreamReadReply> =
            read.query_async(&mut connection).await.map_err(|error| failure::of(&error))?;
        let entries = found.into_iter().flat_map(|found| found.keys).flat_map(|key| key.ids);
        Ok(entries.map(|entry: StreamId| entry::read(entry)).collect())
    }

    /// Takes the entry for us once more: as if it had been delivered `idle` ago, the how manieth time.
    async fn claim(&self, message: &Incoming, idle: Duration, attempt: u32) -> Result<()> {
        let mut connection = self.connection.commands.clone();
        let mut claim = Cmd::new();
        claim
            .arg("XCLAIM")
            .arg(&self.stream)
            .arg(&self.group)
            .arg(&self.consumer)
            .arg(0)
            .arg(&message.position);
        claim.arg("IDLE").arg(u64::try_from(idle.as_millis()).unwrap_or(u64::MAX));
        claim.arg("RETRYCOUNT").arg(attempt).arg("JUSTID");
        let _: Vec<String> = claim.query_async(&mut connection).await.map_err(|error| failure::of(&error))?;
        Ok(())
    }

    /// # Errors
    /// `Missing` when another consumer has the entry.
    async fn check_ours(&self, message: &Incoming) -> Result<()> {
        match self.delivered(&message.position).await? {
            Some((consumer, _)) if consumer == self.consumer => Ok(()),
            _ => Err(Error::missing("another consumer has the message by now")),
        }
    }

    /// Both or neither: the dead letter is written, and the message is acknowledged.
    async fn bury(&self, message: &Incoming, reason: &str) -> Result<()> {
        let Payload::Bytes(bytes) = &message.payload else {
            return Err(Error::internal("an entry of a stream has no bytes"));
        };
        let mut headers = message.headers.clone();
        headers.insert(DEAD_REASON.to_owned(), dead_reason(reason));
        headers.remove(ATTEMPT_HEADER);
        let dead = Outgoing {
            id: message.id.clone(),
            json: Default::default(),
            bytes: bytes.clone(),
            key: message.key.clone(),
            headers,
            delay: Duration::ZERO,
            is_here: Default::default(),
            once: None,
        };
        debug_assert!(!dead.headers.contains_key(MESSAGE_FIELD), "fields of ours are no headers");
        let mut add = Cmd::new();
        add.arg("XADD").arg(format!("{}:dead", self.stream)).arg("*");
        entry::write(&mut add, &dead);
        let mut connection = self.connection.commands.clone();
        let mut both = redis::pipe();
        both.atomic()
            .add_command(add)
            .ignore()
            .xack(&self.stream, &self.group, &[&message.position])
            .ignore();
        let done: Result<(), RedisError> = both.query_async(&mut connection).await;
        done.map_err(|error| failure::of(&error))
    }
}

#[async_trait]
impl Reader for StreamReader {
    async fn next(&self, max: usize, stop: &CancellationToken) -> Result<Vec<Incoming>> {
        if let Some(held) = &self.held {
            held.check()?;
        }
        if self.is_time_to_look() {
            let left = self.take_over(max).await?;
            if !left.is_empty() || stop.is_cancelled() {
                return Ok(left);
            }
        }
        self.read(max, Some(WAIT)).await
    }

    fn renews_every(&self) -> Option<Duration> {
        Some(self.lease / 3)
    }

    async fn renew(&self, message: &Incoming) -> Result<()> {
        self.check_ours(message).await?;
        self.claim(message, Duration::ZERO, message.attempt).await
    }

    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()> {
        match settlement {
            Settlement::Done => {
                let mut connection = self.connection.commands.clone();
                let acknowledged: redis::RedisResult<u64> =
                    connection.xack(&self.stream, &self.group, &[&message.position]).await;
                acknowledged.map(drop).map_err(|error| failure::of(&error))
            }
            Settlement::Back => {
                self.check_ours(message).await?;
                // As old as it must be so that the next one who looks takes it; taking it counts.
                self.claim(message, self.lease, message.attempt.saturating_sub(1)).await
            }
            Settlement::Again(_) => self.claim(message, Duration::ZERO, message.attempt).await,
            Settlement::Dead(reason) => {
                self.check_ours(message).await?;
                self.bury(message, &reason).await
            }
        }
    }

    async fn again(&self, mut message: Incoming, _: Duration) -> Result<Option<Incoming>> {
        self.check_ours(&message).await?;
        message.attempt = message.attempt.saturating_add(1);
        self.claim(&message, Duration::ZERO, message.attempt).await?;
        Ok(Some(message))
    }

    async fn close(&self) {
        self.forget_consumers().await;
        if let Some(held) = &self.held {
            held.release().await;
        }
    }
}
