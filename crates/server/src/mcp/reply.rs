//! Answers over HTTP: JSON where nothing comes up meanwhile, a stream of events where something does.

use super::Answered;
use super::conversation::{Conversation, Next};
use super::flights::Flight;
use crate::Shared;
use axum::body::Body;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use mcp::{RpcError, envelope, one_line};
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::time::Duration;

/// Often enough for the proxies on the way.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Waits for the end of a conversation, or for the first thing that comes up before it.
pub(super) async fn reply(
    state: Shared,
    owner: String,
    id: &RawValue,
    mut talk: Conversation,
    flight: Flight,
) -> Response {
    match talk.next().await {
        Next::End(answer) => answered(id, answer),
        Next::Question(posed) => answered(id, state.memory.held.keep(&owner, talk, posed)),
        Next::Line(first) => {
            let (id, talk) = (id.to_owned(), Some(talk));
            stream_of(Telling { state, owner, id, talk, first: Some(first), _flight: flight })
        }
    }
}

/// One answer, as JSON.
pub(super) fn answered(id: &RawValue, answer: Answered<String>) -> Response {
    match answer {
        Ok(result) => json(envelope::result(id, &result)),
        Err(error) => (status_of(&error), json(envelope::error(Some(id), &error))).into_response(),
    }
}

/// Errors that say that the request itself was wrong have a status of their own; the rest is an
/// answer like any other.
fn status_of(error: &RpcError) -> StatusCode {
    match error.code {
        -32022..=-32020 => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// A request that was turned away before it could be looked at.
pub(super) fn refused(status: StatusCode, id: Option<&RawValue>, error: &RpcError) -> Response {
    (status, json(envelope::error(id, error))).into_response()
}

pub(super) fn json(body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Everything that comes up, then the answer.
fn stream_of(telling: Telling) -> Response {
    let lines = stream::unfold(telling, async |mut telling| {
        let line = telling.next().await?;
        Some((Ok::<_, Infallible>(event(line)), telling))
    });
    Sse::new(lines).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// A message as an event. Its data is one line, as many read no more of it, and some take `\r` for the end of one.
pub(super) fn event(line: String) -> Event {
    Event::default().event("message").data(one_line(line))
}

struct Telling {
    state: Shared,
    owner: String,
    id: Box<RawValue>,
    talk: Option<Conversation>,
    first: Option<String>,
    /// Until the end it may be taken back.
    _flight: Flight,
}

impl Telling {
    /// The next message of the conversation; its answer is the last one.
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let answer = match self.talk.as_mut()?.next().await {
            Next::Line(line) => return Some(line),
            Next::End(answer) => {
                self.talk = None;
                answer
            }
            Next::Question(posed) => self.state.memory.held.keep(&self.owner, self.talk.take()?, posed),
        };
        Some(match answer {
            Ok(result) => envelope::result(&self.id, &result),
            Err(error) => envelope::error(Some(&self.id), &error),
        })
    }
}
