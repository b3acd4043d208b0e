//! Reading a channel: at most once, and nothing that comes while nobody listens.

use super::failure;
use crate::mq::broker::Reader;
use crate::mq::message::{Incoming, Payload};
use crate::mq::sole_reader::SoleReader;
use async_trait::async_trait;
use futures::StreamExt as _;
use redis::aio::PubSub;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tool::queue::Settlement;
use tool::{Error, Result};

/// How many messages wait for a slow sink; what comes then is lost, as the channel promises.
const WAITING: usize = 256;
const WAIT: Duration = Duration::from_millis(500);

/// The only reader of a channel in its group.
pub(super) struct ChannelReader {
    held: SoleReader,
    messages: Mutex<mpsc::Receiver<Vec<u8>>>,
    channel: String,
    _receiving: AbortOnDropHandle<()>,
}

impl ChannelReader {
    pub(super) async fn start(
        mut pubsub: PubSub,
        channel: &str,
        held: SoleReader,
        max_message_bytes: usize,
    ) -> Result<Self> {
        pubsub.subscribe(channel).await.map_err(|error| failure::of(&error))?;
        let (sender, messages) = mpsc::channel(WAITING);
        let name = channel.to_owned();
        let receiving = tokio::spawn(async move {
            let mut stream = pubsub.into_on_message();
            while let Some(message) = stream.next().await {
                let bytes = message.get_payload_bytes();
                if bytes.len() > max_message_bytes || sender.try_send(bytes.to_vec()).is_err() {
                    tracing::warn!(
                        channel = name,
                        "a message of channel '{name}' was too large or came too fast, and is lost"
                    );
                }
            }
        });
        let receiving = AbortOnDropHandle::new(receiving);
        Ok(Self { held, messages: Mutex::new(messages), channel: channel.to_owned(), _receiving: receiving })
    }
}

#[async_trait]
impl Reader for ChannelReader {
    async fn next(&self, max: usize, stop: &CancellationToken) -> Result<Vec<Incoming>> {
        self.held.check()?;
        let mut messages = self.messages.lock().await;
        let mut found = Vec::new();
        let receiving = tokio::time::timeout(WAIT, messages.recv_many(&mut found, max));
        if let Some(Ok(0)) = stop.run_until_cancelled(receiving).await {
            return Err(Error::unavailable("the connection to Redis broke").retryable());
        }
        let incoming = |bytes| Incoming {
            id: tool::new_id(),
            payload: Payload::Bytes(bytes),
            key: None,
            headers: BTreeMap::new(),
            published_at: None,
            position: self.channel.clone(),
            attempt: 1,
        };
        Ok(found.into_iter().map(incoming).collect())
    }

    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()> {
        match settlement {
            Settlement::Done => {}
            Settlement::Dead(reason) => {
                tracing::warn!(id = message.id, reason, "a message of a channel is lost: {reason}");
            }
            Settlement::Again(_) | Settlement::Back => {
                tracing::warn!(id = message.id, "a message of a channel is lost: nobody took it in time");
            }
        }
        Ok(())
    }

    async fn again(&self, mut message: Incoming, _: Duration) -> Result<Option<Incoming>> {
        message.attempt = message.attempt.saturating_add(1);
        Ok(Some(message))
    }

    async fn close(&self) {
        self.held.release().await;
    }
}
