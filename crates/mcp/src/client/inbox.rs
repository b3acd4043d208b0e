//! Where messages from the server arrive, and who among us waits for them.

mod told;

use super::answers::{self, Asked};
use super::failure::Failure;
use super::incoming::{self, Incoming, Noise, number};
use crate::{RpcError, envelope};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tool::depth::{MAX_DEPTH, is_too_deep};
use tool::{Ability, Client, Context, OnlyClient, Question, TenantId};
use tracing::debug;

/// How many notifications wait to be read; more are dropped and counted.
const WAITING_NOTIFICATIONS: usize = 256;
/// How many questions wait to be asked; more are refused.
const WAITING_QUESTIONS: usize = 64;
/// Longer notifications are dropped too, so that the waiting ones stay small together.
const NOTIFICATION_BYTES: usize = 64 * 1024;
/// How long the client may take to answer a question that belongs to none of its calls; people take their time.
const ANSWER: Duration = Duration::from_secs(300);

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

pub(super) type Reply = Result<Box<RawValue>, Failure>;

/// Routes what arrives. Shared by a connection's reader and those who wait for answers.
pub(super) struct Inbox {
    waiting: Mutex<Waiting>,
    next_id: AtomicU64,
    notifications: mpsc::Sender<Notification>,
    asked: mpsc::Sender<Asked>,
    dropped: AtomicU64,
    lists_changed: watch::Sender<u64>,
    closed: CancellationToken,
    only_client: Option<Arc<OnlyClient>>,
    has_asked_for_roots: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    /// By ids of our own.
    calls: HashMap<u64, Caller, foldhash::fast::RandomState>,
    /// Questions of the server that are under way, by their id as it spelled it.
    questions: HashMap<String, CancellationToken>,
    closed: Option<Failure>,
}

struct Caller {
    reply: oneshot::Sender<Reply>,
    /// With the program that calls, and where its events go.
    cx: Context,
}

/// What comes out of an inbox for others to look after.
pub(super) struct Outlets {
    pub(super) notifications: mpsc::Receiver<Notification>,
    pub(super) asked: mpsc::Receiver<Asked>,
}

impl Inbox {
    pub(super) fn new(only_client: Option<Arc<OnlyClient>>) -> (Self, Outlets) {
        let (notifications, told) = mpsc::channel(WAITING_NOTIFICATIONS);
        let (asked, asks) = mpsc::channel(WAITING_QUESTIONS);
        let inbox = Self {
            waiting: Mutex::default(),
            next_id: AtomicU64::new(1),
            notifications,
            asked,
            dropped: AtomicU64::new(0),
            lists_changed: watch::Sender::new(0),
            closed: CancellationToken::new(),
            only_client,
            has_asked_for_roots: AtomicBool::new(false),
        };
        (inbox, Outlets { notifications: told, asked: asks })
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for the answer to `id` from now on.
    pub(super) fn expect(&self, id: u64, cx: &Context) -> Result<oneshot::Receiver<Reply>, Failure> {
        let (reply, rx) = oneshot::channel();
        let mut waiting = self.waiting();
        if let Some(failure) = &waiting.closed {
            return Err(unsent(failure));
        }
        waiting.calls.insert(id, Caller { reply, cx: cx.clone() });
        Ok(rx)
    }

    /// Nobody waits for `id` any more; says whether somebody did.
    pub(super) fn forget(&self, id: u64) -> bool {
        self.waiting().calls.remove(&id).is_some()
    }

    pub(super) fn is_waiting(&self, id: u64) -> bool {
        self.waiting().calls.contains_key(&id)
    }

    /// Those who wait for `ids`, to be told by somebody else.
    pub(super) fn take_out(&self, ids: &[u64]) -> Vec<oneshot::Sender<Reply>> {
        let mut waiting = self.waiting();
        ids.iter().filter_map(|id| waiting.calls.remove(id)).map(|caller| caller.reply).collect()
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

    /// Why the connection has ended, if it has.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.waiting().closed.clone()
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
    ) -> Result<(), Noise> {
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
        if let Some(id) = incoming::answered_id(&String::from_utf8_lossy(text)) {
            self.fail(id, Failure::Protocol(why.into()));
        }
    }

    fn deliver_text(&self, text: &[u8], about: Option<u64>, answers: &mut Vec<String>) -> Result<(), Noise> {
        if text.trim_ascii_start().starts_with(b"[") {
            let batch: Vec<&RawValue> = serde_json::from_slice(text).map_err(|_| Noise)?;
            let batch = batch.into_iter().map(|message| Incoming::read(message.get().as_bytes()));
            let batch: Vec<_> = batch.collect::<Result<_, _>>()?;
            return batch.into_iter().try_for_each(|message| self.route(&message, about, answers));
        }
        self.route(&Incoming::read(text)?, about, answers)
    }

    fn route(
        &self,
        message: &Incoming<'_>,
        about: Option<u64>,
        answers: &mut Vec<String>,
    ) -> Result<(), Noise> {
        match (message.method.as_ref().map(|method| &*method.0), message.id) {
            (Some(method), Some(id)) => {
                answers.extend(self.answer(method, id, message.params, about));
                Ok(())
            }
            (Some(method), None) => {
                self.notified(method, message.params, about);
                Ok(())
            }
            (None, id) if message.result.is_some() || message.error.is_some() => {
                self.replied(id, message);
                Ok(())
            }
            // What else a server writes may have an id as well, but does not say that it is JSON-RPC.
            (None, Some(id)) if message.jsonrpc.is_some() => {
                self.replied(Some(id), message);
                Ok(())
            }
            (None, _) => Err(Noise),
        }
    }

    /// The answer to a request of the server; a question goes to the program that calls, and is
    /// answered later.
    fn answer(
        &self,
        method: &str,
        id: &RawValue,
        params: Option<&RawValue>,
        about: Option<u64>,
    ) -> Option<String> {
        let refuse = |refusal: &RpcError| Some(envelope::error(Some(id), refusal));
        if params.is_some_and(|params| is_too_deep(params.get())) {
            return refuse(&RpcError::invalid_params(too_deep("what is asked")));
        }
        let Some(ability) = answers::ability(method) else {
            return match method {
                "ping" => Some(envelope::result(id, "{}")),
                _ => refuse(&RpcError::unknown_method(method)),
            };
        };
        if ability == Ability::Roots {
            self.has_asked_for_roots.store(true, Ordering::Relaxed);
        }
        let asked = self.asked_program(ability, about).or_else(|| self.asked_outside_calls(ability));
        let Some(mut cx) = asked else {
            return refuse(&answers::cannot(ability));
        };
        cx.cancel = cx.cancel.child_token();
        {
            let questions = &mut self.waiting().questions;
            questions.retain(|_, cancel| !cancel.is_cancelled());
            questions.insert(id.get().to_owned(), cx.cancel.clone());
        }
        let question = Question { ability, params: params.map(ToOwned::to_owned) };
        match self.asked.try_send(Asked { id: id.to_owned(), question, cx }) {
            Ok(()) => None,
            Err(_) => refuse(&RpcError::new(-32603, "too many questions at once")),
        }
    }

    /// The call that a question of the server belongs to. Where the transport does not tell, it is
    /// clear only if all calls under way come from one caller: nobody is asked on another's behalf.
    fn asked_program(&self, ability: Ability, about: Option<u64>) -> Option<Context> {
        let waiting = self.waiting();
        let can = |caller: &&Caller| caller.cx.client.as_ref().is_some_and(|client| client.can(ability));
        if let Some(about) = about.and_then(|id| waiting.calls.get(&id)) {
            return Some(about).filter(can).map(|caller| caller.cx.clone());
        }
        let callers = || waiting.calls.iter().filter(|(_, caller)| caller.cx.client.is_some());
        // Older calls are likelier to wait for an answer already.
        let (_, latest) = callers().max_by_key(|(id, _)| **id)?;
        let is_same = |(_, other): (_, &Caller)| other.cx.caller.identity == latest.cx.caller.identity;
        callers().all(is_same).then_some(latest).filter(can).map(|caller| caller.cx.clone())
    }

    /// Where there is one client and no other, it is asked also when none of its calls is under way.
    fn asked_outside_calls(&self, ability: Ability) -> Option<Context> {
        let client = self.only_client.clone().filter(|client| client.can(ability))?;
        // Such a process has no other tenant.
        let cx = Context::system(TenantId::default_tenant(), ANSWER);
        Some(Context { client: Some(client), ..cx })
    }

    /// The server has asked for roots.
    pub(super) fn has_asked_for_roots(&self) -> bool {
        self.has_asked_for_roots.load(Ordering::Relaxed)
    }

    /// There is one client and no other.
    pub(super) fn has_only_client(&self) -> bool {
        self.only_client.is_some()
    }

    fn replied(&self, id: Option<&RawValue>, message: &Incoming<'_>) {
        let caller = id.and_then(number).and_then(|id| self.waiting().calls.remove(&id));
        let Some(caller) = caller else {
            debug!(id = id.map(RawValue::get), "an answer that nobody waits for was ignored");
            return;
        };
        let reply = match (message.error.filter(|error| error.get() != "null"), message.result) {
            (Some(error), _) => Err(Failure::Rpc(RpcError::from_raw(error))),
            (None, Some(result)) if is_too_deep(result.get()) => {
                Err(Failure::Protocol(too_deep("its answer")))
            }
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(Failure::Protocol("the answer has neither result nor error".into())),
        };
        // Whoever has stopped waiting does not need it.
        let _ = caller.reply.send(reply);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
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
mod tests {
    use super::*;

    fn cx() -> Context {
        let caller = std::sync::Arc::new(tool::Caller::local());
        let time = std::time::Duration::from_secs(5);
        Context::new(tool::TenantId::default_tenant(), caller, tool::Door::Local, time)
    }

    fn deliver(inbox: &Inbox, text: &str) -> Result<Vec<String>, Noise> {
        let mut answers = Vec::new();
        inbox.deliver(text.as_bytes(), None, &mut answers).map(|()| answers)
    }

    #[test]
    fn gives_each_answer_to_the_one_who_asked_and_ignores_the_rest() {
        let (inbox, _rx) = Inbox::new(None);
        let mut first = inbox.expect(1, &cx()).unwrap();
        let mut second = inbox.expect(2, &cx()).unwrap();
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
    fn answers_pings_and_refuses_what_no_caller_can_answer() {
        let (inbox, _rx) = Inbox::new(None);
        let answers = deliver(&inbox, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).unwrap();
        assert_eq!(answers, [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#]);
        let asked = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}"#;
        assert!(deliver(&inbox, asked).unwrap()[0].contains("-32601"));
    }

    #[test]
    fn a_storm_of_notifications_is_counted_and_not_kept() {
        let (inbox, _rx) = Inbox::new(None);
        let mut changed = inbox.lists_changed();
        for _ in 0..10_000 {
            deliver(&inbox, r#"{"jsonrpc":"2.0","method":"notifications/new","params":{}}"#).unwrap();
        }
        assert_eq!(inbox.dropped(), 10_000 - WAITING_NOTIFICATIONS as u64);
        deliver(&inbox, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).unwrap();
        assert!(changed.has_changed().unwrap());
        assert_eq!(*changed.borrow_and_update(), 1);
    }

    #[test]
    fn tells_noise_from_messages_and_survives_depth_bombs() {
        let (inbox, _rx) = Inbox::new(None);
        for noise in ["", "Server started", "{", "7", "{}", "[1]", r#"{"id":1}"#, r#"{"method":7}"#] {
            assert!(deliver(&inbox, noise).is_err(), "{noise}");
        }
        let mut waiting = inbox.expect(1, &cx()).unwrap();
        let mut other = inbox.expect(3, &cx()).unwrap();
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        deliver(&inbox, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#)).unwrap();
        let Err(Failure::Protocol(why)) = waiting.try_recv().unwrap() else { panic!() };
        assert!(why.contains("nested more than 256 levels deep"), "{why}");
        let asked = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{{"x":{deep}}}}}"#);
        assert!(deliver(&inbox, &asked).unwrap()[0].contains("levels deep"));
        deliver(&inbox, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).unwrap();
        assert_eq!(other.try_recv().unwrap().unwrap().get(), "{}");
        let error = format!(r#"{{"code":1,"message":"m","data":{deep}}}"#);
        let mut waiting = inbox.expect(2, &cx()).unwrap();
        deliver(&inbox, &format!(r#"{{"jsonrpc":"2.0","id":2,"error":{error}}}"#)).unwrap();
        assert!(matches!(waiting.try_recv().unwrap(), Err(Failure::Rpc(RpcError { data: None, .. }))));
    }

    #[test]
    fn takes_no_array_for_a_message() {
        let (inbox, _rx) = Inbox::new(None);
        let mut waiting = inbox.expect(1, &cx()).unwrap();
        for array in [r#"[1,null,null,{"a":1}]"#, r#"[[1,null,null,{"a":1}]]"#] {
            assert!(deliver(&inbox, array).is_err(), "{array}");
        }
        assert!(waiting.try_recv().is_err());
        deliver(&inbox, r#" [{"jsonrpc":"2.0","id":1,"result":{}}]"#).unwrap();
        assert_eq!(waiting.try_recv().unwrap().unwrap().get(), "{}");
    }

    #[test]
    fn ends_every_wait_when_the_connection_ends() {
        let (inbox, _rx) = Inbox::new(None);
        let mut waiting = inbox.expect(1, &cx()).unwrap();
        inbox.close(&Failure::cut_off("gone"));
        assert!(matches!(waiting.try_recv().unwrap(), Err(Failure::Broken { is_sent: true, .. })));
        assert!(inbox.expect(2, &cx()).unwrap_err().is_unsent());
    }
}
