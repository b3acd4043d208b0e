//! Redis: streams, which keep messages, and channels, which do not.

mod channel;
mod connection;
mod entry;
mod failure;
mod stream;
mod taker;

use super::address::{Address, Spelling, refused};
use super::basket::Basket;
use super::broker::{Broker, Options, Reader};
use super::destination::Destination;
use super::message::{Outgoing, Receipt};
use super::sole_reader::SoleReader;
use async_trait::async_trait;
use channel::ChannelReader;
use connection::Connections;
use redis::{AsyncCommands, Cmd};
use std::sync::Arc;
use std::time::Duration;
use stream::StreamReader;
use taker::Taker;
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
        message.leaves();
        let published: redis::RedisResult<u64> = connection.publish(channel, &message.bytes).await;
        let receivers = published.map_err(|error| failure::of_publishing(&error))?;
        Ok(Receipt { receivers: Some(receivers), ..Receipt::default() })
    }

    async fn publish_to_stream(&self, stream: &str, message: &Outgoing) -> Result<Receipt> {
        let mut add = Cmd::new();
        add.arg("XADD").arg(stream);
        if !self.declares {
            add.arg("NOMKSTREAM");
        }
        add.arg("*");
        entry::write(&mut add, message);
        let mut connection = self.connections.shared().await?;
        message.leaves();
        let id: Option<String> =
            add.query_async(&mut connection).await.map_err(|error| failure::of_publishing(&error))?;
        let id = id.ok_or_else(|| no_stream(stream))?;
        Ok(Receipt { available_at: entry::time_of(&id), position: Some(id), receivers: None })
    }

    async fn check(&self, places: &[Destination]) -> Result<()> {
        let mut connection = self.connections.shared().await?;
        let _: String =
            redis::cmd("PING").query_async(&mut connection).await.map_err(|error| failure::of(&error))?;
        let streams = places.iter().filter_map(|place| is_reading(place).ok());
        for stream in streams.filter(|_| !self.declares) {
            let is_there: bool = connection.exists(stream).await.map_err(|error| failure::of(&error))?;
            if !is_there {
                return Err(no_stream(stream));
            }
        }
        Ok(())
    }

    /// Who takes messages of a stream for callers; other groups read it on their own.
    async fn taker(&self, stream: &str) -> Result<Taker> {
        let group = format!("mcp-all-in-one.{}.{}", self.tenant, self.service);
        let connection = self.connections.shared_connection().await?;
        Ok(Taker::new(connection, stream, group, self.lease, self.declares))
    }
}

fn is_reading(from: &Destination) -> Result<&str> {
    match from {
        Destination::Stream(name) => Ok(name),
        _ => Err(Error::unsupported("a channel keeps no messages; use a stream")),
    }
}

fn no_stream(stream: &str) -> Error {
    Error::missing(format!("there is no stream '{stream}', and 'declare' is off"))
}

#[async_trait]
impl Broker for Redis {
    fn delays(&self, _: &Destination) -> bool {
        false
    }

    async fn find(&self, to: &Destination) -> Result<()> {
        if self.declares {
            return Ok(());
        }
        self.health(std::slice::from_ref(to)).await
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        message.stays_here();
        let publishing = async {
            match to {
                Destination::Channel(channel) => self.publish_to_channel(channel, message).await,
                other => self.publish_to_stream(is_reading(other)?, message).await,
            }
        };
        self.connections.unanswered.watch(publishing).await
    }

    async fn peek(&self, from: &Destination, basket: &mut Basket<'_>) -> Result<()> {
        let stream = is_reading(from)?;
        self.find(from).await?;
        self.connections.unanswered.watch(async { self.taker(stream).await?.show(basket).await }).await
    }

    async fn receive(&self, from: &Destination, basket: &mut Basket<'_>, wait: Duration) -> Result<()> {
        let (stream, until) = (is_reading(from)?, Instant::now() + wait);
        loop {
            let taking = async { self.taker(stream).await?.take(basket).await };
            self.connections.unanswered.watch(taking).await?;
            if !basket.is_empty() || Instant::now() >= until {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn health(&self, places: &[Destination]) -> Result<()> {
        self.connections.unanswered.watch(self.check(places)).await
    }

    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>> {
        // One after the other, and at most once, needs a single reader.
        let is_alone = wanted.ordered || matches!(from, Destination::Channel(_));
        let held = match is_alone {
            true => {
                let name = format!("mq/{}/{from}/{}", self.service, wanted.group);
                Some(SoleReader::take(self.queue.as_ref(), &self.tenant, &name).await?)
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
                let consumer = (wanted.group.as_str(), tool::new_id());
                let reader = StreamReader::new(connection, is_reading(from)?, consumer, self.lease, held);
                if self.declares {
                    reader.make_group(wanted.from).await?;
                }
                // Of those who were killed.
                reader.forget_consumers().await;
                Ok(Box::new(reader))
            }
        }
    }
}
