//! Reading a topic as one of a group. Kafka is told of the lowest offset that is not settled, so that whoever takes over
//! gets it and what follows again.

use super::client::{Client, Cluster, Connections, MAX_ANSWER_BYTES};
use super::outstanding::Outstanding;
use super::record::{self, Position};
use crate::mq::broker::Reader;
use crate::mq::message::{Incoming, dead_reason};
use async_trait::async_trait;
use krafka::consumer::{AutoOffsetReset, Consumer, ConsumerRecord, OffsetAndMetadata, TopicPartition};
use krafka::{CloseOptions, KrafkaError};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool::queue::{DEAD, DEAD_REASON, Settlement};
use tool::{Error, Result, Start, Subscription};

/// How long Kafka is asked to wait for a message; as long, stopping may take.
const WAIT: Duration = Duration::from_millis(500);
/// Kafka takes nobody for gone sooner, unless told to.
const MIN_SESSION: Duration = Duration::from_secs(6);
/// How often a reader asks whether somebody else has joined, and waits for their part.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How long leaving a group may take.
const LEAVING: Duration = Duration::from_secs(5);
/// The most messages that the library fetches ahead.
const MAX_AHEAD: i32 = 100;

/// One member of a group.
pub(super) struct TopicReader {
    /// For dead letters.
    cluster: Arc<Cluster>,
    /// This reader's own. Kafka does not answer whoever joins a group before all others have come, and whatever follows on
    /// the same connection waits with it: heartbeats of other readers, who would be taken for gone.
    connections: Connections,
    consumer: Consumer,
    topic: String,
    outstanding: Arc<Outstanding>,
}

impl TopicReader {
    pub(super) async fn start(client: &Client, topic: &str, wanted: &Subscription) -> Result<Self> {
        let cluster = client.cluster().await?;
        cluster.ensure(topic).await?;
        let connections = client.connections().await?;
        let failed = |error| connections.failure(&error, topic);
        let from = match wanted.from {
            Start::Latest => AutoOffsetReset::Latest,
            Start::Earliest => AutoOffsetReset::Earliest,
        };
        let (session, outstanding) =
            (client.options.lease.max(MIN_SESSION), Arc::new(Outstanding::default()));
        let consumer = connections
            .kafka
            .consumer(wanted.group.as_str())
            .auto_offset_reset(from)
            .enable_auto_commit(false)
            .session_timeout(session)
            .heartbeat_interval(HEARTBEAT)
            // One at a time: what is not handed out stays with the library, which knows whose it is by now.
            .max_poll_records(1)
            .max_buffered_records(MAX_AHEAD)
            .max_decompressed_size(MAX_ANSWER_BYTES)
            .rebalance_listener(outstanding.clone())
            .metrics_push(false)
            .build()
            .await
            .map_err(failed)?;
        consumer.subscribe([topic]).await.map_err(failed)?;
        Ok(Self { cluster, connections, consumer, topic: topic.to_owned(), outstanding })
    }

    fn failure(&self, error: &KrafkaError) -> Error {
        self.connections.failure(error, &self.topic)
    }

    async fn done(&self, at: Position) -> Result<()> {
        let told = self.tell(at).await;
        self.outstanding.is_settled();
        told
    }

    async fn tell(&self, at: Position) -> Result<()> {
        let mut progress = self.outstanding.progress.lock().await;
        let Some(offset) = progress.settle(at) else { return Ok(()) };
        let place = TopicPartition::new(&self.topic, at.partition);
        let told = self.consumer.commit_offsets([(place, OffsetAndMetadata::new(offset))]).await;
        told.map_err(|error| self.failure(&error))?;
        progress.committed(at.partition, offset);
        Ok(())
    }

    /// The library has more of the record's partition, for which nobody needs to be asked.
    async fn has_more(&self, record: &ConsumerRecord) -> bool {
        let ahead = self.consumer.fetch_position(&self.topic, record.partition).await;
        ahead.is_some_and(|next| next > record.offset + 1)
    }

    async fn bury(&self, message: &Incoming, reason: &str) -> Result<()> {
        let dead = format!("{}{DEAD}", self.topic);
        self.cluster.ensure(&dead).await?;
        let record = record::again(&dead, message, (DEAD_REASON, dead_reason(reason)))?;
        let sent = self.cluster.send(record).await;
        sent.map(drop).map_err(|error| self.cluster.failure(&error, &dead))?;
        self.done(Position::of(message)?).await
    }
}

#[async_trait]
impl Reader for TopicReader {
    async fn next(&self, max: usize, _: &CancellationToken) -> Result<Vec<Incoming>> {
        loop {
            // Never given up half-way: what it fetched would count as handed out.
            let polled = self.consumer.poll(WAIT).await.map_err(|error| self.failure(&error))?;
            let has_more = match polled.last() {
                Some(last) => self.has_more(last).await,
                None => false,
            };
            if self.outstanding.keep(polled) >= max || !has_more {
                break;
            }
        }
        Ok(self.outstanding.hand_out(max).await.into_iter().map(record::read).collect())
    }

    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()> {
        let at = Position::of(message)?;
        match settlement {
            Settlement::Done => self.done(at).await?,
            Settlement::Dead(reason) => self.bury(message, &reason).await?,
            Settlement::Back | Settlement::Again(_) => self.outstanding.leave(at).await,
        }
        Ok(())
    }

    async fn again(&self, mut message: Incoming, _: Duration) -> Result<Option<Incoming>> {
        message.attempt = message.attempt.saturating_add(1);
        Ok(Some(message))
    }

    async fn close(&self) {
        let _ = self.consumer.close_with(CloseOptions::new().timeout(LEAVING)).await;
    }
}
