//! `GET /runs/{id}/events`: a run as it goes on, one event for each record of its journal.

use super::agent_events::{self, Names};
use super::rights::find;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::Path;
use crate::manage::time;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};
use store::runs::{Record, Run};
use tokio::sync::OwnedSemaphorePermit;
use tool::RunId;
use tool::secret::SecretValues;

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(300);
const PAGE: u32 = 200;
/// Browsers come back by themselves, and sign in anew with that.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Follows a run: the events `run`, `step`, `progress` and `end`, of an agent also `text`, each with the number of its
/// record as its id.
///
/// Whoever comes back with `Last-Event-ID` misses nothing. A run that has nothing more to say is answered with 204.
#[utoipa::path(get, path = "/runs/{run_id}/events", tag = "runs", params(("run_id" = String, Path)),
    responses((status = 200, content((String = "text/event-stream"))), (status = 204), (status = 404)))]
pub(in crate::manage) async fn follow(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
    headers: HeaderMap,
) -> Result<Response> {
    let run = find(&state, &signed_in, &id).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let seen = match last {
        Some(text) => {
            text.parse().map_err(|_| Problem::bad_request("'Last-Event-ID' is no number of an event"))?
        }
        None => 0,
    };
    if run.state.is_ended() && seen >= run.last_seq && last.is_some() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    follow_run(state, signed_in, run, seen, None).await
}

/// The events of a run behind the record of that number. With a patience they end when that does or the run asks somebody,
/// with where it stands then.
pub(in crate::manage) async fn follow_run(
    state: Shared,
    signed_in: SignedIn,
    run: Run,
    seen: i64,
    patience: Option<Duration>,
) -> Result<Response> {
    let place = state.stream_place()?;
    let data = state.store.runs().data(&run.tenant, &run.id).await?;
    let mask = state.flows.secrets_of(&run, &data).await;
    let names = match run.agent() {
        Some(_) if seen > 0 => Names::of(&state, &run).await,
        _ => Names::default(),
    };
    let follower = Follower {
        state,
        signed_in,
        run: run.id,
        seen,
        mask,
        names,
        began: Instant::now(),
        patience,
        unchecked: None,
        waiting: VecDeque::new(),
        is_over: false,
        _place: place,
    };
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

struct Follower {
    state: Shared,
    signed_in: SignedIn,
    run: RunId,
    seen: i64,
    mask: SecretValues,
    names: Names,
    began: Instant,
    patience: Option<Duration>,
    /// What a model has said, and nobody has checked yet.
    unchecked: Option<Record>,
    waiting: VecDeque<Event>,
    is_over: bool,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    /// The next event; nothing behind the end, when the server stops, or when the listener may not listen any more.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.is_over || self.state.is_stopping() || self.began.elapsed() > LONGEST {
                return None;
            }
            self.signed_in = self.state.auth.current(&self.signed_in)?;
            let time = self.state.options.store_timeout;
            let (run, records) = tokio::time::timeout(time, self.look()).await.ok()?.ok()?;
            tokio::time::timeout(time, self.take(&run, records)).await.ok()?;
            if self.waiting.is_empty() && !self.is_over && self.is_out_of_patience(&run).await {
                let end = agent_events::so_far(&self.state, &run, self.seen).await;
                self.waiting.push_back(end);
                self.is_over = true;
            }
            if self.waiting.is_empty() && !self.is_over {
                self.state.stopping.run_until_cancelled(tokio::time::sleep(LOOK)).await?;
            }
        }
    }

    /// The run, if it is still there for whoever follows it, and what is new in its journal. In this order: what is written
    /// behind the look at the run comes next time.
    async fn look(&self) -> Result<(Run, Vec<Record>)> {
        let run = find(&self.state, &self.signed_in, &self.run).await?;
        let records = self.state.store.runs().journal(&run.tenant, &run.id, self.seen, PAGE).await?;
        Ok((run, records))
    }

    async fn is_out_of_patience(&self, run: &Run) -> bool {
        let Some(patience) = self.patience else { return false };
        self.began.elapsed() >= patience || self.state.flows.is_asking(run).await.unwrap_or(false)
    }

    async fn take(&mut self, run: &Run, records: Vec<Record>) {
        let is_last_page = records.len() < PAGE as usize;
        let last = records.last().map_or(self.seen, |record| record.seq);
        for record in records {
            self.seen = record.seq;
            // A run that was tried again has more than one end; a full page may be the last one, too.
            let is_last = record.seq == last && (is_last_page || last >= run.last_seq);
            self.is_over = record.record.kind == "ended" && is_last;
            match run.agent() {
                Some(_) => self.take_of_agent(run, record).await,
                None => self.waiting.push_back(event(&record, self.is_over, &self.mask)),
            }
        }
        // One that was cancelled before it began has nothing to say itself.
        if !self.is_over && run.state.is_ended() && self.seen >= run.last_seq {
            let event = numbered(Event::default().event("end"), self.seen);
            self.waiting.push_back(with_data(event, &json!({ "state": run.state })));
            self.is_over = true;
        }
    }

    /// What a model has said is held back until it is known what becomes of it.
    async fn take_of_agent(&mut self, run: &Run, record: Record) {
        let unchecked = self.unchecked.take();
        if self.is_over {
            let (text, end) = agent_events::end(&self.state, run, record.seq).await;
            let checked = unchecked.zip(text).map(|(unchecked, text)| {
                with_data(numbered(Event::default().event("text"), unchecked.seq), &json!({ "text": text }))
            });
            self.waiting.extend(checked);
            self.waiting.push_back(end);
            return;
        }
        if let Some(unchecked) = unchecked {
            self.waiting.push_back(agent_events::event(run, &unchecked, &mut self.names));
        }
        match agent_events::is_unchecked(&record) {
            true => self.unchecked = Some(record),
            false => self.waiting.push_back(agent_events::event(run, &record, &mut self.names)),
        }
    }
}

/// The event of a record of a flow, which is the end of the run where it is over then.
fn event(record: &Record, is_over: bool, mask: &SecretValues) -> Event {
    let Record { seq, record, .. } = record;
    let data: Value = serde_json::from_str(&record.data).unwrap_or_default();
    let name = match (record.kind.as_str(), record.path.is_empty()) {
        ("ended", _) if is_over => "end",
        (
            "called" | "again" | "waiting" | "entered" | "succeeded" | "failed" | "skipped" | "cancelled",
            false,
        ) => "step",
        ("begun" | "ended" | "caught" | "cancel" | "pause" | "resume" | "retry", true) => "run",
        _ => "progress",
    };
    let mut told = json!({
        "seq": seq, "at": time::show(record.at), "path": record.path, "kind": record.kind, "attempt": record.attempt
    });
    match (name, mask.masked(data)) {
        // How it ended stands beside the rest.
        ("end", Value::Object(ending)) => ending.into_iter().for_each(|(field, value)| told[field] = value),
        (_, data) => told["data"] = data,
    }
    with_data(Event::default().event(name).id(seq.to_string()), &told)
}

/// The event under a number that those who come back tell; nothing has one before the first record.
pub(super) fn numbered(event: Event, seq: i64) -> Event {
    if seq > 0 { event.id(seq.to_string()) } else { event }
}

/// JSON has no line ends of its own, so an event is one line.
pub(super) fn with_data(event: Event, data: &Value) -> Event {
    event.data(data.to_string())
}
