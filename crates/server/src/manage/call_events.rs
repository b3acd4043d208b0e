//! A call as a stream of events: what it does, what it writes, and how it ended.

use super::call::{RunState, result_of};
use super::runs::agent_events::{self, Names, is_answer_held_back, told};
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
use std::collections::VecDeque;
use std::convert::Infallible;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::DropGuard;
use tool::{EventReceiver, Outcome, RunId, TenantId};

/// Events that may wait for a slow reader; more are left out.
pub(super) const QUEUE: usize = 1024;

/// The most records that are told at the end of a stream.
const PAGE: u32 = 200;

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
    /// What it has said last, at this step, is not checked yet.
    unchecked: Option<Value>,
    waiting: VecDeque<Event>,
    state: Shared,
    tenant: TenantId,
    _gone: DropGuard,
    _place: OwnedSemaphorePermit,
}

/// Answers with the events of a call. One that is refused before anything happens is refused as every other is.
pub(super) async fn follow(
    state: &Shared,
    tenant: TenantId,
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
        unchecked: None,
        waiting: VecDeque::new(),
        state: state.clone(),
        tenant,
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
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if let Some(event) = self.events.take() {
                self.take(event);
                continue;
            }
            if let Some(ended) = self.ended.take() {
                let result = result_of(ended)?;
                self.catch_up(&result).await;
                let end = self.end(result);
                self.waiting.push_back(end);
                continue;
            }
            let Some(calling) = &mut self.calling else { return Ok(None) };
            let ended = tokio::select! {
                biased;
                event = self.events.next() => {
                    self.take(event);
                    continue;
                }
                ended = calling => ended,
            };
            self.calling = None;
            let ended =
                ended.map_err(|_| Problem::new(Code::Internal, "the call ended in a mistake of ours"))?;
            // What it said last comes before its end.
            self.ended = Some(ended);
        }
    }

    /// Makes events of what was told.
    fn take(&mut self, event: tool::Event) {
        match event {
            tool::Event::Step(step) => {
                let step: Value = serde_json::from_str(step.get()).unwrap_or_default();
                match step["kind"].as_str() {
                    Some("record") => self.take_record(&step),
                    // Its record tells of it.
                    _ if self.kept.is_some() => {}
                    Some("run") => self.tell_next("run", &step),
                    _ => self.tell_next("step", &step),
                }
            }
            tool::Event::Content(content) => {
                let block: Value = serde_json::from_str(content.get()).unwrap_or_default();
                let told = json!({ "text": block["text"] });
                let unchecked = self.unchecked.take();
                if self.kept.is_none() {
                    return self.tell_next("text", &told);
                }
                // A piece of a text stands before its record: whoever comes back behind it reads all of it.
                self.has_written |= unchecked.is_none();
                self.tell("text", &told);
            }
            tool::Event::Progress { .. } | tool::Event::Log { .. } => {}
        }
    }

    /// The event of a record, as whoever follows the run later gets it.
    fn take_record(&mut self, step: &Value) {
        let Some(number) = step["seq"].as_u64() else { return };
        self.leave_unchecked();
        let names = self.kept.get_or_insert_default();
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        let (name, data) = told(step, text("fact"), text("path"), &step["data"], names);
        self.number = self.number.max(number);
        if name == "text" && std::mem::take(&mut self.has_written) {
            return;
        }
        match text("fact") == "succeeded" && is_answer_held_back(&step["data"]["value"]) {
            true => self.unchecked = Some(data),
            false => self.tell(name, &data),
        }
    }

    /// What was held back is not told as a text.
    fn leave_unchecked(&mut self) {
        if let Some(data) = self.unchecked.take() {
            self.tell("progress", &data);
        }
    }

    /// A run that goes on may have written more than its caller has heard of.
    async fn catch_up(&mut self, result: &str) {
        self.leave_unchecked();
        let RunState { run, state } = RunState::of(result);
        let run: Option<RunId> = run.filter(|_| goes_on(state.as_deref())).and_then(|run| run.parse().ok());
        let Some(run) = run else { return };
        let Some(names) = &mut self.kept else { return };
        let runs = self.state.store.runs();
        let seen = i64::try_from(self.number).unwrap_or(i64::MAX);
        let found = async {
            let run = runs.get(&self.tenant, &run).await?;
            let records = runs.journal(&self.tenant, &run.id, seen, PAGE).await?;
            Ok::<_, store::Error>((run, records))
        };
        let time = self.state.options.store_timeout;
        let Ok(Ok((run, records))) = tokio::time::timeout(time, found).await else { return };
        for record in records.iter().take_while(|record| record.record.kind != "ended") {
            self.number = u64::try_from(record.seq).unwrap_or(self.number);
            self.waiting.push_back(agent_events::event(&run, record, names));
        }
    }

    /// The last event. That of a run which goes on stands where whoever comes back goes on.
    fn end(&mut self, result: String) -> Event {
        let state = RunState::of(&result).state;
        self.number += u64::from(!goes_on(state.as_deref()));
        written("end", self.number, result)
    }

    /// An event behind the last one.
    fn tell_next(&mut self, name: &str, data: &Value) {
        self.number += 1;
        self.tell(name, data);
    }

    fn tell(&mut self, name: &str, data: &Value) {
        self.waiting.push_back(written(name, self.number, data.to_string()));
    }
}

/// An event whose data are JSON that stays as it is written. Before the first there is no number to come back behind.
fn written(name: &str, number: u64, data: String) -> Event {
    let event = Event::default().event(name);
    let event = if number > 0 { event.id(number.to_string()) } else { event };
    event.data(one_line(data))
}

/// The run has not ended.
fn goes_on(state: Option<&str>) -> bool {
    matches!(state, Some("queued" | "running" | "waiting" | "paused"))
}
