//! A call as a stream of events: what it does, what it writes, and how it ended.

use super::call::result_of;
use crate::Shared;
use crate::error::{Code, Problem, Result};
use crate::finish::Ended;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use futures::stream;
use http::HeaderMap;
use http::header::ACCEPT;
use serde_json::{Value, json};
use std::convert::Infallible;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::DropGuard;
use tool::{EventReceiver, Outcome};

/// Events that may wait for a slow reader; more are left out.
pub(super) const QUEUE: usize = 1024;

/// The client asks for events.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted
        .split(',')
        .any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}

/// How the call goes on while nobody has heard its end.
type Calling = BoxFuture<'static, Ended<tool::Result<Outcome>>>;

/// A call that is followed. Whoever goes away takes it back.
struct Followed {
    calling: Option<Calling>,
    ended: Option<tool::Result<Outcome>>,
    events: EventReceiver,
    number: u64,
    _gone: DropGuard,
    _place: OwnedSemaphorePermit,
}

/// Answers with the events of a call. One that is refused before anything happens is refused as every other is.
pub(super) async fn follow(
    state: &Shared,
    calling: Calling,
    events: EventReceiver,
    gone: DropGuard,
) -> Result<Response> {
    let place = state.stream_place()?;
    let mut followed =
        Followed { calling: Some(calling), ended: None, events, number: 0, _gone: gone, _place: place };
    let first = followed.next().await?;
    let rest = stream::unfold(followed, |mut followed| async move {
        let event = match followed.next().await {
            Ok(event) => event?,
            Err(problem) => followed.numbered("end", &json!({ "isError": true, "error": problem.told() })),
        };
        Some((Ok::<_, Infallible>(event), followed))
    });
    let first = stream::iter(first.into_iter().map(Ok));
    Ok(Sse::new(futures::StreamExt::chain(first, rest)).keep_alive(KeepAlive::default()).into_response())
}

impl Followed {
    /// The next event; none behind the end.
    async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.events.take() {
                match self.told(event) {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            if let Some(ended) = self.ended.take() {
                let result: Value = serde_json::from_str(&result_of(ended)?).unwrap_or_default();
                return Ok(Some(self.numbered("end", &result)));
            }
            let Some(calling) = &mut self.calling else { return Ok(None) };
            let ended = tokio::select! {
                biased;
                event = self.events.next() => match self.told(event) {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                },
                ended = calling => ended,
            };
            self.calling = None;
            let ended =
                ended.map_err(|_| Problem::new(Code::Internal, "the call ended in a mistake of ours"))?;
            // What it said last comes before its end.
            self.ended = Some(ended);
        }
    }

    fn told(&mut self, event: tool::Event) -> Option<Event> {
        let (name, data) = match event {
            tool::Event::Step(step) => {
                let step: Value = serde_json::from_str(step.get()).ok()?;
                (if step["kind"] == "run" { "run" } else { "step" }, step)
            }
            tool::Event::Content(content) => {
                let block: Value = serde_json::from_str(content.get()).ok()?;
                ("text", json!({ "text": block["text"] }))
            }
            tool::Event::Progress { .. } | tool::Event::Log { .. } => return None,
        };
        Some(self.numbered(name, &data))
    }

    fn numbered(&mut self, name: &str, data: &Value) -> Event {
        self.number += 1;
        Event::default().event(name).id(self.number.to_string()).data(data.to_string())
    }
}
