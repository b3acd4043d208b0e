//! RabbitMQ: queues, and exchanges with a routing key. What is published is confirmed, persistent, and reaches a queue.

mod connection;
mod failure;
mod properties;
mod publisher;
mod reader;
mod topology;

use super::address::{Address, Spelling};
use super::broker::{Broker, Options, Reader};
use super::destination::Destination;
use super::message::{Incoming, Outgoing, Receipt};
use async_trait::async_trait;
use connection::Connections;
use lapin::options::{BasicGetOptions, BasicNackOptions};
use publisher::Target;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use tool::{Error, Problem, Result, Secret, Subscription};

const SPELLING: Spelling =
    Spelling { schemes: [("amqp", 5672), ("amqps", 5671)], example: "amqps://user:password@host/vhost" };

/// How often is looked for a message that somebody waits for.
const LOOK: Duration = Duration::from_millis(50);

/// One virtual host.
pub(super) struct Rabbitmq {
    connections: Arc<Connections>,
    declares: bool,
}

impl Rabbitmq {
    pub(super) fn new(text: Option<&Secret>, options: Options) -> Result<Self, Problem> {
        let address = Address::parse(text, &SPELLING)?;
        let declares = options.declares;
        Ok(Self { connections: Arc::new(Connections::new(address, options)), declares })
    }

    async fn get(&self, queue: &str, max: usize, options: BasicGetOptions) -> Result<Vec<Incoming>> {
        let channel = self.connections.channel().await?;
        let mut found = Vec::new();
        while found.len() < max {
            let got = channel.basic_get(properties::short(queue)?, options).await;
            match got.map_err(|error| failure::of(&error, queue))? {
                Some(message) => found.push(message.delivery),
                None => break,
            }
        }
        if let Some(last) = found.last().filter(|_| !options.no_ack) {
            let back = BasicNackOptions { multiple: true, requeue: true };
            let back = channel.basic_nack(last.delivery_tag, back).await;
            back.map_err(|error| failure::of(&error, queue))?;
        }
        // One that is not closed goes with its connection.
        let _ = channel.close(200, "done".into()).await;
        Ok(found.into_iter().map(properties::read).collect())
    }
}

fn queue_of(from: &Destination) -> Result<&str> {
    match from {
        Destination::Queue(name) => Ok(name),
        _ => Err(Error::unsupported("an exchange keeps no messages; use a queue")),
    }
}

#[async_trait]
impl Broker for Rabbitmq {
    fn delays(&self) -> bool {
        true
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        let publisher = self.connections.publisher().await?;
        publisher.ensure(to, self.declares).await?;
        let target = match message.delay.is_zero() {
            true => Target::of(to),
            false => publisher.delay_queue(&Target::of(to), message.delay).await?,
        };
        publisher.publish(&target, &message.bytes, properties::of(message)?).await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + message.delay;
        Ok(Receipt { available_at: i64::try_from(now.as_millis()).ok(), ..Receipt::default() })
    }

    async fn peek(&self, from: &Destination, max: usize) -> Result<Vec<Incoming>> {
        self.get(queue_of(from)?, max, BasicGetOptions { no_ack: false }).await
    }

    async fn receive(&self, from: &Destination, max: usize, wait: Duration) -> Result<Vec<Incoming>> {
        let (queue, until) = (queue_of(from)?, Instant::now() + wait);
        self.connections.publisher().await?.ensure(from, self.declares).await?;
        loop {
            let taken = self.get(queue, max, BasicGetOptions { no_ack: true }).await?;
            if !taken.is_empty() || Instant::now() >= until {
                return Ok(taken);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn health(&self, places: &[Destination]) -> Result<()> {
        let publisher = self.connections.publisher().await?;
        publisher.check_unblocked()?;
        for place in places.iter().filter(|_| !self.declares) {
            publisher.ensure(place, self.declares).await?;
        }
        let channel = self.connections.channel().await?;
        let _ = channel.close(200, "done".into()).await;
        Ok(())
    }

    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>> {
        let reader = reader::QueueReader::start(&self.connections, from, wanted, self.declares).await?;
        Ok(Box::new(reader))
    }
}
