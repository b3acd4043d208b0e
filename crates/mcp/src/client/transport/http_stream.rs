//! What both HTTP transports read: bodies within limits, streams of events, refusals.

use super::super::failure::Failure;
use super::super::inbox::Inbox;
use super::super::unreadable::NotAMessage;
use crate::RpcError;
use bytes::{Bytes, BytesMut};
use fetch::http::StatusCode;
use fetch::http::header::{CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use fetch::{Response, SseEvents, Url};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;

const REFUSAL_BYTES: usize = 64 * 1024;
const CHALLENGE_BYTES: usize = 8 * 1024;
const SHOWN_CHARS: usize = 300;

/// How far a stream of events was read.
#[derive(Debug, Default)]
pub(super) struct Position {
    pub(super) last_id: Option<String>,
    pub(super) retry: Option<Duration>,
}

pub(super) fn is_stream(response: &Response) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|text| text.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// Hands a message to those who wait, and what is to be said in return to `post`.
pub(super) fn deliver(
    inbox: &Inbox,
    text: &[u8],
    about: Option<u64>,
    post: impl Fn(String),
) -> Result<(), NotAMessage> {
    let mut answers = Vec::new();
    let delivered = inbox.deliver(text, about, &mut answers);
    answers.into_iter().for_each(post);
    delivered
}

/// The whole body, if it is not longer than `limit`.
pub(super) async fn body(mut response: Response, limit: usize) -> Result<Bytes, Failure> {
    let Some(first) = next_part(&mut response, 0, limit).await? else { return Ok(Bytes::new()) };
    // Most bodies come in one piece, which need not be copied.
    let Some(second) = next_part(&mut response, first.len(), limit).await? else { return Ok(first) };
    let mut body = BytesMut::from(&first[..]);
    body.extend_from_slice(&second);
    while let Some(part) = next_part(&mut response, body.len(), limit).await? {
        body.extend_from_slice(&part);
    }
    Ok(body.freeze())
}

/// The next part of a body of which so many bytes are `read` already.
async fn next_part(response: &mut Response, read: usize, limit: usize) -> Result<Option<Bytes>, Failure> {
    let part = response.chunk().await.map_err(|error| Failure::of_http(&error))?;
    if part.as_ref().is_some_and(|part| read + part.len() > limit) {
        return Err(Failure::Protocol(format!("the server's answer is longer than {limit} bytes")));
    }
    Ok(part)
}

/// Reads events until the stream ends or `is_done` says so. A stream that breaks has ended.
pub(super) async fn read(
    mut response: Response,
    position: &mut Position,
    limit: usize,
    is_done: impl Fn() -> bool,
    take: impl Fn(&str),
) -> Result<(), Failure> {
    let mut events = SseEvents::new(limit);
    while let Ok(Some(chunk)) = response.chunk().await {
        events.push(&chunk);
        while let Some(event) = events.take()? {
            if event.id.is_some() {
                position.last_id = event.id;
            }
            if event.name == "message" && !event.data.is_empty() {
                take(&event.data);
            }
        }
        position.retry = events.retry.or(position.retry);
        if is_done() {
            break;
        }
    }
    Ok(())
}

/// Why a server did not take a message.
pub(super) async fn refusal(url: &Url, mut response: Response, has_session: bool) -> Failure {
    let status = response.status();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            return Failure::Unauthorized { status: status.as_u16(), challenge: challenge(&response) };
        }
        StatusCode::NOT_FOUND if has_session => return Failure::Stale,
        _ if status.is_redirection() => return Failure::Redirected { location: redirect(url, &response) },
        _ => {}
    }
    let mut body = BytesMut::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > REFUSAL_BYTES {
            break;
        }
    }
    let text = one_line(&body);
    // What older SDKs answer instead of 404.
    if status == StatusCode::BAD_REQUEST && has_session && text.to_ascii_lowercase().contains("session") {
        return Failure::Stale;
    }
    #[derive(Deserialize)]
    struct Refused<'a> {
        #[serde(borrow)]
        error: &'a RawValue,
    }
    match serde_json::from_slice::<Refused<'_>>(&body) {
        Ok(refused) if refused.error.get().starts_with('{') => {
            Failure::Rpc(RpcError::from_raw(refused.error))
        }
        _ => Failure::Status { status: status.as_u16(), body: text },
    }
}

/// What the server wants to see, where it is not unreasonably long.
fn challenge(response: &Response) -> String {
    let values = response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let text = values.collect::<Vec<_>>().join(", ");
    if text.len() <= CHALLENGE_BYTES { text } else { String::new() }
}

/// Where the server wants us to go, without the query, which may hold a key.
fn redirect(url: &Url, response: &Response) -> Option<String> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let mut target = location.and_then(|location| url.join(location).ok())?;
    target.set_query(None);
    target.set_fragment(None);
    Some(target.to_string())
}

/// The beginning of a text for an error.
pub(super) fn one_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * SHOWN_CHARS)]);
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect()
}

/// The same scheme, host and port.
pub(super) fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}
