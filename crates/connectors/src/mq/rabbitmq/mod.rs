//! RabbitMQ: queues, and exchanges with a routing key. What is published is confirmed, persistent, and reaches a queue.

mod connection;
mod failure;
mod properties;
mod publisher;
mod reader;
mod topology;

use super::address::{Address, Spelling};
use super::basket::Basket;
use super::broker::{Broker, Options, Reader};
use super::destination::Destination;
use super::message::{Outgoing, Receipt};
use async_trait::async_trait;
use connection::Connections;
use lapin::options::{BasicAckOptions, BasicGetOptions, BasicNackOptions};
use publisher::Target;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use tool::{Error, Problem, Result, Secret, Subscription};

const SPELLING: Spelling =
    Spelling { schemes: [("amqp", 5672), ("amqps", 5671)], example: "amqps://user:password@host/vhost" };

/// How often is looked for a message that somebody waits for.
const LOOK: Duration = Duration::from_millis(50);

/// What becomes of messages that were got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Take,
    GiveBack,
}

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

    async fn send(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        message.stays_here();
        let publisher = self.connections.publisher().await?;
        publisher.ensure(to, self.declares).await?;
        let target = match message.delay.is_zero() {
            true => Target::of(to),
            false => publisher.delay_queue(&Target::of(to), message.delay).await?,
        };
        let properties = properties::of(message)?;
        message.leaves();
        publisher.publish(&target, &message.bytes, properties).await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + message.delay;
        Ok(Receipt { available_at: i64::try_from(now.as_millis()).ok(), ..Receipt::default() })
    }

    async fn check(&self, places: &[Destination]) -> Result<()> {
        let publisher = self.connections.publisher().await?;
        publisher.check_unblocked()?;
        for place in places.iter().filter(|_| !self.declares) {
            publisher.ensure(place, self.declares).await?;
        }
        let channel = self.connections.channel().await?;
        let _ = channel.close(200, "done".into()).await;
        Ok(())
    }

    /// Gets messages until the basket is full, and settles them: those in the basket as `then` says. What is not settled
    /// when the channel ends goes back to the queue.
    async fn get(&self, from: &Destination, basket: &mut Basket<'_>, then: Then) -> Result<()> {
        let queue = queue_of(from)?;
        let publisher = self.connections.publisher().await?;
        publisher.ensure(from, self.declares).await?;
        let channel = publisher.channel().await?;
        let failed = |error| publisher.failure(&error, queue);
        let (mut last, mut last_fitting) = (None, None);
        while basket.wanted() > 0 {
            let got = channel.basic_get(properties::short(queue)?, BasicGetOptions { no_ack: false }).await;
            let Some(message) = got.map_err(failed)? else { break };
            last = Some(message.delivery.delivery_tag);
            if basket.admit(&properties::read(message.delivery)) {
                last_fitting = last;
            }
        }
        if let Some(tag) = last_fitting.filter(|_| then == Then::Take) {
            channel.basic_ack(tag, BasicAckOptions { multiple: true }).await.map_err(failed)?;
        }
        if let Some(tag) = last.filter(|_| then == Then::GiveBack || last != last_fitting) {
            let back = BasicNackOptions { multiple: true, requeue: true };
            channel.basic_nack(tag, back).await.map_err(failed)?;
        }
        // One that is not closed goes with its connection.
        let _ = channel.close(200, "done".into()).await;
        Ok(())
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
    /// What a queue hands on when its time is over may reach no other, and nobody is told: an exchange is asked when it is due.
    fn delays(&self, to: &Destination) -> bool {
        !matches!(to, Destination::Exchange { .. })
    }

    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt> {
        self.connections.unanswered.watch(self.send(to, message)).await
    }

    async fn peek(&self, from: &Destination, basket: &mut Basket<'_>) -> Result<()> {
        self.connections.unanswered.watch(self.get(from, basket, Then::GiveBack)).await
    }

    async fn receive(&self, from: &Destination, basket: &mut Basket<'_>, wait: Duration) -> Result<()> {
        let until = Instant::now() + wait;
        loop {
            self.connections.unanswered.watch(self.get(from, basket, Then::Take)).await?;
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
        let reader = reader::QueueReader::start(&self.connections, from, wanted, self.declares).await?;
        Ok(Box::new(reader))
    }
}
