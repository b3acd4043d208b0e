//! Taking messages of a topic as one of a group: each is ours for a while, and comes again unless we say what became of it.

use super::calls::{
    ACKNOWLEDGE, AcknowledgeEntry, AcknowledgeRequest, AcknowledgeResponse, BURY, BuryRequest,
    CHANGE_INVISIBLE, ChangeInvisibleRequest, ChangeInvisibleResponse, PlainResponse, RECEIVE,
    ReceiveRequest, ReceiveResponse, Received,
};
use super::client::Client;
use super::failure::{self, MESSAGE_NOT_FOUND};
use super::proto::{Broker, FilterExpression, Message, MessageQueue, Resource};
use super::record;
use super::route::{Place, readers};
use super::session::{Role, Session, Sessions};
use crate::mq::message::Incoming;
use crate::shared::grpc::failure::Failure;
use prost::Message as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tool::{Error, Result};

/// RocketMQ hands out nothing for less.
const MIN_LEASE: Duration = Duration::from_secs(10);
/// RocketMQ waits for messages no shorter than this.
pub(super) const MIN_WAIT: Duration = Duration::from_secs(5);
/// How long an answer may take beyond the time that RocketMQ waits.
const ANSWERING: Duration = Duration::from_secs(10);
/// How long is listened to a server beyond the time that a caller wants to wait: it may have something.
const QUIET: Duration = Duration::from_secs(2);
/// After so long a message that was given back comes again.
const SOON: Duration = Duration::from_secs(1);
/// The most messages that are asked for at once.
const MAX_BATCH: usize = 32;
/// The most bytes that are taken at once; the rest comes again.
const MAX_TAKEN_BYTES: usize = 64 * 1024 * 1024;

/// One member of a group.
pub(super) struct Consumer {
    client: Arc<Client>,
    sessions: Sessions,
    topic: String,
    group: String,
    pub(super) lease: Duration,
}

/// A message that is ours for a while.
pub(super) struct Taken {
    pub(super) incoming: Incoming,
    pub(super) receipt: Receipt,
}

/// What RocketMQ knows it by meanwhile.
#[derive(Clone)]
pub(super) struct Receipt {
    session: Arc<Session>,
    handle: String,
    message_id: String,
    attempt: u32,
}

/// Questions for messages that are under way, each at one broker.
pub(super) type Polls = JoinSet<(Place, Result<Vec<Taken>>)>;

impl Consumer {
    pub(super) fn new(client: Arc<Client>, topic: &str, group: String) -> Self {
        let lease = client.options.lease.max(MIN_LEASE);
        Self { sessions: Sessions::new(client.clone()), client, topic: topic.to_owned(), group, lease }
    }

    /// The brokers that have the topic.
    pub(super) async fn places(&self) -> Result<Vec<Place>> {
        let route = self.client.route(&self.topic).await?;
        Ok(readers(&route, &self.topic)?.to_vec())
    }

    /// Asks one broker, in a task that nobody has to wait for.
    pub(super) fn ask(self: &Arc<Self>, polls: &mut Polls, place: Place, max: usize, wait: Duration) {
        let consumer = self.clone();
        polls.spawn(async move {
            let found = consumer.poll(&place, max.clamp(1, MAX_BATCH), wait).await;
            (place, found)
        });
    }

    /// The next messages of any broker, waiting for the first.
    pub(super) async fn take(self: &Arc<Self>, max: usize, wait: Duration) -> Result<Vec<Taken>> {
        let places = self.places().await?;
        let mut left = Left { consumer: self.clone(), polls: Polls::new() };
        for place in places {
            self.ask(&mut left.polls, place, max, wait);
        }
        let found = tokio::time::timeout(wait + QUIET, first_of(&mut left.polls)).await;
        found.unwrap_or_else(|_| Ok(Vec::new()))
    }

    /// Lets questions come to their end for the last time, gives back what they find, and goes on with `after`.
    pub(super) fn leave(self: Arc<Self>, polls: Polls, after: impl Future<Output = ()> + Send + 'static) {
        let client = self.client.clone();
        client.tasks.spawn(async move {
            self.give_back_all(polls).await;
            self.sessions.close().await;
            after.await;
        });
    }

    async fn give_back_all(&self, mut polls: Polls) {
        while let Some(ended) = polls.join_next().await {
            let Ok((_, Ok(found))) = ended else { continue };
            for taken in found {
                self.give_back(&taken.receipt).await;
            }
        }
    }

    /// As if it had not been taken. If that fails, it comes again when its time is over.
    pub(super) async fn give_back(&self, receipt: &Receipt) {
        if let Err(error) = self.hide(receipt, SOON, Some(true)).await {
            tracing::debug!(%error, "a message could not be given back to RocketMQ: {error}");
        }
    }

    async fn poll(&self, place: &Place, max: usize, wait: Duration) -> Result<Vec<Taken>> {
        let role = Role::Consumer { group: self.group.clone(), topic: self.topic.clone() };
        let session = self.sessions.get(&role, &place.addresses).await?;
        let found = self.receive(&session, place, max, wait).await;
        if found.as_ref().is_err_and(Error::is_retryable) {
            self.sessions.forget(&role, &place.addresses);
            self.client.forget_route(&self.topic);
        }
        let taken = |message: Message| {
            let system = message.system_properties.clone().unwrap_or_default();
            let handle = system.receipt_handle.filter(|handle| !handle.is_empty())?;
            let incoming = record::read(message);
            let (session, attempt) = (session.clone(), incoming.attempt);
            let receipt = Receipt { session, handle, message_id: system.message_id, attempt };
            Some(Taken { incoming, receipt })
        };
        Ok(found?.into_iter().filter_map(taken).collect())
    }

    async fn receive(
        &self,
        session: &Session,
        place: &Place,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Message>> {
        let request = self.receive_request(place, max, wait.max(MIN_WAIT));
        let time = wait.max(MIN_WAIT) + ANSWERING;
        let receiving = async {
            let mut answer =
                self.client.begin(session.at(), RECEIVE, &request, time).await.map_err(failure::of)?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            while let Some(message) = answer.message().await.map_err(failure::of)? {
                bytes += message.len();
                let response = ReceiveResponse::decode(message)
                    .map_err(|_| failure::of(Failure::Protocol("it is none of RocketMQ's messages")))?;
                match response.content {
                    Some(Received::Message(message)) => found.push(*message),
                    Some(Received::Status(status)) if status.code == MESSAGE_NOT_FOUND => {}
                    Some(Received::Status(status)) => failure::check(Some(&status), &self.topic)?,
                    Some(Received::DeliveredAt(_)) | None => {}
                }
                if found.len() >= max || bytes >= MAX_TAKEN_BYTES {
                    break;
                }
            }
            Ok(found)
        };
        tokio::time::timeout(time, receiving).await.unwrap_or_else(|_| Err(failure::of(Failure::Cut)))
    }

    fn receive_request(&self, place: &Place, max: usize, wait: Duration) -> ReceiveRequest {
        // All queues that the broker has of the topic.
        let id = -1;
        let broker = Some(Broker { name: place.broker.clone(), id: 0, endpoints: None });
        let topic = Resource::named(&self.topic);
        ReceiveRequest {
            group: Resource::named(&self.group),
            message_queue: Some(MessageQueue { topic, id, broker, ..MessageQueue::default() }),
            filter_expression: FilterExpression::everything(),
            batch_size: i32::try_from(max).unwrap_or(1),
            invisible_duration: Some(self.lease.into()),
            auto_renew: false,
            long_polling_timeout: Some(wait.into()),
        }
    }

    /// The message is done with.
    ///
    /// # Errors
    /// `Missing` where another reader may have it by now.
    pub(super) async fn acknowledge(&self, receipt: &Receipt) -> Result<()> {
        let entry = AcknowledgeEntry {
            message_id: receipt.message_id.clone(),
            receipt_handle: receipt.handle.clone(),
        };
        let request = AcknowledgeRequest {
            group: Resource::named(&self.group),
            topic: Resource::named(&self.topic),
            entries: vec![entry],
        };
        let told: AcknowledgeResponse =
            self.client.ask(receipt.session.at(), ACKNOWLEDGE, &request, &self.topic).await?;
        told.entries.iter().try_for_each(|entry| failure::check(entry.status.as_ref(), &self.topic))
    }

    /// Keeps the message from everybody for so long, and then lets it come again.
    pub(super) async fn hide(
        &self,
        receipt: &Receipt,
        time: Duration,
        suspend: Option<bool>,
    ) -> Result<Receipt> {
        let request = ChangeInvisibleRequest {
            group: Resource::named(&self.group),
            topic: Resource::named(&self.topic),
            receipt_handle: receipt.handle.clone(),
            invisible_duration: Some(time.into()),
            message_id: receipt.message_id.clone(),
            suspend,
        };
        let told: ChangeInvisibleResponse =
            self.client.ask(receipt.session.at(), CHANGE_INVISIBLE, &request, &self.topic).await?;
        let handle = Some(told.receipt_handle).filter(|handle| !handle.is_empty());
        Ok(Receipt { handle: handle.unwrap_or_else(|| receipt.handle.clone()), ..receipt.clone() })
    }

    /// The message goes to the dead letters of the group.
    pub(super) async fn bury(&self, receipt: &Receipt) -> Result<()> {
        let attempt = i32::try_from(receipt.attempt).unwrap_or(i32::MAX);
        let request = BuryRequest {
            group: Resource::named(&self.group),
            topic: Resource::named(&self.topic),
            receipt_handle: receipt.handle.clone(),
            message_id: receipt.message_id.clone(),
            delivery_attempt: attempt,
            max_delivery_attempts: attempt,
        };
        let told = self.client.ask::<PlainResponse>(receipt.session.at(), BURY, &request, &self.topic);
        told.await.map(drop)
    }
}

/// Questions that nobody waits for any more: what they still find must not stay hidden for as long as a lease.
struct Left {
    consumer: Arc<Consumer>,
    polls: Polls,
}

impl Drop for Left {
    fn drop(&mut self) {
        let (consumer, polls) = (self.consumer.clone(), std::mem::take(&mut self.polls));
        // Where nothing runs any more nobody is asked, either.
        if let (false, Ok(runtime)) = (polls.is_empty(), Handle::try_current()) {
            let tasks = consumer.client.tasks.clone();
            tasks.spawn_on(async move { consumer.give_back_all(polls).await }, &runtime);
        }
    }
}

/// What the first broker has that has something, or why none could be asked.
async fn first_of(polls: &mut Polls) -> Result<Vec<Taken>> {
    let mut failed = None;
    while let Some(ended) = polls.join_next().await {
        match ended {
            Ok((_, Ok(found))) if !found.is_empty() => return Ok(found),
            Ok((_, Ok(_))) => {}
            Ok((_, Err(error))) => failed = Some(error),
            Err(error) => failed = Some(Error::internal("a question to RocketMQ broke").caused_by(error)),
        }
    }
    failed.map_or_else(|| Ok(Vec::new()), Err)
}
