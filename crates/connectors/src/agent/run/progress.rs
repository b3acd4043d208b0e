//! What those hear who wait for an answer.

use super::work::Run;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tool::{Content, Context, Event};

/// What is written is told no more often than this.
const PACE: Duration = Duration::from_millis(250);
/// So much of the end of what is written is told.
const TOLD_CHARACTERS: usize = 200;

/// A step, for people as progress and for programs as an event.
pub(super) fn step(cx: &Context, run: &Run, message: String, event: &Value) {
    if !cx.events.is_heard() {
        return;
    }
    tell(cx, run, message);
    if let Ok(entry) = to_raw_value(event) {
        cx.events.emit(Event::Step(entry));
    }
}

/// The run has begun, under this id.
pub(super) fn begun(cx: &Context, run: &Run, agent: &str) {
    if let Ok(entry) =
        to_raw_value(&json!({ "kind": "run", "run": run.id, "agent": agent, "state": "running" }))
    {
        cx.events.emit(Event::Step(entry));
    }
}

/// A step of one kind.
pub(super) fn event(kind: &str, agent: &str, step: u32, name: &str) -> Value {
    json!({ "kind": kind, "agent": agent, "step": step, "name": name })
}

fn tell(cx: &Context, run: &Run, message: String) {
    let progress = run.events.fetch_add(1, Ordering::Relaxed) + 1;
    cx.events.emit(Event::Progress { progress: progress as f64, total: None, message: Some(message) });
}

/// Tells what the model writes while it does.
pub(super) struct Writing<'a> {
    cx: &'a Context,
    run: &'a Run,
    state: Mutex<(String, Option<Instant>)>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(cx: &'a Context, run: &'a Run) -> Self {
        Self { cx, run, state: Mutex::default() }
    }

    /// The model has written so much more.
    pub(super) fn add(&self, text: &str) {
        self.cx.events.emit(Event::Content(Content::text(text)));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (written, last) = &mut *state;
        written.push_str(text);
        let is_due = last.is_none_or(|last| last.elapsed() >= PACE);
        if is_due {
            *last = Some(Instant::now());
            let start = written.char_indices().rev().nth(TOLD_CHARACTERS - 1).map_or(0, |(at, _)| at);
            written.drain(..start);
            tell(self.cx, self.run, format!("writes: {written}"));
        }
    }
}
