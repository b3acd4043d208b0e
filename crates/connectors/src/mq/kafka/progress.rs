//! How far a topic was read: Kafka remembers one offset per partition, and messages are settled in any order.

use super::record::Position;
use std::collections::{BTreeMap, BTreeSet};

/// What was handed out, per partition.
#[derive(Debug, Default)]
pub(super) struct Progress(BTreeMap<i32, Partition>);

#[derive(Debug, Default)]
struct Partition {
    /// Offsets that somebody is at work on.
    open: BTreeSet<i64>,
    /// The first that was given back, and is for whoever reads next.
    left: Option<i64>,
    /// Behind the last that was handed out.
    next: i64,
    /// What Kafka is to be told.
    due: i64,
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

    /// These partitions are not ours any more, nor what was open there, should they come back.
    pub(super) fn forget(&mut self, partitions: &[i32]) {
        self.0.retain(|partition, _| !partitions.contains(partition));
    }

    /// A record is settled: the offset that all before it are settled, where Kafka does not know that yet.
    pub(super) fn settle(&mut self, at: Position) -> Option<i64> {
        let partition = self.0.get_mut(&at.partition)?;
        partition.open.remove(&at.offset);
        let first = partition.open.first().copied().unwrap_or(partition.next);
        partition.due = partition.left.map_or(first, |left| left.min(first));
        (partition.due > partition.committed).then_some(partition.due)
    }

    /// A record was given back: nobody is at work on it, and Kafka must not hear of any behind it.
    pub(super) fn leave(&mut self, at: Position) {
        let Some(partition) = self.0.get_mut(&at.partition) else { return };
        partition.open.remove(&at.offset);
        partition.left = Some(partition.left.map_or(at.offset, |left| left.min(at.offset)));
    }

    /// Kafka was told.
    pub(super) fn committed(&mut self, partition: i32, offset: i64) {
        if let Some(partition) = self.0.get_mut(&partition) {
            partition.committed = offset;
        }
    }

    /// Nobody is at work on these partitions, and Kafka knows of all that was done there.
    pub(super) fn is_over(&self, partitions: &[i32]) -> bool {
        let is_over =
            |partition: &Partition| partition.open.is_empty() && partition.due <= partition.committed;
        partitions.iter().filter_map(|partition| self.0.get(partition)).all(is_over)
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
        progress.forget(&[0]);
        // Another member has read on by now.
        progress.begin(at(21));
        assert_eq!(progress.settle(at(21)), Some(22));
        progress.committed(0, 22);
        assert_eq!(progress.settle(at(5)), None);
    }

    #[test]
    fn is_over_when_all_is_settled_and_kafka_knows() {
        let mut progress = Progress::default();
        (5..8).for_each(|offset| progress.begin(at(offset)));
        assert!(progress.is_over(&[1]) && !progress.is_over(&[0]));
        // Given back: whoever reads next gets it and what follows again.
        progress.leave(at(6));
        assert_eq!((progress.settle(at(5)), progress.settle(at(7))), (Some(6), Some(6)));
        assert!(!progress.is_over(&[0]), "Kafka was not told");
        progress.committed(0, 6);
        assert!(progress.is_over(&[0]));
    }
}
