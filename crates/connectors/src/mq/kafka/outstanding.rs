//! What a reader of a group has in hand, and how it gives partitions up: what is with a sink is settled first, as far as
//! that takes no time, so that whoever reads them next begins behind it.

use super::progress::Progress;
use super::record::Position;
use krafka::consumer::{ConsumerRebalanceListener, ConsumerRecord, TopicPartition};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a group waits for what one of its readers is at work on; what takes longer comes again.
const SETTLING: Duration = Duration::from_secs(10);

/// Records of one reader.
#[derive(Default)]
pub(super) struct Outstanding {
    /// Fetched, and not handed out yet.
    fetched: Mutex<VecDeque<ConsumerRecord>>,
    /// Locked while Kafka is told, so that it hears of offsets in their order.
    pub(super) progress: tokio::sync::Mutex<Progress>,
    /// Some record is settled or given back.
    settled: Notify,
}

impl Outstanding {
    /// Keeps what was fetched: how many there are now.
    pub(super) fn keep(&self, records: Vec<ConsumerRecord>) -> usize {
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        fetched.extend(records);
        fetched.len()
    }

    /// Hands out what was fetched, at most so many.
    pub(super) async fn hand_out(&self, max: usize) -> Vec<ConsumerRecord> {
        let mut progress = self.progress.lock().await;
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        let most = max.min(fetched.len());
        let handed_out: Vec<_> = fetched.drain(..most).collect();
        handed_out.iter().for_each(|record| progress.begin(Position::of_record(record)));
        handed_out
    }

    /// A record is for whoever reads next.
    pub(super) async fn leave(&self, at: Position) {
        self.progress.lock().await.leave(at);
        self.settled.notify_waiters();
    }

    /// Says that a record was settled, to whoever waits for that.
    pub(super) fn is_settled(&self) {
        self.settled.notify_waiters();
    }

    fn drop_fetched(&self, partitions: &[i32]) {
        let mut fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        fetched.retain(|record| !partitions.contains(&record.partition));
    }

    async fn all_settled(&self, partitions: &[i32]) {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // Before the look, so that nothing is missed between the two.
            settled.as_mut().enable();
            if self.progress.lock().await.is_over(partitions) {
                return;
            }
            settled.await;
        }
    }
}

fn numbers(partitions: &[TopicPartition]) -> Vec<i32> {
    partitions.iter().map(TopicPartition::partition).collect()
}

/// Called while the reader polls, one after the other.
impl ConsumerRebalanceListener for Outstanding {
    async fn on_partitions_assigned(&self, _: &[TopicPartition]) {}

    async fn on_partitions_revoked(&self, partitions: &[TopicPartition]) {
        let partitions = numbers(partitions);
        self.drop_fetched(&partitions);
        if tokio::time::timeout(SETTLING, self.all_settled(&partitions)).await.is_err() {
            tracing::debug!(
                "partitions {partitions:?} go while messages of theirs are not settled: they come again"
            );
        }
        self.progress.lock().await.forget(&partitions);
    }

    async fn on_partitions_lost(&self, partitions: &[TopicPartition]) {
        let partitions = numbers(partitions);
        self.drop_fetched(&partitions);
        self.progress.lock().await.forget(&partitions);
    }
}
