//! Clients as RocketMQ knows them: each says what it is for over a stream that stays open, and that it is still there.

use super::calls::{
    HEARTBEAT, HeartbeatRequest, PlainResponse, Publishing, Purpose, Settings, Subscription,
    SubscriptionEntry, TELEMETRY, TERMINATE, TelemetryCommand, TerminateRequest, UserAgent,
};
use super::client::Client;
use super::failure;
use super::proto::{FilterExpression, PRODUCER, RUST, Resource, SIMPLE_CONSUMER};
use super::route::endpoints_of;
use super::signature::VERSION;
use crate::shared::grpc::failure::Failure;
use crate::shared::grpc::frame::Answer;
use crate::shared::instance::Instance;
use bytes::Bytes;
use futures::channel::mpsc::UnboundedSender;
use prost::Message;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tool::Result;

/// RocketMQ takes clients for gone that say nothing for about a minute.
const BEAT: Duration = Duration::from_secs(10);
/// How long the stream may stay open; then it is opened anew.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// A service has a handful of them.
const MAX_SESSIONS: usize = 256;

/// What a client is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Producer { topic: String },
    Consumer { group: String, topic: String },
}

/// One client at one proxy, as long as that knows it.
pub(super) struct Session {
    at: Instance,
    id: String,
    ended: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

impl Session {
    /// At whom to ask, and as whom.
    pub(super) fn at(&self) -> (&Instance, &str) {
        (&self.at, &self.id)
    }

    /// At the first of the addresses that answers.
    async fn open(client: &Arc<Client>, addresses: &[Instance], role: &Role) -> Result<Self> {
        let mut first = None;
        for address in addresses {
            match Self::open_at(client, address, role).await {
                Ok(session) => return Ok(session),
                Err(error) if error.is_retryable() => first = first.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(first.unwrap_or_else(|| failure::of(Failure::Cut)))
    }

    async fn open_at(client: &Arc<Client>, at: &Instance, role: &Role) -> Result<Self> {
        let id: String = tool::new_id();
        let command = TelemetryCommand { status: None, settings: Some(role.settings(client.servers())) };
        let opening = async {
            let (sender, mut answer) = client.converse((at, &id), TELEMETRY, &command, DAY).await?;
            let said = loop {
                let message = answer.message().await?.ok_or(Failure::Cut)?;
                let said = TelemetryCommand::decode(message)
                    .map_err(|_| Failure::Protocol("it is none of RocketMQ's messages"))?;
                if said.settings.is_some() || said.status.is_some() {
                    break said;
                }
            };
            Ok((sender, answer, said))
        };
        let opened = tokio::time::timeout(client.options.timeout, opening).await;
        let (sender, answer, said) = opened.unwrap_or(Err(Failure::Cut)).map_err(failure::of)?;
        if said.status.is_some() {
            failure::check(said.status.as_ref(), role.topic())?;
        }
        let ended = CancellationToken::new();
        let keeping = Keeping { client: client.clone(), at: at.clone(), id: id.clone(), role: role.clone() };
        let done = ended.clone().drop_guard();
        let task = tokio::spawn(async move {
            keeping.run(sender, answer).await;
            drop(done);
        });
        Ok(Self { at: at.clone(), id, ended, _task: AbortOnDropHandle::new(task) })
    }
}

/// What keeps a session.
struct Keeping {
    client: Arc<Client>,
    at: Instance,
    id: String,
    role: Role,
}

impl Keeping {
    /// Until the proxy ends the stream, which is ours as long as we hold the end that we could say more into.
    async fn run(self, sender: UnboundedSender<Bytes>, mut answer: Answer) {
        let mut beat = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                // Settings that change, and questions about threads that we do not have.
                said = answer.message() => match said {
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                },
                _ = beat.tick() => self.beat().await,
            }
        }
        drop(sender);
    }

    async fn beat(&self) {
        let request = HeartbeatRequest { group: self.role.group(), client_type: self.role.client_type() };
        let told =
            self.client.ask::<PlainResponse>((&self.at, &self.id), HEARTBEAT, &request, self.role.topic());
        if let Err(error) = told.await {
            tracing::debug!(%error, "a heartbeat to RocketMQ failed: {error}");
        }
    }
}

impl Role {
    pub(super) fn topic(&self) -> &str {
        match self {
            Self::Producer { topic } | Self::Consumer { topic, .. } => topic,
        }
    }

    fn group(&self) -> Option<Resource> {
        match self {
            Self::Producer { .. } => None,
            Self::Consumer { group, .. } => Resource::named(group),
        }
    }

    fn client_type(&self) -> i32 {
        match self {
            Self::Producer { .. } => PRODUCER,
            Self::Consumer { .. } => SIMPLE_CONSUMER,
        }
    }

    fn settings(&self, servers: &[Instance]) -> Settings {
        let purpose = match self {
            Self::Producer { topic } => {
                Purpose::Publishing(Publishing { topics: Resource::named(topic).into_iter().collect() })
            }
            Self::Consumer { topic, .. } => {
                let expression = FilterExpression::everything();
                let entry = SubscriptionEntry { topic: Resource::named(topic), expression };
                Purpose::Subscription(Subscription {
                    group: self.group(),
                    subscriptions: vec![entry],
                    long_polling_timeout: None,
                })
            }
        };
        Settings {
            client_type: Some(self.client_type()),
            access_point: Some(endpoints_of(servers)),
            request_timeout: None,
            purpose: Some(purpose),
            user_agent: Some(UserAgent { language: RUST, version: VERSION.to_owned() }),
        }
    }
}

type Key = (Role, Vec<Instance>);
/// Whoever opens one holds the lock, the others wait for it.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<Session>>>>;

/// The sessions that are open, one for each role and broker.
pub(super) struct Sessions {
    client: Arc<Client>,
    slots: Mutex<HashMap<Key, Slot>>,
}

impl Sessions {
    pub(super) fn new(client: Arc<Client>) -> Self {
        Self { client, slots: Mutex::default() }
    }

    /// The session there is, or a new one.
    pub(super) async fn get(&self, role: &Role, addresses: &[Instance]) -> Result<Arc<Session>> {
        let slot = self.slot(role, addresses);
        let mut slot = slot.lock().await;
        if let Some(session) = slot.as_ref().filter(|session| !session.ended.is_cancelled()) {
            return Ok(session.clone());
        }
        // In a box: calls that find a session need not carry the room for opening one.
        let session = Arc::new(Box::pin(Session::open(&self.client, addresses, role)).await?);
        *slot = Some(session.clone());
        Ok(session)
    }

    /// What was asked over it did not come to an end.
    pub(super) fn forget(&self, role: &Role, addresses: &[Instance]) {
        let key = (role.clone(), addresses.to_vec());
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    fn slot(&self, role: &Role, addresses: &[Instance]) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MAX_SESSIONS {
            slots.clear();
        }
        slots.entry((role.clone(), addresses.to_vec())).or_default().clone()
    }

    /// Says farewell, so that RocketMQ need not find out by itself.
    pub(super) async fn close(&self) {
        let slots = std::mem::take(&mut *self.slots.lock().unwrap_or_else(PoisonError::into_inner));
        for ((role, _), slot) in slots {
            let Some(session) = slot.lock().await.take() else { continue };
            let request = TerminateRequest { group: role.group() };
            // It finds out by itself.
            let _ = self.client.ask::<PlainResponse>(session.at(), TERMINATE, &request, role.topic()).await;
        }
    }
}
