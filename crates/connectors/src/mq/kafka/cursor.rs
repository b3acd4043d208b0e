//! What nobody has taken yet: a place in a topic that Kafka remembers under a group of ours, without joining one, which
//! would take seconds.

use super::client::{Cluster, MAX_ANSWER_BYTES};
use krafka::admin::{
    AlterConsumerGroupOffsetsOptions, DescribeTopicsOptions, ListConsumerGroupOffsetsOptions,
    ListOffsetsOptions, OffsetSpec,
};
use krafka::consumer::{AutoOffsetReset, ConsumerRecord, TopicPartition};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tool::Result;

/// How long Kafka is waited for before it is looked whether that is enough.
const LOOK: Duration = Duration::from_millis(200);
/// How long records may take that are there.
const READING: Duration = Duration::from_secs(10);

pub(super) struct Cursor {
    cluster: Arc<Cluster>,
    topic: String,
    group: String,
}

/// Where a partition goes on, and where it ends.
type Ranges = BTreeMap<i32, (i64, i64)>;
/// Offsets of partitions.
type Places = BTreeMap<i32, i64>;

impl Cursor {
    pub(super) fn new(cluster: Arc<Cluster>, topic: &str, group: String) -> Self {
        Self { cluster, topic: topic.to_owned(), group }
    }

    /// The next records, waiting for the first; where there are none, how far that was seen.
    pub(super) async fn read(&self, max: usize, wait: Duration) -> Result<(Vec<ConsumerRecord>, Places)> {
        let until = Instant::now() + wait;
        loop {
            let mut ranges = self.ranges().await?;
            ranges.retain(|_, (next, end)| next < end);
            let (found, seen) = match ranges.is_empty() {
                true => Default::default(),
                false => self.fetch(&ranges, max).await?,
            };
            if !found.is_empty() || Instant::now() >= until {
                return Ok((found, seen));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Remembers that these were taken.
    pub(super) async fn take(&self, records: &[ConsumerRecord]) -> Result<()> {
        let mut next = Places::new();
        for record in records {
            let behind = next.entry(record.partition).or_insert(0);
            *behind = record.offset.saturating_add(1).max(*behind);
        }
        self.go_on_at(next).await
    }

    /// Remembers where each of these partitions goes on.
    pub(super) async fn go_on_at(&self, next: Places) -> Result<()> {
        let offsets = next.into_iter().map(|(partition, offset)| (self.at(partition), offset));
        let options = AlterConsumerGroupOffsetsOptions::default().timeout(self.cluster.timeout());
        let told = self.cluster.admin().alter_consumer_group_offsets(&self.group, offsets, options).await;
        for told in told.map_err(|error| self.cluster.failure(&error, &self.topic))?.into_values() {
            told.map_err(|error| self.cluster.failure(&error, &self.topic))?;
        }
        Ok(())
    }

    fn at(&self, partition: i32) -> TopicPartition {
        TopicPartition::new(&self.topic, partition)
    }

    async fn ranges(&self) -> Result<Ranges> {
        let partitions = self.partitions().await?;
        let (first, end) = (
            self.offsets(&partitions, OffsetSpec::Earliest).await?,
            self.offsets(&partitions, OffsetSpec::Latest).await?,
        );
        let options = ListConsumerGroupOffsetsOptions::default()
            .timeout(self.cluster.timeout())
            .partitions(partitions.iter().map(|partition| self.at(*partition)).collect());
        let taken = self.cluster.admin().list_consumer_group_offsets(&self.group, options).await;
        let mut taken_to = BTreeMap::new();
        for (at, told) in taken.map_err(|error| self.cluster.failure(&error, &self.topic))? {
            // Whoever does not know where it is must not begin anew.
            let told = told.map_err(|error| self.cluster.failure(&error, &self.topic))?;
            taken_to.extend(told.offset.map(|offset| (at.partition(), offset)));
        }
        let range = |(partition, end): (&i32, &i64)| {
            let first = first.get(partition).copied().unwrap_or(0);
            // What was taken may be gone by now, and a topic that was made anew begins anew.
            let next = taken_to
                .get(partition)
                .copied()
                .filter(|next| (first..=*end).contains(next))
                .unwrap_or(first);
            (*partition, (next, *end))
        };
        Ok(end.iter().map(range).collect())
    }

    async fn partitions(&self) -> Result<Vec<i32>> {
        let options = DescribeTopicsOptions::default().timeout(self.cluster.timeout());
        let described = self.cluster.admin().describe_topics([&self.topic], options).await;
        let described = described.map_err(|error| self.cluster.failure(&error, &self.topic))?;
        match described.into_values().next() {
            Some(Ok(topic)) => Ok(topic.partitions.iter().map(|partition| partition.partition).collect()),
            Some(Err(error)) => Err(self.cluster.failure(&error, &self.topic)),
            None => Err(super::failure::missing(&self.topic)),
        }
    }

    async fn offsets(&self, partitions: &[i32], which: OffsetSpec) -> Result<Places> {
        let wanted = partitions.iter().map(|partition| (self.at(*partition), which));
        let options = ListOffsetsOptions::default().timeout(self.cluster.timeout());
        let listed = self.cluster.admin().list_offsets(wanted, options).await;
        let listed = listed.map_err(|error| self.cluster.failure(&error, &self.topic))?;
        let mut offsets = BTreeMap::new();
        for (at, listed) in listed {
            let listed = listed.map_err(|error| self.cluster.failure(&error, &self.topic))?;
            offsets.insert(at.partition(), listed.offset);
        }
        Ok(offsets)
    }

    /// What is in the ranges, and how far all of it was seen: a range ends with what is no record, e.g. where a transaction
    /// has ended.
    async fn fetch(&self, ranges: &Ranges, max: usize) -> Result<(Vec<ConsumerRecord>, Places)> {
        let failed = |error| self.cluster.failure(&error, &self.topic);
        let consumer = self
            .cluster
            .kafka()
            .consumer_without_group()
            .auto_offset_reset(AutoOffsetReset::Earliest)
            .initial_offsets(ranges.iter().map(|(partition, (next, _))| (self.at(*partition), *next)))
            .max_poll_records(i32::try_from(max).unwrap_or(i32::MAX))
            .max_decompressed_size(MAX_ANSWER_BYTES)
            .metrics_push(false)
            .build()
            .await
            .map_err(failed)?;
        consumer.assign(&self.topic, ranges.keys().copied().collect()).await.map_err(failed)?;
        let until = Instant::now() + READING;
        let (mut found, mut seen) = (Vec::new(), Places::new());
        loop {
            let records = consumer.poll(LOOK).await.map_err(failed)?;
            for (partition, (_, end)) in ranges {
                let at = consumer.position(&self.topic, *partition).await;
                seen.extend(at.filter(|at| at >= end).map(|at| (*partition, at)));
            }
            let is_late = records.is_empty() && (!found.is_empty() || Instant::now() >= until);
            let is_over = is_late || seen.len() == ranges.len();
            found.extend(records);
            if is_over || found.len() >= max {
                break;
            }
        }
        // One that is not closed goes with its connection.
        let _ = consumer.close().await;
        found.truncate(max);
        Ok((found, seen))
    }
}
