//! What every broker can do for us.

use super::basket::Basket;
use super::destination::Destination;
use super::message::{Incoming, Outgoing, Receipt};
use async_trait::async_trait;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool::queue::Settlement;
use tool::{Result, Subscription};

/// How a broker elsewhere is reached, and what may be done there.
#[cfg(feature = "brokers")]
pub(super) struct Options {
    pub(super) policy: std::sync::Arc<crate::shared::network::Policy>,
    pub(super) tls: fetch::Tls,
    pub(super) attempts: u32,
    pub(super) backoff: crate::shared::attempts::Backoff,
    pub(super) timeout: Duration,
    pub(super) declares: bool,
    pub(super) lease: Duration,
    pub(super) max_message_bytes: usize,
}

#[cfg(feature = "brokers")]
impl Options {
    /// How long it is tried to connect, and how often.
    pub(super) fn budget(&self) -> crate::shared::attempts::Budget {
        crate::shared::attempts::Budget {
            deadline: std::time::Instant::now() + self.timeout,
            attempt: self.timeout,
            attempts: self.attempts,
            backoff: self.backoff,
        }
    }
}

/// One broker. Errors that are retryable mean that nothing was sent.
#[async_trait]
pub(super) trait Broker: Send + Sync + 'static {
    /// It can hold a message for this place back by itself; otherwise the call is made later.
    fn delays(&self, to: &Destination) -> bool;

    /// Ends the key of a message in one with publishing it.
    fn ends_keys(&self) -> bool {
        false
    }

    /// Whether the place is there for a message that is made later; where it is made then, it is.
    ///
    /// # Errors
    /// `Missing` where it is not. Whatever else is no answer.
    async fn find(&self, _: &Destination) -> Result<()> {
        Ok(())
    }

    /// Returns when the broker has said that it has the message.
    async fn publish(&self, to: &Destination, message: &Outgoing) -> Result<Receipt>;

    /// Shows the next messages, as many as the basket has room for, and leaves them where they are.
    async fn peek(&self, from: &Destination, basket: &mut Basket<'_>) -> Result<()>;

    /// Takes the next messages for good, waiting for the first. What the basket has no room for stays.
    async fn receive(&self, from: &Destination, basket: &mut Basket<'_>, wait: Duration) -> Result<()>;

    /// Whether it answers, and knows these places.
    async fn health(&self, places: &[Destination]) -> Result<()>;

    /// Begins to read as one of a group.
    async fn subscribe(&self, from: &Destination, wanted: &Subscription) -> Result<Box<dyn Reader>>;
}

/// One reader of a group.
#[async_trait]
pub(super) trait Reader: Send + Sync + 'static {
    /// The next messages, at most so many; after a while none. When `stop` fires it waits no longer.
    async fn next(&self, max: usize, stop: &CancellationToken) -> Result<Vec<Incoming>>;

    /// How often a message must be renewed so that nobody else gets it, where it must.
    fn renews_every(&self) -> Option<Duration> {
        None
    }

    /// Keeps a message from others for longer.
    async fn renew(&self, _: &Incoming) -> Result<()> {
        Ok(())
    }

    /// Says what becomes of a message.
    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()>;

    /// A message is to come again after the pause: gives it back where it is this reader that has to bring it.
    /// One that is not renewed and cannot be put off is given back, too: nobody else would ever bring it.
    async fn again(&self, message: Incoming, pause: Duration) -> Result<Option<Incoming>>;

    /// Takes nothing more.
    async fn close(&self);
}
