//! `/events`: what changes, as it changes — configuration, health, calls, indexes and runs.

mod changes;
mod follower;
mod traffic;
mod watched;

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::Query;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use follower::Follower;
use futures::stream::{self, StreamExt as _};
use http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;
use std::convert::Infallible;

/// What somebody can listen to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    Changed,
    Health,
    Call,
    Stats,
    Index,
    Run,
}

const TOPICS: [(&str, Topic); 6] = [
    ("changed", Topic::Changed),
    ("health", Topic::Health),
    ("call", Topic::Call),
    ("stats", Topic::Stats),
    ("index", Topic::Index),
    ("run", Topic::Run),
];

#[derive(Deserialize)]
pub(super) struct EventsQuery {
    topics: Option<String>,
}

/// Follows what changes. Each event's id is the revision it was told at.
///
/// `changed` `{kind, id, revision}`, where kind is the first word of the path in REST, or `*` for anything; `health` `{type, id, health}`; `call`, a row of the audit, at most 20 in a second, then
/// `skipped` `{n}`; `stats` `{calls, errors, refused}` of the last second with calls; `index` `{tool_id, status, indexed, total}`;
/// `run` `{id, flow, state}`; `alive`, without an id, when nothing else has come for 15 seconds. Whoever comes back with a `Last-Event-ID` that is not the revision of now, or was too slow, is told
/// to `reset`: to read everything again.
#[utoipa::path(get, path = "/events", tag = "events",
    params(("topics" = Option<String>, Query, description = "Of `changed`, `health`, `call`, `stats`, `index` and `run`, with commas between; all unless given")),
    responses((status = 200, content((String = "text/event-stream")))))]
pub(super) async fn follow(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    signed_in.may_read()?;
    let topics = topics(query.topics.as_deref())?;
    let place = state.stream_place()?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let follower = Follower::new(state, signed_in, &topics, last.as_deref(), place);
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    // Browsers take a stream for open when the first bytes come.
    let first = stream::iter([Ok(Event::default().comment("open"))]);
    // A comment is seen by no page.
    let alive = KeepAlive::new().event(Event::default().event("alive").data("{}"));
    Ok(Sse::new(first.chain(events)).keep_alive(alive).into_response())
}

fn topics(wanted: Option<&str>) -> Result<Vec<Topic>> {
    let Some(wanted) = wanted else { return Ok(TOPICS.map(|(_, topic)| topic).to_vec()) };
    let known = |word: &str| TOPICS.iter().find(|(name, _)| *name == word).map(|(_, topic)| *topic);
    let read = |word: &str| {
        known(word).ok_or_else(|| {
            let names: Vec<_> = TOPICS.iter().map(|(name, _)| *name).collect();
            Problem::bad_request(format!("'{word}' is no topic; there are {}", names.join(", ")))
        })
    };
    wanted.split(',').map(str::trim).map(read).collect()
}

/// JSON has no line ends of its own, so an event is one line.
fn event(name: &str, revision: i64, data: &Value) -> Event {
    Event::default().event(name).id(revision.to_string()).data(data.to_string())
}
