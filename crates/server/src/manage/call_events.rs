//! A call as a stream of events: what it does, what it writes, and how it ended.

use super::call::{RunState, result_of};
use super::runs::agent_events::{Names, told};
use crate::Shared;
use crate::error::{Code, Problem, Result};
use crate::finish::Ended;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use futures::stream;
use http::HeaderMap;
use http::header::ACCEPT;
use mcp::one_line;
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
    /// Where the run has a journal: its events have the numbers of their records.
    kept: Option<Names>,
    /// The model's text was told as it was written.
    has_written: bool,
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
    let mut followed = Followed {
        calling: Some(calling),
        ended: None,
        events,
        number: 0,
        kept: None,
        has_written: false,
        _gone: gone,
        _place: place,
    };
    let first = followed.next().await?;
    let rest = stream::unfold(followed, |mut followed| async move {
        let event = match followed.next().await {
            Ok(event) => event?,
            Err(problem) => followed.end(json!({ "isError": true, "error": problem.told() }).to_string()),
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
                return Ok(Some(self.end(result_of(ended)?)));
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
                if step["kind"] == "record" {
                    return self.of_record(&step);
                }
                // Its record tells of it.
                if self.kept.is_some() {
                    return None;
                }
                (if step["kind"] == "run" { "run" } else { "step" }, step)
            }
            tool::Event::Content(content) => {
                let block: Value = serde_json::from_str(content.get()).ok()?;
                let told = json!({ "text": block["text"] });
                if self.kept.is_some() {
                    // Whoever comes back behind it reads the whole text in its record.
                    self.has_written = true;
                    return Some(self.event("text", &told));
                }
                ("text", told)
            }
            tool::Event::Progress { .. } | tool::Event::Log { .. } => return None,
        };
        Some(self.numbered(name, &data))
    }

    /// The event of a record, as whoever follows the run later gets it.
    fn of_record(&mut self, step: &Value) -> Option<Event> {
        let names = self.kept.get_or_insert_default();
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let (mut name, mut data) = told(step, text("fact"), text("path"), &step["data"], names);
        if name == "text" && std::mem::take(&mut self.has_written) {
            (name, data) = ("progress", json!({ "kind": "came", "path": step["path"] }));
        }
        self.number = self.number.max(step["seq"].as_u64()?);
        Some(self.event(name, &data))
    }

    /// The last event. That of a run which goes on stands where whoever comes back goes on.
    fn end(&mut self, result: String) -> Event {
        let state = RunState::of(&result).state;
        let goes_on = matches!(state.as_deref(), Some("queued" | "running" | "waiting" | "paused"));
        match (goes_on, &self.kept) {
            (true, Some(_)) => {}
            // It had no journal until now: whoever follows it hears all of it.
            (true, None) => self.number = 0,
            (false, _) => self.number += 1,
        }
        self.written("end", result)
    }

    fn numbered(&mut self, name: &str, data: &Value) -> Event {
        self.number += 1;
        self.event(name, data)
    }

    fn event(&self, name: &str, data: &Value) -> Event {
        self.written(name, data.to_string())
    }

    /// An event whose data are JSON that stays as it is written.
    fn written(&self, name: &str, data: String) -> Event {
        Event::default().event(name).id(self.number.to_string()).data(one_line(data))
    }
}
