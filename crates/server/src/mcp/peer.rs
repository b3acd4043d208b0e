//! One client on a way of its own, where messages go out as they come up: stdio, a WebSocket, or HTTP with SSE.

mod news;
mod outside;

use super::asked::Asked;
use super::conversation::{Asker, Conversation, Next, Wishes};
use super::flights::cancelled_id;
use super::held::{Held, Resumed};
use super::instance::Visitor;
use super::order::{Order, Read, Request};
use super::questions::Questions;
use super::watches::Watches;
use super::{Answered, Door, batch, program};
use crate::Shared;
use crate::auth::{SignedIn, caller_headers};
use http::HeaderMap;
use mcp::envelope::{self, Kind};
use mcp::modern::Meta;
use mcp::{Era, Message, RpcError, Version};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::{Caller, CallerHeaders, Context, Door as DoorKind, InstanceId, OnlyClient, TenantId};

/// Messages that may wait for a client that does not read.
pub(super) const QUEUE: usize = 256;
/// Requests of one client under way at the same time; more wait in the pipe.
const MAX_IN_FLIGHT: usize = 1024;
/// There is one client, so its questions and watches need no name.
const OWNER: &str = "";

type Flights = HashMap<String, CancellationToken, foldhash::fast::RandomState>;

/// How a client is served.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The first list of tools waits this long for services that are still starting.
    pub start_wait: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
}

/// Who the client is, and what it is offered.
pub(super) struct Who {
    pub(super) tenant: TenantId,
    pub(super) caller: Arc<Caller>,
    pub(super) instance: Option<InstanceId>,
    pub(super) service: Option<Arc<str>>,
    /// Of the request that opened its way.
    pub(super) headers: CallerHeaders,
    /// How services ask the client while none of its calls runs, where it is the only one.
    pub(super) only_client: Option<Arc<OnlyClient>>,
}

impl Who {
    /// The owner of this process.
    pub(super) fn local(only_client: Option<Arc<OnlyClient>>) -> Self {
        let (tenant, caller) = (TenantId::default_tenant(), Arc::new(Caller::local()));
        Self { tenant, caller, instance: None, service: None, headers: CallerHeaders::default(), only_client }
    }

    /// Somebody who came over HTTP.
    pub(super) fn visiting(visitor: Visitor, headers: HeaderMap) -> Self {
        let Visitor { signed_in: SignedIn { tenant, caller, .. }, instance, service } = visitor;
        let headers = caller_headers(Arc::new(headers));
        Self { tenant, caller, instance, service, headers, only_client: None }
    }

    fn context(&self, time: Duration) -> Context {
        let cx = Context::new(self.tenant.clone(), self.caller.clone(), DoorKind::Mcp, time);
        let (instance, service) = (self.instance.clone(), self.service.clone());
        Context { instance, service, headers: self.headers.clone(), ..cx }
    }
}

/// One client.
pub(super) struct Peer {
    door: Door,
    who: Who,
    is_loaded: watch::Receiver<bool>,
    /// Lists may be given.
    is_ready: watch::Sender<bool>,
    options: Options,
    tx: mpsc::Sender<String>,
    /// The least grave log entries that the client wants to hear, as a place in `LEVELS`.
    log_level: AtomicUsize,
    /// Agreed on in the handshake, with what the client can do.
    agreed: Mutex<Option<(Version, Option<Box<RawValue>>)>>,
    /// By id as the client spelled it.
    in_flight: Mutex<Flights>,
    questions: Arc<Questions>,
    held: Held,
    watches: Watches,
    /// Calls go on until they have ended and are audited, whoever waits.
    pub(super) calls: TaskTracker,
    pub(super) requests: TaskTracker,
    /// Fire when the client has gone, and when it has closed its input.
    gone: CancellationToken,
    asked_all: CancellationToken,
}

impl Peer {
    /// A client, and where the messages for it come out.
    pub(super) fn new(
        door: Door,
        who: Who,
        is_loaded: watch::Receiver<bool>,
        options: Options,
    ) -> (Arc<Self>, mpsc::Receiver<String>) {
        let (tx, rx) = mpsc::channel(QUEUE);
        let peer = Arc::new(Self {
            door,
            who,
            is_loaded,
            is_ready: watch::Sender::new(false),
            options,
            tx,
            log_level: AtomicUsize::new(0),
            agreed: Mutex::default(),
            in_flight: Mutex::default(),
            questions: Arc::default(),
            held: Held::default(),
            watches: Watches::default(),
            calls: TaskTracker::new(),
            requests: TaskTracker::new(),
            gone: CancellationToken::new(),
            asked_all: CancellationToken::new(),
        });
        peer.requests.spawn(peer.clone().tell_changes());
        (peer, rx)
    }

    /// A client over HTTP, which finds the services that are there.
    pub(super) fn visiting(state: &Shared, who: Who) -> (Arc<Self>, mpsc::Receiver<String>) {
        let options = Options { start_wait: Duration::ZERO, call_timeout: state.options.call_timeout };
        let (_, is_loaded) = watch::channel(true);
        Self::new(Door { gateway: state.gateway.clone() }, who, is_loaded, options)
    }

    /// The client asks and answers nothing more, but may still read: what it has asked has the time that a call has.
    pub(super) async fn finish(&self) {
        self.asked_all.cancel();
        self.questions.close();
        // One of them tells changes, and ends with the client.
        let answered = async {
            while self.requests.len() > 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(self.options.call_timeout, answered).await;
    }

    /// The client has gone: what it waits for is taken back, what runs may end.
    pub(super) async fn close(&self) {
        self.gone.cancel();
        if let Some(client) = &self.who.only_client {
            client.is_away();
        }
        self.requests.close();
        self.requests.wait().await;
        self.held.clear();
        self.calls.close();
        self.calls.wait().await;
    }

    /// Takes one message, or several at once; false ends the conversation.
    pub(super) async fn take(self: &Arc<Self>, text: Vec<u8>) -> bool {
        if batch::is_batch(&text) {
            return batch::take(self, &text).await;
        }
        let read = Message::parse(&text).and_then(|message| self.read(&message));
        drop(text);
        match read {
            Ok(Read::Request(id, request)) => self.begin(id, request).await,
            Ok(Read::Nothing) => {}
            Ok(Read::Exit) => return false,
            Err(error) => self.refuse(None, &error).await,
        }
        true
    }

    /// Tells the client that a message of it cannot be used.
    pub(super) async fn refuse(&self, id: Option<&RawValue>, error: &RpcError) {
        self.send(envelope::error(id, error)).await;
    }

    /// What a message asks of us. Notifications and replies get no answer.
    pub(super) fn read(&self, message: &Message<'_>) -> Answered<Read> {
        Ok(match message.kind()? {
            Kind::Request { id, method } => Read::Request(id, self.request(method, message)),
            Kind::Notification { method: "notifications/exit" | "exit" } => Read::Exit,
            Kind::Notification { method: "notifications/cancelled" } => {
                let token = cancelled_id(message).and_then(|id| self.flights().get(id.get()).cloned());
                if let Some(token) = token {
                    token.cancel();
                }
                Read::Nothing
            }
            Kind::Notification { method } => {
                self.hear(method);
                Read::Nothing
            }
            Kind::Reply { id } => {
                self.questions.answer(OWNER, id, message);
                Read::Nothing
            }
        })
    }

    fn request(&self, method: &str, message: &Message<'_>) -> Answered<Request> {
        if method == "shutdown" {
            return Ok(Request::Shutdown);
        }
        let meta = Meta::of(message.params)?;
        let version = match meta.version {
            Some(_) => {
                self.cannot_be_asked();
                meta.check()?
            }
            None => self.version().unwrap_or(Version::LATEST_LEGACY),
        };
        let asked = Asked::read(version.era(), method, message)?;
        if let Asked::SetLevel(level) = asked {
            self.log_level.store(level, Ordering::Relaxed);
        }
        Ok(Request::Other(Box::new(Order {
            version,
            asked,
            capabilities: meta.capabilities.filter(|_| version.era() == Era::Modern).map(ToOwned::to_owned),
            wishes: Wishes::of(version.era(), &meta, self.log_level.load(Ordering::Relaxed)),
        })))
    }

    async fn begin(self: &Arc<Self>, id: Box<RawValue>, request: Answered<Request>) {
        let is_handshake = self.agreed().is_none() && request.as_ref().is_ok_and(Request::is_initialize);
        let cancel = match self.admit(&id).await {
            Ok(cancel) => cancel,
            Err(error) => return self.refuse(Some(&id), &error).await,
        };
        let peer = self.clone();
        // Boxed, so that the task moves a pointer and not all that a request may need.
        let answering = Box::pin(async move {
            if let Some(line) = peer.answer(&id, request, &cancel).await {
                peer.send(line).await;
            }
        });
        // Until the version is agreed on, one request after the other.
        if is_handshake {
            answering.await
        } else {
            drop(self.requests.spawn(answering));
        }
    }

    /// Waits for room, and notes that a request is under way, unless one of that id is.
    pub(super) async fn admit(&self, id: &RawValue) -> Answered<CancellationToken> {
        while self.requests.len() > MAX_IN_FLIGHT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut flights = self.flights();
        if flights.contains_key(id.get()) {
            let message = format!("a request with the id {} is under way", id.get());
            return Err(RpcError::invalid_request(message));
        }
        let cancel = self.gone.child_token();
        flights.insert(id.get().to_owned(), cancel.clone());
        Ok(cancel)
    }

    /// Sends what comes up for a request meanwhile; its answer is returned. One that was taken back gets none.
    pub(super) async fn answer(
        self: &Arc<Self>,
        id: &RawValue,
        request: Answered<Request>,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let worked = match request {
            Ok(Request::Shutdown) => Ok(Some("{}".to_owned())),
            Ok(Request::Other(order)) => self.work(id, *order, cancel).await,
            Err(error) => Err(error),
        };
        // Before the answer goes out: the client may use the id again at once.
        self.flights().remove(id.get());
        let line = match worked {
            Ok(result) => envelope::result(id, &result?),
            Err(error) => envelope::error(Some(id), &error),
        };
        (!cancel.is_cancelled()).then_some(line)
    }

    /// The result of a request; nothing where it has none.
    async fn work(
        self: &Arc<Self>,
        id: &RawValue,
        order: Order,
        cancel: &CancellationToken,
    ) -> Answered<Option<String>> {
        let Order { version, mut asked, capabilities, wishes } = order;
        self.wait_for_services(&asked).await;
        let cx = Context { cancel: cancel.clone(), manner: program::manner_of(version), ..self.context() };
        if let Some(answer) = self.door.answer_now(&cx, version.era(), &asked) {
            return answer.map(Some);
        }
        match &asked {
            Asked::Initialize(asked) => {
                let (version, result) = self.door.initialize(&cx, asked);
                let capabilities = serde_json::value::to_raw_value(&asked.capabilities).ok();
                *self.agreed() = Some((version, capabilities));
                return Ok(Some(result));
            }
            Asked::Watch(uri) => {
                let watch = self.door.gateway.watch(&cx, uri).await;
                let watch = watch.map_err(|error| RpcError::invalid_params(error.in_words()))?;
                self.watches.add(OWNER, uri.clone(), watch)?;
                return Ok(Some("{}".to_owned()));
            }
            Asked::Unwatch(uri) => {
                self.watches.remove(OWNER, uri);
                return Ok(Some("{}".to_owned()));
            }
            Asked::Listen(filter) => {
                self.listen(cx, id, filter.clone()).await;
                return Ok(None);
            }
            _ => {}
        }
        let subject = asked.subject();
        let resumed = asked.extras_mut().and_then(|extras| self.held.resume(OWNER, &subject, extras));
        let talk = match resumed {
            Some(Resumed::Again(result)) => return Ok(Some(result)),
            Some(Resumed::Refused(error)) => return Err(error),
            Some(Resumed::Goes(talk)) => *talk,
            None => self.talk(cx, Order { version, asked, capabilities, wishes }, subject),
        };
        self.tell(talk, cancel).await.map(Some)
    }

    fn talk(&self, cx: Context, order: Order, subject: String) -> Conversation {
        let Order { version, asked, capabilities, wishes } = order;
        let capabilities = match version.era() {
            Era::Legacy => self.agreed().as_ref().and_then(|(_, capabilities)| capabilities.clone()),
            Era::Modern => capabilities,
        };
        let asker = Asker {
            version,
            owner: OWNER,
            capabilities: capabilities.as_deref(),
            questions: &self.questions,
            wishes,
            is_cancelled_when_gone: false,
        };
        Conversation::begin(&self.door, &self.calls, cx, asker, asked, subject)
    }

    /// Sends what comes up, and returns what comes of it.
    async fn tell(&self, mut talk: Conversation, cancel: &CancellationToken) -> Answered<String> {
        loop {
            match talk.next().await {
                Next::Line(line) if !cancel.is_cancelled() => self.send(line).await,
                Next::Line(_) => {}
                Next::End(answer) => return answer,
                Next::Question(posed) => return self.held.keep(OWNER, talk, posed),
            }
        }
    }

    fn context(&self) -> Context {
        self.who.context(self.options.call_timeout)
    }

    /// The version that both sides have agreed on.
    pub(super) fn version(&self) -> Option<Version> {
        self.agreed().as_ref().map(|(version, _)| *version)
    }

    pub(super) async fn send(&self, line: String) {
        // The writer ends only with the client.
        let _ = self.tx.send(line).await;
    }

    fn agreed(&self) -> MutexGuard<'_, Option<(Version, Option<Box<RawValue>>)>> {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flights(&self) -> MutexGuard<'_, Flights> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
