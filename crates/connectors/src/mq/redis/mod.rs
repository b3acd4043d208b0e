//! Redis: streams, which keep messages, and channels, which do not.

mod channel;
mod connection;
mod entry;
mod failure;
mod stream;

use super::address::{Address, Spelling, refused};
use super::broker::{Broker, Options, Reader};
use super::destination::Destination;
use super::held::Held;
use super::message::{Incoming, Outgoing, Receipt};
use async_trait::async_trait;
use channel::ChannelReader;
use connection::Connections;
use redis::{AsyncCommands, Cmd, streams::StreamRangeReply};
use std::sync::Arc;
use std::time::Duration;
use stream::StreamReader;
use tokio::time::Instant;
use tool::{Env, Error, Problem, Queue, Result, Secret, Subscription, TenantId};

const SPELLING: Spelling =
    Spelling { schemes: [("redis", 6379), ("rediss", 6379)], example: "rediss://user:password@host:6379/0" };

/// How often is looked for a message that somebody waits for.
const LOOK: Duration = Duration::from_millis(50);

/// One Redis database.
pub(super) struct Redis {
    connections: Arc<Connections>,
    declares: bool,
    queue: Option<Arc<dyn Queue>>,
    tenant: TenantId,
    service: String,
    lease: Duration,
    max_message_bytes: usize,
}

impl Redis {
    pub(super) fn new(text: Option<&Secret>, options: Options, env: &Env) -> Result<Self, Problem> {
        let address = Address::parse(text, &SPELLING)?;
        let database = match address.path.as_str() {
            "" => 0,
            number => number.parse().map_err(|_| refused("names a database that is no number"))?,
        };
        Ok(Self {
            declares: options.declares,
            queue: env.queue.clone(),
            tenant: env.tenant.clone(),
            service: env.service.clone().unwrap_or_default(),
            lease: options.lease,
            max_message_bytes: options.max_message_bytes,
            connections: Arc::new(Connections::new(address, database, options)),
        })
    }

    async fn publish_to_channel(&self, channel: &str, message: &Outgoing) -> Result<Receipt> {
        if !message.headers.is_empty() {
            let message =
                "parameter 'headers' cannot be sent: a channel carries messages alone; use a stream";
            return Err(Error::invalid_input(message).of_parameter("headers"));
        }
        let mut connection = self.connections.shared().await?;
        let published: redis::RedisResult<u64> = connection.publish(channel, &message.bytes).await;
        let receivers = published.map_err(|error| failure::of_publishing(&error))?;
        Ok(Receipt { receivers: Some(receivers), ..Receipt::default() })
    }

    async fn range(&self, stream: &str, max: usize) -> Result<StreamRangeReply> {
        let mut connection = self.connections.shared().await?;
        connection.xrange_count(stream, "-", "+", max).await.map_err(|error| failure::of(&error))
    }
}

fn is_reading(from: &Destination) -> Result<&str> {
    match from {
        Destination::Stream(name) => Ok(name),
        _ => Err(Error::unsupported("a channel keeps no messages; use a stream")),
    }
}

#[async_trait]
impl Broker for Redis {
    fn delays(&self) -> bool {
        false
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        let stream = match to {
            Destination::Channel(channel) => return self.publish_to_channel(channel, message).await,
            other => is_reading(other)?,
        };
        let mut add = Cmd::new();
        add.arg("XADD").arg(stream);
        if !self.declares {
            add.arg("NOMKSTREAM");
        }
        add.arg("*");
        entry::write(&mut add, message);
        let mut connection = self.connections.shared().await?;
        let id: Option<String> =
            add.query_async(&mut connection).await.map_err(|error| failure::of_publishing(&error))?;
        let id =
            id.ok_or_else(|| Error::missing(format!("there is no stream '{stream}', and 'declare' is off")))?;
        Ok(Receipt { available_at: entry::time_of(&id), position: Some(id), receivers: None })
    }

    async fn peek(&self, from: &Destination, max: usize) -> Result<Vec<Incoming>> {
        let found = self.range(is_reading(from)?, max).await?;
        Ok(found.ids.into_iter().map(entry::read).collect())
    }

    async fn receive(&self, from: &Destination, max: usize, wait: Duration) -> Result<Vec<Incoming>> {
        let (stream, until) = (is_reading(from)?, Instant::now() + wait);
        loop {
            let mut taken = Vec::new();
            for found in self.range(stream, max).await?.ids {
                let mut connection = self.connections.shared().await?;
                // Whoever deletes it has it.
                let deleted: redis::RedisResult<u64> = connection.xdel(stream, &[&found.id]).await;
                if deleted.map_err(|error| failure::of(&error))? == 1 {
                    taken.push(entry::read(found));
                }
            }
            if !taken.is_empty() || Instant::now() >= until {
                return Ok(taken);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn health(&self, places: &[Destination]) -> Result<()> {
        let mut connection = self.connections.shared().await?;
        let _: String =
            redis::cmd("PING").query_async(&mut connection).await.map_err(|error| failure::of(&error))?;
        let streams = places.iter().filter_map(|place| is_reading(place).ok());
        for stream in streams.filter(|_| !self.declares) {
            let is_there: bool = connection.exists(stream).await.map_err(|error| failure::of(&error))?;
            if !is_there {
                return Err(Error::missing(format!("there is no stream '{stream}', and 'declare' is off")));
            }
        }
        Ok(())
    }

    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>> {
        // One after the other, and at most once, needs a single reader.
        let is_alone = wanted.ordered || matches!(from, Destination::Channel(_));
        let held = match is_alone {
            true => {
                let name = format!("mq/{}/{from}/{}", self.service, wanted.group);
                Some(Held::take(self.queue.as_ref(), &self.tenant, &name).await?)
            }
            false => None,
        };
        match (from, held) {
            (Destination::Channel(channel), Some(held)) => {
                let pubsub = self.connections.pubsub().await?;
                let reader = ChannelReader::start(pubsub, channel, held, self.max_message_bytes).await?;
                Ok(Box::new(reader))
            }
            (from, held) => {
                let connection = self.connections.own().await?;
                let reader = StreamReader::new(connection, is_reading(from)?, wanted, self.lease, held);
                if self.declares {
                    reader.make_group(wanted.from).await?;
                }
                Ok(Box::new(reader))
            }
        }
    }
}
