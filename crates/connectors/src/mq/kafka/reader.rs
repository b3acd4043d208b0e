//! Reading a topic as one of a group. Kafka is told of the lowest offset that is not settled, so that whoever takes over
//! gets it and what follows again.

use super::client::{Cluster, MAX_ANSWER_BYTES};
use super::progress::Progress;
use super::record::{self, Position};
use crate::mq::broker::Reader;
use crate::mq::message::{Incoming, dead_reason};
use async_trait::async_trait;
use krafka::CloseOptions;
use krafka::consumer::{AutoOffsetReset, Consumer, ConsumerRecord, OffsetAndMetadata, TopicPartition};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tool::queue::{DEAD, DEAD_REASON, Settlement};
use tool::{Result, Start, Subscription};

/// How long Kafka is asked to wait for a message; as long, stopping may take.
const WAIT: Duration = Duration::from_millis(500);
/// Kafka takes nobody for gone sooner, unless told to.
const MIN_SESSION: Duration = Duration::from_secs(6);
/// How long leaving a group may take.
const LEAVING: Duration = Duration::from_secs(5);
/// The most messages that are fetched before there is room for them; fewer where fewer may be in flight.
const MAX_FETCHED: usize = 100;

/// One member of a group.
pub(super) struct TopicReader {
    cluster: Arc<Cluster>,
    consumer: Consumer,
    topic: String,
    /// Fetched, and not handed out for want of room.
    fetched: Mutex<VecDeque<ConsumerRecord>>,
    /// Locked while Kafka is told, so that it hears of offsets in their order.
    progress: Mutex<Progress>,
}

impl TopicReader {
    pub(super) async fn start(
        cluster: Arc<Cluster>,
        topic: &str,
        wanted: &Subscription,
        lease: Duration,
    ) -> Result<Self> {
        cluster.ensure(topic).await?;
        let failed = |error| cluster.failure(&error, topic);
        let from = match wanted.from {
            Start::Latest => AutoOffsetReset::Latest,
            Start::Earliest => AutoOffsetReset::Earliest,
        };
        let consumer = cluster
            .kafka
            .consumer(wanted.group.as_str())
            .auto_offset_reset(from)
            .enable_auto_commit(false)
            .session_timeout(lease.max(MIN_SESSION))
            .heartbeat_interval(lease.max(MIN_SESSION) / 4)
            .max_poll_records(i32::try_from(wanted.max_in_flight.clamp(1, MAX_FETCHED)).unwrap_or(1))
            .max_decompressed_size(MAX_ANSWER_BYTES)
            .metrics_push(false)
            .build()
            .await
            .map_err(failed)?;
        consumer.subscribe([topic]).await.map_err(failed)?;
        Ok(Self {
            consumer,
            topic: topic.to_owned(),
            fetched: Mutex::default(),
            progress: Mutex::default(),
            cluster,
        })
    }

    async fn done(&self, at: Position) -> Result<()> {
        let mut progress = self.progress.lock().await;
        let Some(offset) = progress.settle(at) else { return Ok(()) };
        let assigned = self.consumer.assignment().await;
        // A partition that another member has by now is told of by it.
        if !assigned.get(&self.topic).is_some_and(|partitions| partitions.contains(&at.partition)) {
            return Ok(());
        }
        let place = TopicPartition::new(&self.topic, at.partition);
        let told = self.consumer.commit_offsets([(place, OffsetAndMetadata::new(offset))]).await;
        told.map_err(|error| self.cluster.failure(&error, &self.topic))?;
        progress.committed(at.partition, offset);
        Ok(())
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
        let mut fetched = self.fetched.lock().await;
        if fetched.is_empty() {
            // Never given up half-way: what it fetched would count as handed out.
            let polled = self.consumer.poll(WAIT).await;
            fetched.extend(polled.map_err(|error| self.cluster.failure(&error, &self.topic))?);
        }
        let assigned = self.consumer.assignment().await;
        let assigned = assigned.get(&self.topic).map(Vec::as_slice).unwrap_or_default();
        // Whoever has a partition by now gets its records, too.
        fetched.retain(|record| assigned.contains(&record.partition));
        let most = max.min(fetched.len());
        let mut progress = self.progress.lock().await;
        progress.keep_only(assigned);
        let taken = fetched.drain(..most).map(|record| {
            progress.begin(Position { partition: record.partition, offset: record.offset });
            record::read(record)
        });
        Ok(taken.collect())
    }

    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()> {
        match settlement {
            Settlement::Done => self.done(Position::of(message)?).await,
            Settlement::Dead(reason) => self.bury(message, &reason).await,
            // What is not settled comes again to whoever reads next.
            Settlement::Back | Settlement::Again(_) => Ok(()),
        }
    }

    async fn again(&self, mut message: Incoming, _: Duration) -> Result<Option<Incoming>> {
        message.attempt = message.attempt.saturating_add(1);
        Ok(Some(message))
    }

    async fn close(&self) {
        let _ = self.consumer.close_with(CloseOptions::new().timeout(LEAVING)).await;
    }
}
