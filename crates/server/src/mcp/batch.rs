//! Several messages at once, as 2025-03-26 allows them and no other version.

use super::asked::Asked;
use super::conversation::{Asker, Conversation, Next, Wishes};
use super::http::Visit;
use super::reply::{json, refused};
use super::{Answered, Door};
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use http::StatusCode;
use mcp::envelope::{self, Kind};
use mcp::{Era, Message, RpcError, Version};
use serde_json::value::RawValue;

/// Messages in one batch.
const MAX_MESSAGES: usize = 100;

/// Works on all messages of a batch at the same time. Nothing is told meanwhile and nobody is
/// asked anything, as there is no stream for it.
pub(super) async fn answer(visit: Visit, body: &[u8]) -> Response {
    let refuse = |message: &str| refused(StatusCode::BAD_REQUEST, None, &RpcError::invalid_request(message));
    let Ok(messages) = serde_json::from_slice::<Vec<&RawValue>>(body) else {
        return refused(StatusCode::BAD_REQUEST, None, &RpcError::new(-32700, "Parse error: no JSON"));
    };
    match visit.session() {
        Ok((opened, _)) if opened.session.version == Version::V2025_03_26 => {}
        Ok(_) => return refuse("batches are for clients of 2025-03-26; send one message at a time"),
        Err((status, error)) => return refused(status, None, &error),
    }
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return refuse(&format!("a batch has 1 to {MAX_MESSAGES} messages"));
    }
    let answers = join_all(messages.iter().map(|message| one(&visit, message))).await;
    let answers: Vec<_> = answers.into_iter().flatten().collect();
    match answers.is_empty() {
        true => StatusCode::ACCEPTED.into_response(),
        false => json(format!("[{}]", answers.join(","))),
    }
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
        return Err(RpcError::invalid_request("'initialize' cannot be part of a batch"));
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
