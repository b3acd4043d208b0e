//! Where messages from the server arrive, and who among us waits for them.

use super::answers;
use super::failure::Failure;
use crate::{RpcError, envelope};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tool::{Event, Events};
use tracing::debug;

/// How many notifications wait to be read; more are dropped and counted.
const WAITING_NOTIFICATIONS: usize = 256;
/// Longer notifications are dropped too, so that the waiting ones stay small together.
const NOTIFICATION_BYTES: usize = 64 * 1024;

/// What a server tells without being asked, other than progress.
#[derive(Debug)]
pub struct Notification {
    /// What is told, e.g. `notifications/message`.
    pub method: String,
    /// The payload, as the server wrote it.
    pub params: Option<Box<RawValue>>,
}

pub(super) type Reply = Result<Box<RawValue>, Failure>;

/// Routes what arrives. Shared by a connection's reader and those who wait for answers.
pub(super) struct Inbox {
    waiting: Mutex<Waiting>,
    next_id: AtomicU64,
    notifications: mpsc::Sender<Notification>,
    dropped: AtomicU64,
    tools_changed: watch::Sender<u64>,
    closed: CancellationToken,
}

#[derive(Default)]
struct Waiting {
    calls: HashMap<u64, Caller>,
    closed: Option<Failure>,
}

struct Caller {
    reply: oneshot::Sender<Reply>,
    events: Events,
}

/// The parts of a message that decide where it goes.
#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The text is no message.
#[derive(Debug)]
pub(super) struct Noise;

impl Inbox {
    pub(super) fn new() -> (Self, mpsc::Receiver<Notification>) {
        let (notifications, rx) = mpsc::channel(WAITING_NOTIFICATIONS);
        let inbox = Self {
            waiting: Mutex::default(),
            next_id: AtomicU64::new(1),
            notifications,
            dropped: AtomicU64::new(0),
            tools_changed: watch::Sender::new(0),
            closed: CancellationToken::new(),
        };
        (inbox, rx)
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the answer to `id` from now on.
    pub(super) fn expect(&self, id: u64, events: Events) -> Result<oneshot::Receiver<Reply>, Failure> {
        let (reply, rx) = oneshot::channel();
        let mut waiting = self.waiting();
        if let Some(failure) = &waiting.closed {
            return Err(unsent(failure));
        }
        waiting.calls.insert(id, Caller { reply, events });
        Ok(rx)
    }

    /// Nobody waits for `id` any more; says whether somebody did.
    pub(super) fn forget(&self, id: u64) -> bool {
        self.waiting().calls.remove(&id).is_some()
    }

    pub(super) fn is_waiting(&self, id: u64) -> bool {
        self.waiting().calls.contains_key(&id)
    }

    /// Ends one wait with a failure.
    pub(super) fn fail(&self, id: u64, failure: Failure) {
        let caller = self.waiting().calls.remove(&id);
        if let Some(caller) = caller {
            let _ = caller.reply.send(Err(failure));
        }
    }

    /// Ends the connection for everyone who waits and everyone who comes; the first reason stays.
    pub(super) fn close(&self, failure: &Failure) {
        let calls = {
            let mut waiting = self.waiting();
            waiting.closed.get_or_insert_with(|| failure.clone());
            std::mem::take(&mut waiting.calls)
        };
        for caller in calls.into_values() {
            let _ = caller.reply.send(Err(failure.clone()));
        }
        self.closed.cancel();
    }

    /// Fires when the connection has ended.
    pub(super) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Ticks when the server says that its tools have changed; no storm makes it miss one.
    pub(super) fn tools_changed(&self) -> watch::Receiver<u64> {
        self.tools_changed.subscribe()
    }

    /// How many notifications found no room.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes a message, or a batch of them. What is to be sent back is added to `answers`.
    pub(super) fn deliver(&self, text: &[u8], answers: &mut Vec<String>) -> Result<(), Noise> {
        if text.trim_ascii_start().starts_with(b"[") {
            let batch: Vec<Incoming<'_>> = serde_json::from_slice(text).map_err(|_| Noise)?;
            return batch.into_iter().try_for_each(|message| self.route(&message, answers));
        }
        let message = serde_json::from_slice(text).map_err(|_| Noise)?;
        self.route(&message, answers)
    }

    fn route(&self, message: &Incoming<'_>, answers: &mut Vec<String>) -> Result<(), Noise> {
        match (&message.method, message.id) {
            (Some(method), Some(id)) => {
                answers.push(match answers::answer(method) {
                    Ok(result) => envelope::result(id, result),
                    Err(refusal) => envelope::error(Some(id), &refusal),
                });
                Ok(())
            }
            (Some(method), None) => {
                self.notified(method, message.params);
                Ok(())
            }
            (None, id) if message.result.is_some() || message.error.is_some() => {
                self.replied(id, message);
                Ok(())
            }
            (None, _) => Err(Noise),
        }
    }

    fn replied(&self, id: Option<&RawValue>, message: &Incoming<'_>) {
        // Some servers send our number back as a string.
        let number = id.and_then(|id| id.get().trim_matches('"').parse::<u64>().ok());
        let caller = number.and_then(|id| self.waiting().calls.remove(&id));
        let Some(caller) = caller else {
            debug!(id = id.map(RawValue::get), "an answer that nobody waits for was ignored");
            return;
        };
        let reply = match (message.error.filter(|error| error.get() != "null"), message.result) {
            (Some(error), _) => Err(Failure::Rpc(rpc_error(error))),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(Failure::Protocol("the answer has neither result nor error".into())),
        };
        // Whoever has stopped waiting does not need it.
        let _ = caller.reply.send(reply);
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/progress" => return self.progressed(params),
            "notifications/tools/list_changed" => self.tools_changed.send_modify(|count| *count += 1),
            _ => {}
        }
        let is_small = params.is_none_or(|params| params.get().len() <= NOTIFICATION_BYTES);
        let sent = is_small
            && self
                .notifications
                .try_send(Notification { method: method.to_owned(), params: params.map(ToOwned::to_owned) })
                .is_ok();
        if !sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn progressed(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Progress<'a> {
            #[serde(borrow, rename = "progressToken")]
            token: &'a RawValue,
            progress: f64,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        let parsed = params.and_then(|params| serde_json::from_str::<Progress<'_>>(params.get()).ok());
        let Some(Progress { token, progress, total, message }) = parsed else { return };
        let Ok(id) = token.get().trim_matches('"').parse() else { return };
        if let Some(caller) = self.waiting().calls.get(&id) {
            caller.events.emit(Event::Progress { progress, total, message });
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same failure for somebody whose request was never sent.
fn unsent(failure: &Failure) -> Failure {
    match failure {
        Failure::Broken { why, .. } => Failure::unreachable(why.clone()),
        Failure::Protocol(why) => Failure::unreachable(why.clone()),
        other => other.clone(),
    }
}

/// The error of an answer, or of a body that has no other use for us.
pub(super) fn rpc_error(raw: &RawValue) -> RpcError {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(default)]
        code: f64,
        #[serde(borrow, default)]
        message: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
    }
    let Ok(head) = serde_json::from_str::<Head<'_>>(raw.get()) else {
        return RpcError::new(-32603, "the server's error cannot be read");
    };
    // Deeper data than the parser goes is left out.
    let data = head.data.and_then(|data| serde_json::from_str::<Value>(data.get()).ok());
    let message = head.message.map_or_else(|| "no message".to_owned(), Cow::into_owned);
    RpcError { code: head.code as i32, message, data: data.filter(|data| !data.is_null()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(inbox: &Inbox, text: &str) -> Result<Vec<String>, Noise> {
        let mut answers = Vec::new();
        inbox.deliver(text.as_bytes(), &mut answers).map(|()| answers)
    }

    #[test]
    fn gives_each_answer_to_the_one_who_asked_and_ignores_the_rest() {
        let (inbox, _rx) = Inbox::new();
        let mut first = inbox.expect(1, Events::default()).unwrap();
        let mut second = inbox.expect(2, Events::default()).unwrap();
        deliver(&inbox, r#"{"jsonrpc":"2.0","id":2,"result":{"a": 1.0}}"#).unwrap();
        deliver(&inbox, r#"{"jsonrpc":"2.0","id":2,"result":{"twice":true}}"#).unwrap();
        deliver(&inbox, r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).unwrap();
        deliver(&inbox, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#).unwrap();
        assert_eq!(second.try_recv().unwrap().unwrap().get(), r#"{"a": 1.0}"#);
        assert!(first.try_recv().is_err());
        deliver(&inbox, r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32602,"message":"no"}}"#).unwrap();
        let Err(Failure::Rpc(error)) = first.try_recv().unwrap() else { panic!() };
        assert_eq!((error.code, error.message.as_str()), (-32602, "no"));
    }

    #[test]
    fn answers_pings_and_refuses_what_we_cannot_do_yet() {
        let (inbox, _rx) = Inbox::new();
        let answers = deliver(&inbox, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).unwrap();
        assert_eq!(answers, [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#]);
        let asked = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}"#;
        assert!(deliver(&inbox, asked).unwrap()[0].contains("-32601"));
    }

    #[test]
    fn a_storm_of_notifications_is_counted_and_not_kept() {
        let (inbox, _rx) = Inbox::new();
        let mut changed = inbox.tools_changed();
        for _ in 0..10_000 {
            deliver(&inbox, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#).unwrap();
        }
        assert_eq!(inbox.dropped(), 10_000 - WAITING_NOTIFICATIONS as u64);
        deliver(&inbox, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).unwrap();
        assert!(changed.has_changed().unwrap());
        assert_eq!(*changed.borrow_and_update(), 1);
    }

    #[test]
    fn tells_noise_from_messages_and_survives_depth_bombs() {
        let (inbox, _rx) = Inbox::new();
        for noise in ["", "Server started", "{", "7", "{}", "[1]", r#"{"id":1}"#, r#"{"method":7}"#] {
            assert!(deliver(&inbox, noise).is_err(), "{noise}");
        }
        let mut waiting = inbox.expect(1, Events::default()).unwrap();
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        deliver(&inbox, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#)).unwrap();
        assert_eq!(waiting.try_recv().unwrap().unwrap().get().len(), 400_000);
        let error = format!(r#"{{"code":1,"message":"m","data":{deep}}}"#);
        let mut waiting = inbox.expect(2, Events::default()).unwrap();
        deliver(&inbox, &format!(r#"{{"jsonrpc":"2.0","id":2,"error":{error}}}"#)).unwrap();
        assert!(matches!(waiting.try_recv().unwrap(), Err(Failure::Rpc(RpcError { data: None, .. }))));
    }

    #[test]
    fn ends_every_wait_when_the_connection_ends() {
        let (inbox, _rx) = Inbox::new();
        let mut waiting = inbox.expect(1, Events::default()).unwrap();
        inbox.close(&Failure::cut_off("gone"));
        assert!(matches!(waiting.try_recv().unwrap(), Err(Failure::Broken { is_sent: true, .. })));
        assert!(inbox.expect(2, Events::default()).unwrap_err().is_unsent());
    }
}
