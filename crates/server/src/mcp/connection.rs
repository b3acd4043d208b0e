//! One client on a connection of its own, where messages go out as they come up: stdio, a WebSocket, or HTTP with SSE.

mod only_client;

use super::Door;
use super::batch::Batch;
use super::client::Capabilities;
use super::door_access::DoorAccess;
use super::notifications::Listener;
use super::receive::{Sender, Transport};
use super::received::{BatchEntry, Handled, Handshake, Received, Refusal};
use super::request::Filter;
use super::respond::{Accepted, Output, Responses};
use super::sessions::OpenSession;
use super::startup::Startup;
use crate::Shared;
use crate::auth::{Access, Ended, SignedIn, caller_headers};
use gateway::Gateway;
use http::HeaderMap;
use mcp::{RpcError, Version, envelope};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::{Caller, CallerHeaders, Context, Door as DoorKind, InstanceId, OnlyClient, SearchMode, TenantId};

/// Messages that may wait for a client that does not read.
const QUEUE: usize = 256;
/// Requests of one client that are pending at the same time; more are refused.
const MAX_PENDING: usize = 1024;

/// How a client is served.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The first list of tools waits this long for services that are still starting.
    pub start_wait: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
}

/// Who the client is, and what it is offered.
pub(super) struct Identity {
    tenant: TenantId,
    /// As it was when the connection was opened.
    caller: Arc<Caller>,
    /// Says what the caller is now.
    access: Access,
    instance: Option<InstanceId>,
    service: Option<Arc<str>>,
    tool_search: Option<SearchMode>,
    /// Of the request that opened the connection.
    headers: CallerHeaders,
    /// How services ask the client while none of its calls runs, where it is the only one.
    only_client: Option<Arc<OnlyClient>>,
}

impl Identity {
    /// The owner of this process.
    pub(super) fn local(only_client: Option<Arc<OnlyClient>>) -> Self {
        let (tenant, caller) = (TenantId::default_tenant(), Arc::new(Caller::local()));
        let (access, headers) = (Access::endless(), CallerHeaders::default());
        let (instance, service, tool_search) = (None, None, None);
        Self { tenant, caller, access, instance, service, tool_search, headers, only_client }
    }

    /// Somebody who came over HTTP.
    pub(super) fn of(door_access: DoorAccess, headers: HeaderMap) -> Self {
        let DoorAccess { signed_in, access, instance, service, tool_search } = door_access;
        let SignedIn { tenant, caller, .. } = signed_in;
        let headers = caller_headers(Arc::new(headers));
        Self { tenant, caller, access, instance, service, tool_search, headers, only_client: None }
    }
}

/// One client and its session.
pub(super) struct Connection {
    door: Arc<Door>,
    identity: Identity,
    options: Options,
    tx: mpsc::Sender<String>,
    session: Mutex<Arc<OpenSession>>,
    /// The session was agreed on in a handshake.
    is_initialized: AtomicBool,
    /// For as many requests as may be pending.
    room: Arc<Semaphore>,
    /// One for each request or batch, and one for the notifications that belong to none.
    tasks: TaskTracker,
    /// Fires when the client has closed its input.
    input_closed: CancellationToken,
}

impl Connection {
    /// A client, and where the messages for it come out. `is_loaded` turns true when every service has said what it
    /// offers, or has had its time.
    pub(super) fn new(
        gateway: Arc<Gateway>,
        identity: Identity,
        is_loaded: watch::Receiver<bool>,
        options: Options,
    ) -> (Arc<Self>, mpsc::Receiver<String>) {
        let (tx, rx) = mpsc::channel(QUEUE);
        let door = Door::new(gateway, TaskTracker::new(), CancellationToken::new());
        let connection = Arc::new(Self {
            door: Arc::new(Door { startup: Some(Startup::new()), ..door }),
            identity,
            options,
            tx,
            session: Mutex::new(Arc::new(OpenSession::of_connection(Version::LATEST_LEGACY, None))),
            is_initialized: AtomicBool::new(false),
            room: Arc::new(Semaphore::new(MAX_PENDING)),
            tasks: TaskTracker::new(),
            input_closed: CancellationToken::new(),
        });
        connection.tasks.spawn(connection.clone().notify(is_loaded));
        (connection, rx)
    }

    /// A client over HTTP, which finds the services that are there.
    pub(super) fn over_http(state: &Shared, identity: Identity) -> (Arc<Self>, mpsc::Receiver<String>) {
        let options = Options { start_wait: Duration::ZERO, call_timeout: state.options.call_timeout };
        let (_, is_loaded) = watch::channel(true);
        Self::new(state.gateway.clone(), identity, is_loaded, options)
    }

    /// The client sends nothing more, but may still read: what it has asked for has the time that a call has.
    pub(super) async fn finish(&self) {
        self.input_closed.cancel();
        self.door.server_requests.close();
        // One of them notifies, and ends with the client.
        let answered = async {
            while self.tasks.len() > 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(self.options.call_timeout, answered).await;
    }

    /// The client has gone: what it waits for is cancelled, what runs may end.
    pub(super) async fn close(&self) {
        self.door.closing.cancel();
        if let Some(client) = &self.identity.only_client {
            client.disconnected();
        }
        self.tasks.close();
        self.tasks.wait().await;
        self.door.input_required.clear();
        self.door.calls.close();
        self.door.calls.wait().await;
    }

    /// Waits until the client has no right to be here any more.
    pub(super) async fn ended(&self) {
        self.identity.access.ended().await;
    }

    /// Takes one message, or several at once; false ends the connection.
    pub(super) async fn receive(self: &Arc<Self>, text: Vec<u8>) -> bool {
        // Whoever waits for the end may not have had its turn yet.
        let Ok(cx) = self.context() else { return false };
        let transport = Transport::Connection(self);
        let (door, owner) = (self.door.clone(), String::new());
        let access = self.identity.access.clone();
        let received = Sender { door, cx, access, owner, transport, is_batched: false }.receive(&text);
        drop(text);
        match received {
            Received::Message(Handled::Exit) => return false,
            Received::Message(Handled::Nothing) => {}
            Received::Refused(refusal) => self.send(refusal.response()).await,
            Received::Message(Handled::Initialize(handshake)) => self.initialize(handshake).await,
            // What comes behind it is read all the same: it may cancel some of them.
            Received::Message(Handled::Request(accepted)) => match self.room_for(1) {
                Some(room) => self.write(room, async move { Responses::One(accepted.respond().await) }),
                None => self.send(too_many(&accepted).response()).await,
            },
            Received::Batch(mut entries) => {
                let count = entries.iter().filter(|entry| matches!(entry, BatchEntry::Request(_))).count();
                let room = self.room_for(count);
                if room.is_none() {
                    entries.iter_mut().for_each(refuse);
                }
                self.write(room, async move { Responses::Batch(Batch::new(entries)) });
            }
        }
        true
    }

    /// Room for so many requests until they are answered, if there is any.
    fn room_for(&self, count: usize) -> Option<OwnedSemaphorePermit> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.room.clone().try_acquire_many_owned(count).ok()
    }

    /// Sends what comes of requests, in a task of its own.
    fn write(
        self: &Arc<Self>,
        room: impl Send + 'static,
        responses: impl Future<Output = Responses> + Send + 'static,
    ) {
        let connection = self.clone();
        // Boxed, so that the task moves a pointer and not all that a request may need.
        drop(self.tasks.spawn(Box::pin(async move {
            let _room = room;
            let responses = responses.await;
            match responses.subscription() {
                None => connection.send_all(responses).await,
                // It would never end, and nobody is left to cancel it.
                Some(_) => {
                    let sending = connection.send_all(responses);
                    connection.input_closed.run_until_cancelled(sending).await.unwrap_or_default();
                }
            }
        })));
    }

    async fn send_all(&self, mut responses: Responses) {
        while let Some(output) = responses.next().await {
            match output {
                Output::Message(text) | Output::Response(text, _) => self.send(text).await,
                Output::Cancelled => {}
            }
        }
    }

    /// Begins the session. Until it is agreed on, one request after the other.
    async fn initialize(&self, handshake: Handshake) {
        let Handshake { id, initialize, cx, .. } = handshake;
        if let Some(startup) = &self.door.startup {
            startup.wait_for_hello(&self.door.closing).await;
        }
        let (version, result) = self.door.initialize(&cx, &initialize);
        let capabilities = Capabilities::kept(&initialize.capabilities);
        let session = OpenSession::of_connection(version, capabilities);
        session.set_log_level(self.session().log_level());
        *self.current() = Arc::new(session);
        self.is_initialized.store(true, Ordering::Relaxed);
        self.send(envelope::result(&id, &result)).await;
    }

    /// Notifies a client with a handshake of what changes, once it has said hello. Lists are given after this has begun.
    async fn notify(self: Arc<Self>, mut is_loaded: watch::Receiver<bool>) {
        let (gateway, closing) = (self.door.gateway.clone(), self.door.closing.clone());
        let loaded = async {
            let loaded = is_loaded.wait_for(|is_loaded| *is_loaded);
            let _ = tokio::time::timeout(self.options.start_wait, loaded).await;
        };
        if closing.run_until_cancelled(loaded).await.is_none() {
            return;
        }
        let Ok(cx) = self.context() else { return };
        let access = &self.identity.access;
        let mut listener = Listener::new(gateway, cx, Filter::all_lists(), closing.clone(), access);
        if let Some(startup) = &self.door.startup {
            startup.end();
        }
        let is_watched = |uri: &str| self.door.subscriptions.has("", uri);
        while let Some(message) = listener.next(is_watched, || Some(self.session().log_level())).await {
            if self.is_initialized.load(Ordering::Relaxed) {
                self.send(message).await;
            }
        }
    }

    /// For one message, with the rights that its client has now.
    fn context(&self) -> Result<Context, Ended> {
        let now = self.identity.access.signed_in()?;
        Ok(self.context_of(now.map_or_else(|| self.identity.caller.clone(), |signed_in| signed_in.caller)))
    }

    /// For one request of a caller, which is cancelled at the latest when the client has gone.
    pub(super) fn context_of(&self, caller: Arc<Caller>) -> Context {
        let Identity { tenant, instance, service, tool_search, headers, .. } = &self.identity;
        let cx = Context::new(tenant.clone(), caller, DoorKind::Mcp, self.options.call_timeout);
        let (instance, service, headers) = (instance.clone(), service.clone(), headers.clone());
        let tool_search = *tool_search;
        Context { instance, service, tool_search, headers, cancel: self.door.closing.child_token(), ..cx }
    }

    pub(super) fn session(&self) -> Arc<OpenSession> {
        self.current().clone()
    }

    fn current(&self) -> MutexGuard<'_, Arc<OpenSession>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn send(&self, message: String) {
        // The writer ends only with the client.
        let _ = self.tx.send(message).await;
    }
}

/// The refusal of a request that is one too many.
fn too_many(accepted: &Accepted) -> Refusal {
    let message = format!(
        "{MAX_PENDING} requests of this connection are under way; wait for a response or cancel some, then try again"
    );
    Refusal { id: Some(accepted.requester.id.clone()), ..RpcError::new(-32603, message).into() }
}

fn refuse(entry: &mut BatchEntry) {
    if let BatchEntry::Request(accepted) = entry {
        *entry = BatchEntry::Refused(too_many(accepted));
    }
}
