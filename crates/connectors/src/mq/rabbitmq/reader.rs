//! Reading a queue: so many messages at once as the sink may have, each acknowledged when it is settled.

use super::connection::Connections;
use super::failure::{self, ACCESS_REFUSED};
use super::properties::{self, short};
use super::publisher::{Publisher, Target};
use crate::mq::broker::Reader;
use crate::mq::destination::Destination;
use crate::mq::message::{ATTEMPT_HEADER, Incoming, Payload, dead_reason};
use async_trait::async_trait;
use futures::StreamExt as _;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Consumer};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tool::queue::{DEAD, DEAD_REASON, Settlement};
use tool::{Error, Result, Subscription};

const WAIT: Duration = Duration::from_millis(500);

/// One consumer on a connection of its own, which ends with it.
pub(super) struct QueueReader {
    publisher: Publisher,
    channel: Channel,
    consumer: Mutex<Consumer>,
    queue: String,
    declares: bool,
    is_ordered: bool,
}

impl QueueReader {
    pub(super) async fn start(
        connections: &Connections,
        from: &Destination,
        wanted: &Subscription,
        declares: bool,
    ) -> Result<Self> {
        let publisher = Publisher::open(Box::pin(connections.open()).await?).await?;
        publisher.ensure(from, declares).await?;
        let queue = match from {
            Destination::Exchange { exchange, routing_key } => {
                publisher.ensure_queue(&wanted.group, declares).await?;
                if declares {
                    publisher.bind(&wanted.group, exchange, routing_key).await?;
                }
                wanted.group.clone()
            }
            other => Target::of(other).routing_key,
        };
        let channel = publisher.channel().await?;
        let most =
            if wanted.ordered { 1 } else { u16::try_from(wanted.max_in_flight).unwrap_or(u16::MAX).max(1) };
        let limited = channel.basic_qos(most, BasicQosOptions::default()).await;
        limited.map_err(|error| failure::of(&error, &queue))?;
        // In order there is one consumer, and the others wait until it is gone.
        let options = BasicConsumeOptions { exclusive: wanted.ordered, ..BasicConsumeOptions::default() };
        let tag = short(&tool::new_id::<String>())?;
        let consumer = channel.basic_consume(short(&queue)?, tag, options, FieldTable::default()).await;
        let consumer = consumer.map_err(|error| match failure::code_of(&error) {
            Some(ACCESS_REFUSED) if wanted.ordered => {
                Error::unavailable(format!("somebody else reads '{queue}' in order")).retryable()
            }
            _ => failure::of(&error, &queue),
        })?;
        let (consumer, is_ordered) = (Mutex::new(consumer), wanted.ordered);
        Ok(Self { publisher, channel, consumer, queue, declares, is_ordered })
    }

    async fn acknowledge(&self, message: &Incoming) -> Result<()> {
        let done = self.channel.basic_ack(tag(message)?, BasicAckOptions::default()).await;
        done.map_err(|error| failure::of(&error, &self.queue))
    }

    async fn give_back(&self, message: &Incoming) -> Result<()> {
        let options = BasicNackOptions { multiple: false, requeue: true };
        let done = self.channel.basic_nack(tag(message)?, options).await;
        done.map_err(|error| failure::of(&error, &self.queue))
    }

    /// Puts a copy into another queue, and acknowledges the message once that is confirmed.
    async fn move_to(&self, target: &Target, message: &Incoming, added: (&str, String)) -> Result<()> {
        let Payload::Bytes(bytes) = &message.payload else {
            return Err(Error::internal("a message of a queue has no bytes"));
        };
        self.publisher.publish(target, bytes, properties::again(message, added)?).await?;
        self.acknowledge(message).await
    }

    async fn put_off(&self, message: &Incoming, pause: Duration) -> Result<()> {
        let later = self.publisher.delay_queue(&Target::queue(&self.queue), pause).await?;
        self.move_to(&later, message, (ATTEMPT_HEADER, message.attempt.to_string())).await
    }

    async fn bury(&self, message: &Incoming, reason: &str) -> Result<()> {
        let dead = format!("{}{DEAD}", self.queue);
        self.publisher.ensure_queue(&dead, self.declares).await?;
        self.move_to(&Target::queue(&dead), message, (DEAD_REASON, dead_reason(reason))).await
    }
}

fn ended() -> Error {
    Error::unavailable("RabbitMQ ended the subscription").retryable()
}

fn tag(message: &Incoming) -> Result<u64> {
    message.position.parse().map_err(|_| Error::internal("a delivery has no tag"))
}

#[async_trait]
impl Reader for QueueReader {
    async fn next(&self, max: usize, stop: &CancellationToken) -> Result<Vec<Incoming>> {
        // Without it nothing can be buried or put off.
        if !self.publisher.is_open() {
            return Err(ended());
        }
        let mut consumer = self.consumer.lock().await;
        let first = stop.run_until_cancelled(tokio::time::timeout(WAIT, consumer.next())).await;
        let mut found = Vec::new();
        let mut next = match first {
            None | Some(Err(_)) => return Ok(found),
            Some(Ok(next)) => next,
        };
        loop {
            match next {
                Some(Ok(delivery)) => found.push(properties::read(delivery)),
                Some(Err(error)) if found.is_empty() => return Err(failure::of(&error, &self.queue)),
                None if found.is_empty() => return Err(ended()),
                Some(Err(_)) | None => return Ok(found),
            }
            if found.len() >= max {
                return Ok(found);
            }
            let Ok(more) = tokio::time::timeout(Duration::ZERO, consumer.next()).await else {
                return Ok(found);
            };
            next = more;
        }
    }

    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()> {
        match settlement {
            Settlement::Done => self.acknowledge(message).await,
            Settlement::Back | Settlement::Again(_) => self.give_back(message).await,
            Settlement::Dead(reason) => self.bury(message, &reason).await,
        }
    }

    async fn again(&self, mut message: Incoming, pause: Duration) -> Result<Option<Incoming>> {
        if self.declares && !self.is_ordered {
            match self.put_off(&message, pause).await {
                Ok(()) => return Ok(None),
                Err(error) => tracing::debug!(%error, "a message waits here, not at RabbitMQ: {error}"),
            }
        }
        message.attempt = message.attempt.saturating_add(1);
        Ok(Some(message))
    }

    /// What is not acknowledged by now goes back to the queue.
    async fn close(&self) {
        let _ = self.channel.close(200, "done".into()).await;
    }
}
