//! Where messages from the server arrive, and who among us waits for them.

mod notifications;
mod programs;
mod requests;

use super::failure::Failure;
use super::server_requests::ServerRequest;
use super::unreadable::{self, NotAMessage, number};
use crate::{Message, RpcError, envelope};
use programs::GivenUp;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tool::depth::{MAX_DEPTH, is_too_deep};
use tool::{Context, OnlyClient};
use tracing::debug;

/// How many notifications wait to be read; more are dropped and counted.
const MAX_NOTIFICATIONS: usize = 256;
/// How many requests of the server wait to be handed on; more are refused.
const MAX_SERVER_REQUESTS: usize = 64;
/// Longer notifications are dropped too, so that the waiting ones stay small together.
const NOTIFICATION_BYTES: usize = 64 * 1024;

/// Some programs write it before their text, which is UTF-8 anyway.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What a server tells without being asked, other than progress.
#[derive(Debug)]
pub struct Notification {
    /// What is told, e.g. `notifications/message`.
    pub method: String,
    /// The payload, as the server wrote it.
    pub params: Option<Box<RawValue>>,
}

/// What a request of ours comes to.
pub(super) type Response = Result<Box<RawValue>, Failure>;

/// Routes what arrives. Shared by a connection's reader and those who wait for answers.
pub(super) struct Inbox {
    pending: Mutex<Pending>,
    next_id: AtomicU64,
    notifications: mpsc::Sender<Notification>,
    server_requests: mpsc::Sender<ServerRequest>,
    dropped: AtomicU64,
    lists_changed: watch::Sender<u64>,
    closed: CancellationToken,
    only_client: Option<Arc<OnlyClient>>,
    has_asked_for_roots: AtomicBool,
}

/// Requests without a response yet, in both directions.
#[derive(Default)]
struct Pending {
    /// Ours, by ids of our own.
    requests: HashMap<u64, PendingRequest, foldhash::fast::RandomState>,
    /// The server's, by their id as it spelled it.
    server_requests: HashMap<String, CancellationToken>,
    /// Whose requests nobody waits for any more, though the server may still work on them.
    given_up: GivenUp,
    closed: Option<Failure>,
}

struct PendingRequest {
    response: oneshot::Sender<Response>,
    /// With the program that calls, and where its events go.
    cx: Context,
}

/// What comes out of an inbox for others to look after.
pub(super) struct InboxReceivers {
    pub(super) notifications: mpsc::Receiver<Notification>,
    pub(super) server_requests: mpsc::Receiver<ServerRequest>,
}

impl Inbox {
    pub(super) fn new(only_client: Option<Arc<OnlyClient>>) -> (Self, InboxReceivers) {
        let (notifications, notifications_rx) = mpsc::channel(MAX_NOTIFICATIONS);
        let (server_requests, server_requests_rx) = mpsc::channel(MAX_SERVER_REQUESTS);
        let inbox = Self {
            pending: Mutex::default(),
            next_id: AtomicU64::new(1),
            notifications,
            server_requests,
            dropped: AtomicU64::new(0),
            lists_changed: watch::Sender::new(0),
            closed: CancellationToken::new(),
            only_client,
            has_asked_for_roots: AtomicBool::new(false),
        };
        (inbox, InboxReceivers { notifications: notifications_rx, server_requests: server_requests_rx })
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the answer to `id` from now on.
    pub(super) fn expect(&self, id: u64, cx: &Context) -> Result<oneshot::Receiver<Response>, Failure> {
        let (response, rx) = oneshot::channel();
        let mut pending = self.pending();
        if let Some(failure) = &pending.closed {
            return Err(unsent(failure));
        }
        pending.requests.insert(id, PendingRequest { response, cx: cx.clone() });
        Ok(rx)
    }

    /// Nobody waits for `id` any more; says whether somebody did.
    pub(super) fn forget(&self, id: u64) -> bool {
        let mut pending = self.pending();
        let Some(request) = pending.requests.remove(&id) else { return false };
        pending.given_up.note(&request.cx);
        true
    }

    pub(super) fn is_waiting(&self, id: u64) -> bool {
        self.pending().requests.contains_key(&id)
    }

    /// Those who wait for `ids`, to be told by somebody else.
    pub(super) fn take_out(&self, ids: &[u64]) -> Vec<oneshot::Sender<Response>> {
        let mut pending = self.pending();
        ids.iter().filter_map(|id| pending.requests.remove(id)).map(|request| request.response).collect()
    }

    /// Ends one wait with a failure.
    pub(super) fn fail(&self, id: u64, failure: Failure) {
        let request = self.pending().requests.remove(&id);
        if let Some(request) = request {
            let _ = request.response.send(Err(failure));
        }
    }

    /// Ends the connection for everyone who waits and everyone who comes; the first reason stays.
    pub(super) fn close(&self, failure: &Failure) {
        let requests = {
            let mut pending = self.pending();
            pending.closed.get_or_insert_with(|| failure.clone());
            std::mem::take(&mut pending.requests)
        };
        for request in requests.into_values() {
            let _ = request.response.send(Err(failure.clone()));
        }
        self.closed.cancel();
    }

    /// Fires when the connection has ended.
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Why the connection has ended, if it has.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.pending().closed.clone()
    }

    /// Ticks when the server says that a list of it has changed; no storm makes it miss one.
    pub(super) fn lists_changed(&self) -> watch::Receiver<u64> {
        let mut changes = self.lists_changed.subscribe();
        // What was said before anybody could listen counts, too.
        if *changes.borrow() > 0 {
            changes.mark_changed();
        }
        changes
    }

    /// How many notifications found no room.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes a message, or a batch of them. What is to be sent back at once is added to `answers`.
    /// `about` is the request on whose stream it came, where the transport tells.
    pub(super) fn deliver(
        &self,
        text: &[u8],
        about: Option<u64>,
        answers: &mut Vec<String>,
    ) -> Result<(), NotAMessage> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let delivered = self.deliver_text(text, about, answers);
        if delivered.is_err() {
            self.fail_unreadable(text);
        }
        delivered
    }

    /// An answer that cannot be read is none, and whoever waits for it waits in vain.
    fn fail_unreadable(&self, text: &[u8]) {
        let why = match std::str::from_utf8(text) {
            Ok(_) => "its answer is not valid JSON-RPC: it is cut off, or has a member twice",
            Err(_) => "its answer is not valid UTF-8",
        };
        if let Some(id) = unreadable::answered_id(&String::from_utf8_lossy(text)) {
            self.fail(id, Failure::Protocol(why.into()));
        }
    }

    fn deliver_text(
        &self,
        text: &[u8],
        about: Option<u64>,
        answers: &mut Vec<String>,
    ) -> Result<(), NotAMessage> {
        let read = |text| Message::parse(text).map_err(|_| NotAMessage);
        if !envelope::is_batch(text) {
            return self.route(&read(text)?, about, answers);
        }
        let batch = envelope::batch(text).map_err(|_| NotAMessage)?;
        let batch = batch.into_iter().map(|message| read(message.get().as_bytes()));
        let batch: Vec<_> = batch.collect::<Result<_, _>>()?;
        batch.into_iter().try_for_each(|message| self.route(&message, about, answers))
    }

    /// Takes a message for what it is most likely meant to be: servers are less exact than the protocol.
    fn route(
        &self,
        message: &Message<'_>,
        about: Option<u64>,
        answers: &mut Vec<String>,
    ) -> Result<(), NotAMessage> {
        let id = message.id.filter(|id| id.get() != "null");
        match (message.method(), id) {
            (Some(method), Some(id)) => answers.extend(self.requested(method, id, message.params, about)),
            (Some(method), None) => self.notified(method, message.params, about),
            (None, id) if message.result.is_some() || message.error.is_some() => self.responded(id, message),
            // What else a server writes may have an id as well, but does not say that it is JSON-RPC.
            (None, Some(id)) if message.jsonrpc.is_some() => self.responded(Some(id), message),
            (None, _) => return Err(NotAMessage),
        }
        Ok(())
    }

    /// The server has asked for roots.
    pub(super) fn has_asked_for_roots(&self) -> bool {
        self.has_asked_for_roots.load(Ordering::Relaxed)
    }

    /// There is one client and no other.
    pub(super) fn has_only_client(&self) -> bool {
        self.only_client.is_some()
    }

    fn responded(&self, id: Option<&RawValue>, message: &Message<'_>) {
        let request = id.and_then(number).and_then(|id| self.pending().requests.remove(&id));
        let Some(request) = request else {
            debug!(id = id.map(RawValue::get), "an answer that nobody waits for was ignored");
            return;
        };
        let response = match (message.error.filter(|error| error.get() != "null"), message.result) {
            (Some(error), _) => Err(Failure::Rpc(RpcError::from_raw(error))),
            (None, Some(result)) if is_too_deep(result.get()) => {
                Err(Failure::Protocol(too_deep("its answer")))
            }
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(Failure::Protocol("the answer has neither result nor error".into())),
        };
        // Whoever has stopped waiting does not need it.
        let _ = request.response.send(response);
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_deep(what: &str) -> String {
    format!("{what} is nested more than {MAX_DEPTH} levels deep, and not passed on")
}

/// The same failure for somebody whose request was never sent.
fn unsent(failure: &Failure) -> Failure {
    match failure {
        Failure::Broken { why, .. } => Failure::unreachable(why.clone()),
        Failure::Protocol(why) => Failure::unreachable(why.clone()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
