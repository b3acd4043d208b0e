//! Several messages at once, as 2025-03-26 allows them and no other version.

use super::asked::Asked;
use super::conversation::{Asker, Conversation, Next, Wishes};
use super::http::Visit;
use super::order::{Read, Request};
use super::peer::Peer;
use super::reply::{json, refused};
use super::{Answered, Door};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all, ready};
use http::StatusCode;
use mcp::envelope::{self, Kind};
use mcp::modern::Meta;
use mcp::{Era, Id, Message, RpcError, Version};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Messages in one batch.
const MAX_MESSAGES: usize = 100;
const ONE_VERSION: &str = "batches are for clients of 2025-03-26; send one message at a time";
const NO_HANDSHAKE: &str = "'initialize' cannot be part of a batch";

/// The text is a batch, if anything.
pub(super) fn is_batch(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"[")
}

/// The messages of a batch, still to be looked at.
struct Batch<'a>(Vec<&'a RawValue>);

impl<'a> Batch<'a> {
    fn read(text: &'a [u8]) -> Answered<Self> {
        serde_json::from_slice(text).map(Self).map_err(|error| envelope::parse_error(&error))
    }

    /// The messages, if a client of this version may send so many at once.
    fn of(self, version: Option<Version>) -> Answered<Vec<&'a RawValue>> {
        if version != Some(Version::V2025_03_26) {
            return Err(RpcError::invalid_request(ONE_VERSION));
        }
        if self.0.is_empty() || self.0.len() > MAX_MESSAGES {
            return Err(RpcError::invalid_request(format!("a batch has 1 to {MAX_MESSAGES} messages")));
        }
        Ok(self.0)
    }
}

/// Works on all messages of a batch at the same time, for a client with a way of its own; false ends the
/// conversation. What comes up meanwhile is told at once, the answers go out together.
pub(super) async fn take(peer: &Arc<Peer>, text: &[u8]) -> bool {
    let messages = match Batch::read(text).and_then(|batch| batch.of(peer.version())) {
        Ok(messages) => messages,
        Err(error) => {
            peer.refuse(None, &error).await;
            return true;
        }
    };
    let mut answers = Vec::new();
    for message in messages {
        match Message::parse(message.get().as_bytes()).and_then(|message| peer.read(&message)) {
            Ok(Read::Request(id, request)) => answers.push(begin(peer, id, request).await),
            Ok(Read::Nothing) => {}
            Ok(Read::Exit) => return false,
            Err(error) => answers.push(ready(Some(envelope::error(None, &error))).boxed()),
        }
    }
    let sender = peer.clone();
    peer.requests.spawn(async move {
        if let Some(line) = together(join_all(answers).await) {
            sender.send(line).await;
        }
    });
    true
}

/// Begins to work on one request; the answer comes out.
async fn begin(peer: &Arc<Peer>, id: Id, request: Answered<Request>) -> BoxFuture<'static, Option<String>> {
    let request = request.and_then(|request| match request {
        request if request.is_initialize() => Err(RpcError::invalid_request(NO_HANDSHAKE)),
        request if request.is_modern() => Err(RpcError::invalid_request(ONE_VERSION)),
        request => Ok(request),
    });
    let cancel = match peer.admit(&id).await {
        Ok(cancel) => cancel,
        Err(error) => return ready(Some(envelope::error(Some(&id), &error))).boxed(),
    };
    let worker = peer.clone();
    let working = Box::pin(async move { worker.answer(&id, request, &cancel).await });
    let working = peer.requests.spawn(working);
    async move { working.await.ok().flatten() }.boxed()
}

/// One message with all answers, if there are any.
fn together(answers: Vec<Option<String>>) -> Option<String> {
    let answers: Vec<_> = answers.into_iter().flatten().collect();
    (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
}

/// Works on all messages of a batch at the same time. Nothing is told meanwhile and nobody is
/// asked anything, as there is no stream for it.
pub(super) async fn answer(visit: Visit, body: &[u8]) -> Response {
    let refuse = |error: &RpcError| refused(StatusCode::BAD_REQUEST, None, error);
    let batch = match Batch::read(body) {
        Ok(batch) => batch,
        Err(error) => return refuse(&error),
    };
    if let Err(error) = visit.check_version(&Meta::default()) {
        return refuse(&error);
    }
    let version = match visit.session() {
        Ok((opened, _)) => opened.session.version,
        Err((status, error)) => return refused(status, None, &error),
    };
    let messages = match batch.of(Some(version)) {
        Ok(messages) => messages,
        Err(error) => return refuse(&error),
    };
    let answers = join_all(messages.iter().map(|message| one(&visit, message))).await;
    together(answers).map_or_else(|| StatusCode::ACCEPTED.into_response(), json)
}

/// The answer to one message, if it wants one.
async fn one(visit: &Visit, text: &RawValue) -> Option<String> {
    let message = match Message::parse(text.get().as_bytes()) {
        Ok(message) => message,
        Err(error) => return Some(envelope::error(None, &error)),
    };
    match message.kind() {
        Ok(Kind::Request { id, method }) => Some(match work(visit, &message, method).await {
            Ok(result) => envelope::result(&id, &result),
            Err(error) => envelope::error(Some(&id), &error),
        }),
        Ok(Kind::Notification { .. } | Kind::Reply { .. }) => None,
        Err(error) => Some(envelope::error(None, &error)),
    }
}

async fn work(visit: &Visit, message: &Message<'_>, method: &str) -> Answered<String> {
    let asked = Asked::read(Era::Legacy, method, message)?;
    let door = Door { gateway: visit.state.gateway.clone() };
    if let Asked::Initialize(_) = asked {
        return Err(RpcError::invalid_request(NO_HANDSHAKE));
    }
    if let Some(answer) = door.answer_now(&visit.cx, Era::Legacy, &asked) {
        return answer;
    }
    let asker = Asker {
        version: Version::V2025_03_26,
        owner: &visit.owner,
        capabilities: None,
        questions: &visit.state.memory.questions,
        wishes: Wishes::default(),
        is_cancelled_when_gone: false,
    };
    let subject = asked.subject();
    let mut talk = Conversation::begin(&door, &visit.state.calls, visit.cx.clone(), asker, asked, subject);
    loop {
        match talk.next().await {
            Next::End(answer) => return answer,
            Next::Line(_) => {}
            Next::Question(_) => return Err(RpcError::new(-32603, "nobody can be asked in a batch")),
        }
    }
}
