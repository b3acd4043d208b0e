//! How far a topic was read: Kafka remembers one offset per partition, and messages are settled in any order.

use super::record::Position;
use std::collections::{BTreeMap, BTreeSet};

/// What was handed out, per partition.
#[derive(Debug, Default)]
pub(super) struct Progress(BTreeMap<i32, Partition>);

#[derive(Debug, Default)]
struct Partition {
    /// Offsets that are not settled.
    open: BTreeSet<i64>,
    /// Behind the last that was handed out.
    next: i64,
    /// What Kafka was told last.
    committed: i64,
}

impl Progress {
    /// A record is handed out. One that comes again means that the partition was away, and what was open there is not
    /// ours any more.
    pub(super) fn begin(&mut self, at: Position) {
        let partition = self.0.entry(at.partition).or_default();
        if at.offset < partition.next {
            *partition = Partition::default();
        }
        partition.open.insert(at.offset);
        partition.next = at.offset + 1;
    }

    /// Only these partitions are ours now. What was open of others is not ours any more, should they come back.
    pub(super) fn keep_only(&mut self, assigned: &[i32]) {
        self.0.retain(|partition, _| assigned.contains(partition));
    }

    /// A record is settled: the offset that all before it are settled, where Kafka does not know that yet.
    pub(super) fn settle(&mut self, at: Position) -> Option<i64> {
        let partition = self.0.get_mut(&at.partition)?;
        partition.open.remove(&at.offset);
        let lowest = partition.open.first().copied().unwrap_or(partition.next);
        (lowest > partition.committed).then_some(lowest)
    }

    /// Kafka was told.
    pub(super) fn committed(&mut self, partition: i32, offset: i64) {
        if let Some(partition) = self.0.get_mut(&partition) {
            partition.committed = offset;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: i64) -> Position {
        Position { partition: 0, offset }
    }

    #[test]
    fn says_the_lowest_offset_that_is_not_settled() {
        let mut progress = Progress::default();
        (5..8).for_each(|offset| progress.begin(at(offset)));
        assert_eq!(progress.settle(at(6)), Some(5));
        progress.committed(0, 5);
        assert_eq!(progress.settle(at(7)), None);
        assert_eq!(progress.settle(at(5)), Some(8));
        // Kafka was away: it is told again.
        assert_eq!(progress.settle(at(5)), Some(8));
        progress.committed(0, 8);
        assert_eq!(progress.settle(at(5)), None);
    }

    #[test]
    fn forgets_what_was_open_when_a_partition_comes_back() {
        let mut progress = Progress::default();
        (5..8).for_each(|offset| progress.begin(at(offset)));
        progress.begin(at(5));
        assert_eq!(progress.settle(at(7)), Some(5));
        progress.committed(0, 5);
        assert_eq!(progress.settle(at(5)), Some(6));
    }

    #[test]
    fn forgets_what_was_open_when_a_partition_goes() {
        let mut progress = Progress::default();
        (5..8).for_each(|offset| progress.begin(at(offset)));
        progress.keep_only(&[1]);
        // Another member has read on by now.
        progress.begin(at(21));
        assert_eq!(progress.settle(at(21)), Some(22));
        progress.committed(0, 22);
        assert_eq!(progress.settle(at(5)), None);
    }
}
