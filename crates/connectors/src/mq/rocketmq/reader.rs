//! Listening to a topic: as many messages at once as the sink may have, each kept from others until it is settled.

use super::consumer::{Consumer, MIN_WAIT, Polls, Receipt, Taken};
use super::route::Place;
use crate::mq::broker::Reader;
use crate::mq::message::Incoming;
use crate::mq::sole_reader::SoleReader;
use async_trait::async_trait;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tool::queue::Settlement;
use tool::{Error, Result};

/// One reader of a group.
pub(super) struct TopicReader {
    consumer: Arc<Consumer>,
    asking: tokio::sync::Mutex<Asking>,
    /// What RocketMQ knows each message by that is with the sink.
    receipts: Mutex<HashMap<Key, Receipt>>,
}

/// What is under way. Every broker is asked once at a time, as long as it takes: whoever gives up asking hides what was
/// just found.
#[derive(Default)]
struct Asking {
    polls: Polls,
    asked: HashSet<Place>,
    /// Found, and not handed out for want of room.
    found: VecDeque<(Instant, Taken)>,
    held: Option<SoleReader>,
}

/// Ids are for others to choose; places of what comes again begin anew.
type Key = (String, String);

fn key(message: &Incoming) -> Key {
    (message.id.clone(), message.position.clone())
}

impl TopicReader {
    /// One that is `held` is the only one of its group.
    pub(super) fn new(consumer: Consumer, held: Option<SoleReader>) -> Self {
        let asking = Asking { held, ..Asking::default() };
        Self { consumer: Arc::new(consumer), asking: asking.into(), receipts: Mutex::default() }
    }

    /// Asks every broker that is not being asked.
    async fn ask(&self, asking: &mut Asking, max: usize) -> Result<()> {
        let places = self.consumer.places().await?;
        let share = max / places.len().max(1);
        for place in places {
            if asking.asked.insert(place.clone()) {
                self.consumer.ask(&mut asking.polls, place, share, MIN_WAIT);
            }
        }
        Ok(())
    }

    fn receipts(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Receipt>> {
        self.receipts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receipt(&self, message: &Incoming) -> Result<Receipt> {
        let receipt = self.receipts().get(&key(message)).cloned();
        receipt.ok_or_else(|| Error::internal("a message has no receipt"))
    }
}

impl Asking {
    fn check(&self) -> Result<()> {
        self.held.as_ref().map_or(Ok(()), SoleReader::check)
    }

    /// Waits for what a broker says.
    async fn hear(&mut self) -> Result<()> {
        let Some(ended) = self.polls.join_next().await else { return Ok(()) };
        let (place, found) =
            ended.map_err(|error| Error::internal("a question to RocketMQ broke").caused_by(error))?;
        self.asked.remove(&place);
        self.found.extend(found?.into_iter().map(|taken| (Instant::now(), taken)));
        Ok(())
    }
}

#[async_trait]
impl Reader for TopicReader {
    async fn next(&self, max: usize, stop: &CancellationToken) -> Result<Vec<Incoming>> {
        let mut asking = self.asking.lock().await;
        asking.check()?;
        if asking.found.is_empty() {
            self.ask(&mut asking, max).await?;
            if let Some(heard) = stop.run_until_cancelled(asking.hear()).await {
                heard?;
            }
        }
        let most = max.min(asking.found.len());
        let mut messages = Vec::with_capacity(most);
        for (at, taken) in asking.found.drain(..most) {
            // Others may have what lay here for too long.
            if at.elapsed() < self.consumer.lease / 2 {
                self.receipts().insert(key(&taken.incoming), taken.receipt);
                messages.push(taken.incoming);
            }
        }
        Ok(messages)
    }

    fn renews_every(&self) -> Option<Duration> {
        Some(self.consumer.lease / 3)
    }

    async fn renew(&self, message: &Incoming) -> Result<()> {
        let receipt = self.consumer.hide(&self.receipt(message)?, self.consumer.lease, None).await?;
        self.receipts().insert(key(message), receipt);
        Ok(())
    }

    async fn settle(&self, message: &Incoming, settlement: Settlement) -> Result<()> {
        let receipt = self.receipt(message)?;
        match settlement {
            Settlement::Done => self.consumer.acknowledge(&receipt).await?,
            Settlement::Back => self.consumer.give_back(&receipt).await,
            Settlement::Again(pause) => self.consumer.hide(&receipt, pause, None).await.map(drop)?,
            Settlement::Dead(reason) => {
                self.consumer.bury(&receipt).await?;
                // RocketMQ's dead letters have no room for it, so that this line alone says why.
                tracing::warn!(
                    id = message.id,
                    reason,
                    "message '{}' is a dead letter: {reason}",
                    message.id
                );
            }
        }
        self.receipts().remove(&key(message));
        Ok(())
    }

    /// Here, and kept from others meanwhile: RocketMQ itself would bury what came again too often for its own taste.
    async fn again(&self, mut message: Incoming, _: Duration) -> Result<Option<Incoming>> {
        self.renew(&message).await?;
        message.attempt = message.attempt.saturating_add(1);
        Ok(Some(message))
    }

    async fn close(&self) {
        let Asking { polls, found, held, .. } = std::mem::take(&mut *self.asking.lock().await);
        for (_, taken) in found {
            self.consumer.give_back(&taken.receipt).await;
        }
        // Only then may the next one begin who is to be alone.
        let release = async move {
            if let Some(held) = held {
                held.release().await;
            }
        };
        self.consumer.clone().leave(polls, release);
    }
}
