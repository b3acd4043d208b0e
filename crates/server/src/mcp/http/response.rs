//! Responses over HTTP: JSON where nothing comes up meanwhile, a stream of events where something does.

use crate::Shared;
use crate::mcp::received::{Fault, Refusal};
use crate::mcp::respond::{Output, Responses};
use axum::body::Body;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use mcp::{RpcError, envelope, one_line};
use std::convert::Infallible;
use std::time::Duration;

/// Often enough for the proxies on the way.
pub(in crate::mcp) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Waits for the response, or for the first message that comes before it.
pub(super) async fn respond(state: &Shared, mut responses: Responses) -> Response {
    let mut place = None;
    if let Some(id) = responses.subscription() {
        place = state.stream_place().ok();
        if place.is_none() {
            let error = RpcError::new(-32603, "too many streams are open; try again later");
            return json(envelope::error(Some(id), &error));
        }
    }
    match responses.next().await {
        Some(Output::Message(first)) => {
            let rest = stream::unfold((responses, place), async |(mut responses, place)| {
                match responses.next().await? {
                    Output::Message(text) | Output::Response(text, _) => Some((text, (responses, place))),
                    Output::Cancelled => None,
                }
            });
            events(stream::iter([first]).chain(rest))
        }
        Some(Output::Response(text, code)) => (status_of(code), json(text)).into_response(),
        // Whoever has cancelled waits for no response, and the end of a stream is none.
        Some(Output::Cancelled) => events(stream::empty()),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

/// Errors that say that the request itself was wrong have a status of their own; the rest is a
/// response like any other.
fn status_of(code: Option<i32>) -> StatusCode {
    match code {
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// A message that was turned away before anybody worked on it.
pub(super) fn refused(refusal: &Refusal) -> Response {
    let status = match refusal.fault {
        Fault::Message => StatusCode::BAD_REQUEST,
        Fault::Session | Fault::Method => StatusCode::NOT_FOUND,
        Fault::Request => status_of(Some(refusal.error.code)),
    };
    (status, json(refusal.response())).into_response()
}

pub(super) fn json(body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A stream of messages.
pub(super) fn events(messages: impl Stream<Item = String> + Send + 'static) -> Response {
    let events = messages.map(|message| Ok::<_, Infallible>(event(message)));
    Sse::new(events).keep_alive(keep_alive()).into_response()
}

/// Signs of life while nothing else is to be told.
pub(in crate::mcp) fn keep_alive() -> KeepAlive {
    KeepAlive::new().interval(KEEP_ALIVE)
}

/// A message as an event. Its data is one line, as many read no more of it, and some take `\r` for the end of one.
pub(in crate::mcp) fn event(message: String) -> Event {
    Event::default().event("message").data(one_line(message))
}
