//! Taking messages of a stream for callers: a group of ours acknowledges them, and the stream keeps them for other groups.

use super::connection::Connection;
use super::stream::StreamReader;
use super::{entry, failure};
use crate::mq::basket::Basket;
use crate::mq::message::Incoming;
use redis::aio::MultiplexedConnection;
use redis::streams::{StreamInfoGroupsReply, StreamPendingCountReply, StreamRangeReply};
use redis::{AsyncCommands, Cmd};
use std::time::Duration;
use tool::{ErrorKind, Result, Start};

/// Redis keeps every consumer that ever read, so that all calls are one.
const CONSUMER: &str = "receive";

/// One look at a stream.
pub(super) struct Taker {
    reader: StreamReader,
    commands: MultiplexedConnection,
    stream: String,
    group: String,
    lease: Duration,
    declares: bool,
}

impl Taker {
    pub(super) fn new(
        connection: Connection,
        stream: &str,
        group: String,
        lease: Duration,
        declares: bool,
    ) -> Self {
        let commands = connection.commands.clone();
        let reader = StreamReader::new(connection, stream, (&group, CONSUMER.to_owned()), lease, None);
        Self { reader, commands, stream: stream.to_owned(), group, lease, declares }
    }

    /// Takes what there is room for: first what was given back, or left by somebody who ended half-way.
    pub(super) async fn take(&self, basket: &mut Basket<'_>) -> Result<()> {
        loop {
            let wanted = basket.wanted();
            if wanted == 0 {
                return Ok(());
            }
            let found = match self.next(wanted).await {
                Err(error) if self.declares && error.kind() == ErrorKind::Missing => {
                    // All that is in the stream already is for us, too.
                    self.reader.make_group(Start::Earliest).await?;
                    self.next(wanted).await?
                }
                found => found?,
            };
            if found.is_empty() {
                return Ok(());
            }
            basket.take(&self.reader, found).await?;
        }
    }

    async fn next(&self, wanted: usize) -> Result<Vec<Incoming>> {
        let left = self.reader.take_over(wanted).await?;
        if left.is_empty() { self.reader.read(wanted, None).await } else { Ok(left) }
    }

    /// Shows what would be taken next.
    pub(super) async fn show(&self, basket: &mut Basket<'_>) -> Result<()> {
        let Some(mut after) = self.last_delivered().await? else {
            return self.show_behind(basket, "-".to_owned()).await;
        };
        for id in self.given_back(basket.max()).await? {
            let range: redis::RedisResult<StreamRangeReply> =
                self.commands.clone().xrange(&self.stream, &id, &id).await;
            let found = range.map_err(|error| failure::of(&error))?;
            if !found.ids.into_iter().all(|entry| basket.admit(&entry::read(entry))) {
                return Ok(());
            }
        }
        after.insert(0, '(');
        self.show_behind(basket, after).await
    }

    async fn show_behind(&self, basket: &mut Basket<'_>, mut start: String) -> Result<()> {
        loop {
            let wanted = basket.wanted();
            if wanted == 0 {
                return Ok(());
            }
            let range: redis::RedisResult<StreamRangeReply> =
                self.commands.clone().xrange_count(&self.stream, &start, "+", wanted).await;
            let found = range.map_err(|error| failure::of(&error))?.ids;
            let Some(last) = found.last() else { return Ok(()) };
            start = format!("({}", last.id);
            for entry in found {
                basket.admit(&entry::read(entry));
            }
        }
    }

    /// How far our group has read; nothing where there is none yet.
    async fn last_delivered(&self) -> Result<Option<String>> {
        let is_there: redis::RedisResult<bool> = self.commands.clone().exists(&self.stream).await;
        if !is_there.map_err(|error| failure::of(&error))? {
            return Ok(None);
        }
        let groups: redis::RedisResult<StreamInfoGroupsReply> =
            self.commands.clone().xinfo_groups(&self.stream).await;
        let groups = groups.map_err(|error| failure::of(&error))?.groups;
        Ok(groups.into_iter().find(|group| group.name == self.group).map(|group| group.last_delivered_id))
    }

    /// What our group has, and whoever comes next may take.
    async fn given_back(&self, max: usize) -> Result<Vec<String>> {
        let mut pending = Cmd::new();
        pending.arg("XPENDING").arg(&self.stream).arg(&self.group).arg("IDLE");
        pending.arg(u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX)).arg("-").arg("+").arg(max);
        let found: redis::RedisResult<StreamPendingCountReply> =
            pending.query_async(&mut self.commands.clone()).await;
        let found = found.map_err(|error| failure::of(&error))?;
        Ok(found.ids.into_iter().map(|one| one.id).collect())
    }
}
