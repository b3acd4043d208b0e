//! The connection that calls share, and its channel: every message is confirmed, and must reach a queue.

use super::failure;
use super::properties::short;
use crate::mq::destination::Destination;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Channel, Confirmation, Connection};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tool::{Error, Result};

/// How often a channel is asked for.
const CHANNEL_ATTEMPTS: u32 = 5;

/// An open connection with a channel for messages.
pub(super) struct Publisher {
    connection: Connection,
    channel: Channel,
    /// Places that were there.
    known: Mutex<BTreeSet<Destination>>,
}

/// Where a message is handed over.
pub(super) struct Target {
    pub(super) exchange: String,
    pub(super) routing_key: String,
}

impl Target {
    pub(super) fn of(place: &Destination) -> Self {
        match place {
            Destination::Exchange { exchange, routing_key } => {
                Self { exchange: exchange.clone(), routing_key: routing_key.clone() }
            }
            Destination::Queue(name)
            | Destination::Topic(name)
            | Destination::Channel(name)
            | Destination::Stream(name) => Self::queue(name),
        }
    }

    /// The exchange without a name hands messages to the queue of their routing key.
    pub(super) fn queue(name: &str) -> Self {
        Self { exchange: String::new(), routing_key: name.to_owned() }
    }

    fn shown(&self) -> String {
        match self.exchange.as_str() {
            "" => self.routing_key.clone(),
            exchange => format!("{exchange}/{}", self.routing_key),
        }
    }
}

impl Publisher {
    pub(super) async fn open(connection: Connection) -> Result<Self> {
        let failed = |error: lapin::Error| failure::of_connecting(&error);
        let channel = connection.create_channel().await.map_err(failed)?;
        channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(failed)?;
        Ok(Self { connection, channel, known: Mutex::default() })
    }

    pub(super) fn is_open(&self) -> bool {
        self.connection.status().connected() && self.channel.status().connected()
    }

    /// # Errors
    /// `Unavailable` while the broker takes no messages, for want of memory or disk.
    pub(super) fn check_unblocked(&self) -> Result<()> {
        match self.connection.status().blocked() {
            true => Err(Error::unavailable(
                "RabbitMQ takes no messages at the moment: it is short of memory or disk",
            )
            .retryable()),
            false => Ok(()),
        }
    }

    /// Whether somebody is there. A broker that takes no messages says so, and nothing else before it takes them again.
    pub(super) async fn answers(&self) -> bool {
        if self.connection.status().blocked() {
            return true;
        }
        let Ok(channel) = self.channel().await else { return false };
        let _ = channel.close(200, "done".into()).await;
        true
    }

    pub(super) async fn channel(&self) -> Result<Channel> {
        let mut attempts = 0;
        loop {
            match self.connection.create_channel().await {
                Ok(channel) => return Ok(channel),
                // The number of a channel that has just ended is used again, and its end may come after that.
                Err(error) if failure::code_of(&error).is_some() && attempts < CHANNEL_ATTEMPTS => {
                    attempts += 1
                }
                Err(error) => return Err(failure::of(&error, "channel")),
            }
        }
    }

    /// What is wrong with a place, which has to be looked for again if it is not there any more.
    pub(super) fn failure(&self, error: &lapin::Error, place: &str) -> Error {
        if failure::code_of(error) == Some(failure::NOT_FOUND) {
            self.forget_all();
        }
        failure::of(error, place)
    }

    pub(super) fn knows(&self, place: &Destination) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(place)
    }

    pub(super) fn remember(&self, place: &Destination) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone());
    }

    fn forget_all(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns when the broker has the message in a queue.
    pub(super) async fn publish(
        &self,
        target: &Target,
        bytes: &[u8],
        properties: BasicProperties,
    ) -> Result<()> {
        let (exchange, key) = (short(&target.exchange)?, short(&target.routing_key)?);
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let place = target.shown();
        let sent = self.channel.basic_publish(exchange, key, options, bytes, properties).await;
        let confirmed = match sent {
            Ok(confirm) => confirm.await,
            Err(error) => Err(error),
        };
        match confirmed.map_err(|error| failure::of_publishing(&error, &place))? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => {
                // A queue that was there may have gone.
                self.forget_all();
                let message =
                    format!("no queue takes what is published to '{place}'; bind one, or name a queue");
                Err(Error::missing(message))
            }
            Confirmation::Nack(None) => {
                Err(Error::upstream("RabbitMQ did not take the message; it was not published").retryable())
            }
            Confirmation::NotRequested => Err(Error::internal("the channel confirms nothing")),
        }
    }
}
