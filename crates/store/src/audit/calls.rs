//! The calls of a walk, one after the other, though the times of its blocks overlap.

use super::AuditRow;
use super::block::{self, Glance, SPAN_MS};
use super::walk::{Found, Order, Walk};
use crate::Result;
use sqlx::AnyConnection;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// The calls of a walk that are wanted, one after the other, though the times of blocks overlap.
#[derive(Debug)]
pub(super) struct Calls {
    walk: Walk,
    /// Not looked into yet.
    blocks: VecDeque<Found>,
    /// Nothing comes behind these blocks.
    is_last: bool,
    waiting: BinaryHeap<Waiting>,
}

/// A call that may not be the next one.
#[derive(Debug)]
struct Waiting {
    at: i64,
    id: String,
    line: String,
    order: Order,
}

impl Calls {
    pub(super) fn new(walk: Walk) -> Self {
        Self { walk, blocks: VecDeque::new(), is_last: false, waiting: BinaryHeap::new() }
    }

    /// The next call; `None` at the end.
    pub(super) async fn next(&mut self, connection: &mut AnyConnection) -> Result<Option<AuditRow<'static>>> {
        loop {
            self.look_ahead(connection).await?;
            if self.waiting.peek().is_some_and(|first| self.is_next(first.at)) {
                let call = self.waiting.pop().map(|call| block::read(&self.walk.wanted.tenant, &call.line));
                return call.transpose();
            }
            let Some(block) = self.blocks.pop_front() else { return Ok(None) };
            self.open(&block)?;
        }
    }

    /// How many calls there are beyond those that were given, counted no further than `most`.
    pub(super) async fn count(&mut self, connection: &mut AnyConnection, most: i64) -> Result<i64> {
        let mut count = i64::try_from(self.waiting.len()).unwrap_or(i64::MAX);
        while count < most {
            self.look_ahead(connection).await?;
            let Some(block) = self.blocks.pop_front() else { break };
            for line in block.records.lines() {
                count += i64::from(self.walk.wanted.fits(&Glance::of(line)?));
            }
        }
        Ok(count.min(most))
    }

    async fn look_ahead(&mut self, connection: &mut AnyConnection) -> Result<()> {
        if self.blocks.is_empty() && !self.is_last {
            let found = self.walk.next(connection).await?;
            self.is_last = found.is_empty();
            self.blocks = found.into();
        }
        Ok(())
    }

    /// Whether no block that is still to come can have a call before the one that began then.
    fn is_next(&self, at: i64) -> bool {
        self.blocks.front().is_none_or(|block| match self.walk.order {
            Order::NewestFirst => at > block.last_at,
            Order::OldestFirst => at <= block.last_at.saturating_sub(SPAN_MS),
        })
    }

    fn open(&mut self, block: &Found) -> Result<()> {
        for line in block.records.lines() {
            let call = Glance::of(line)?;
            if self.walk.wanted.fits(&call) {
                let (at, id) = (call.at, call.id.into_owned());
                self.waiting.push(Waiting { at, id, line: line.to_owned(), order: self.walk.order });
            }
        }
        Ok(())
    }
}

/// The greatest comes first.
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let in_time = (self.at, &self.id).cmp(&(other.at, &other.id));
        match self.order {
            Order::NewestFirst => in_time,
            Order::OldestFirst => in_time.reverse(),
        }
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}
