//! Queues and exchanges: looked for first, made where they are missing and may be.

use super::failure::{self, NOT_FOUND};
use super::properties::short;
use super::publisher::{Publisher, Target};
use crate::mq::destination::Destination;
use lapin::ExchangeKind;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::time::Duration;
use tool::{Error, Result};

/// How long a queue that delays stays when it is empty.
const KEPT: Duration = Duration::from_secs(60);

impl Publisher {
    /// Sees to it that the place is there, once per connection.
    pub(super) async fn ensure(&self, place: &Destination, declares: bool) -> Result<()> {
        if self.knows(place) {
            return Ok(());
        }
        match place {
            Destination::Exchange { exchange, .. } => self.ensure_exchange(exchange, declares).await?,
            Destination::Queue(name)
            | Destination::Topic(name)
            | Destination::Channel(name)
            | Destination::Stream(name) => self.ensure_queue(name, declares).await?,
        }
        self.remember(place);
        Ok(())
    }

    /// One that others made with other properties is as good.
    pub(super) async fn ensure_queue(&self, name: &str, declares: bool) -> Result<()> {
        let look = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        // What is not there ends the channel that asked for it.
        let channel = self.channel().await?;
        let found = channel.queue_declare(short(name)?, look, FieldTable::default()).await;
        match found {
            Ok(_) => {
                let _ = channel.close(200, "done".into()).await;
                Ok(())
            }
            Err(error) if declares && failure::code_of(&error) == Some(NOT_FOUND) => {
                self.declare_queue(name, FieldTable::default()).await
            }
            Err(error) => Err(failure::of(&error, name)),
        }
    }

    async fn declare_queue(&self, name: &str, arguments: FieldTable) -> Result<()> {
        let channel = self.channel().await?;
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let made = channel.queue_declare(short(name)?, durable, arguments).await;
        made.map_err(|error| failure::of(&error, name))?;
        let _ = channel.close(200, "done".into()).await;
        Ok(())
    }

    async fn ensure_exchange(&self, name: &str, declares: bool) -> Result<()> {
        let look = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
        let channel = self.channel().await?;
        let table = FieldTable::default();
        let found = channel.exchange_declare(short(name)?, ExchangeKind::Topic, look, table.clone()).await;
        let made = match found {
            Err(error) if declares && failure::code_of(&error) == Some(NOT_FOUND) => {
                let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
                let channel = self.channel().await?;
                channel.exchange_declare(short(name)?, ExchangeKind::Topic, durable, table).await
            }
            other => other,
        };
        made.map_err(|error| failure::of(&error, name))
    }

    /// Binds a queue to the exchange, so that it gets what has the routing key.
    pub(super) async fn bind(&self, queue: &str, exchange: &str, routing_key: &str) -> Result<()> {
        let channel = self.channel().await?;
        let (options, table) = (QueueBindOptions::default(), FieldTable::default());
        let bound =
            channel.queue_bind(short(queue)?, short(exchange)?, short(routing_key)?, options, table).await;
        bound.map_err(|error| failure::of(&error, exchange))?;
        let _ = channel.close(200, "done".into()).await;
        Ok(())
    }

    /// A queue that nobody reads: what was in it for `delay` goes to the target. All messages in it wait equally long, so
    /// that none is stuck behind another. Declared each time, since it goes when it was not used for a while.
    pub(super) async fn delay_queue(&self, target: &Target, delay: Duration) -> Result<Target> {
        let milliseconds = |time: Duration| {
            let number = u32::try_from(time.as_millis()).map_err(|_| {
                let message = "parameter 'delay' is longer than RabbitMQ can wait, which is 49 days";
                Error::invalid_input(message).of_parameter("delay")
            });
            number.map(|number| AMQPValue::LongLongInt(i64::from(number)))
        };
        let mut arguments = FieldTable::default();
        arguments.insert("x-message-ttl".into(), milliseconds(delay)?);
        arguments.insert("x-expires".into(), milliseconds(delay + KEPT)?);
        arguments
            .insert("x-dead-letter-exchange".into(), AMQPValue::LongString(target.exchange.as_str().into()));
        let key = AMQPValue::LongString(target.routing_key.as_str().into());
        arguments.insert("x-dead-letter-routing-key".into(), key);
        let name = delay_name(target, delay);
        self.declare_queue(&name, arguments).await?;
        Ok(Target { exchange: String::new(), routing_key: name })
    }
}

/// The same for the same target and delay, however long the target's name is.
fn delay_name(target: &Target, delay: Duration) -> String {
    let mut hash = Sha256::new();
    hash.update(target.exchange.as_bytes());
    hash.update([0]);
    hash.update(target.routing_key.as_bytes());
    let mut name = String::from("mcp-all-in-one.delay.");
    for byte in hash.finalize().iter().take(16) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    format!("{name}.{}", delay.as_millis())
}
