//! What those hear who wait for an answer.

use super::work::Run;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tool::{Content, Context, Event};

/// What is written is told no more often than this.
const PACE: Duration = Duration::from_millis(250);
/// So much of the end of what is written is told.
const TOLD_CHARACTERS: usize = 200;

/// So much progress is told in so much time, of all kinds together.
const MOST: usize = 4;
const WITHIN: Duration = Duration::from_millis(1050);

/// What is told as progress.
#[derive(Debug)]
pub(super) enum Message {
    /// These tools are called.
    Calls(Vec<String>),
    Words(String),
}

impl Message {
    fn words(self) -> String {
        match self {
            Self::Calls(names) => format!("calls {}", names.join(", ")),
            Self::Words(words) => words,
        }
    }
}

/// When was told what: clients are not told more than they can show.
#[derive(Debug, Default)]
pub(super) struct Pace {
    told: VecDeque<Instant>,
    /// What came too fast: the last of it is what is told.
    waiting: Option<Message>,
    count: u32,
}

impl Pace {
    /// What is told now of everything until now, and its number.
    fn due(&mut self) -> Option<(f64, Message)> {
        let now = Instant::now();
        if self.told.len() >= MOST && self.told.front().is_some_and(|first| now - *first < WITHIN) {
            return None;
        }
        let message = self.waiting.take()?;
        self.told.push_back(now);
        if self.told.len() > MOST {
            self.told.pop_front();
        }
        self.count += 1;
        Some((f64::from(self.count), message))
    }

    fn add(&mut self, message: Message) {
        self.waiting = Some(match (self.waiting.take(), message) {
            (Some(Message::Calls(mut names)), Message::Calls(more)) => {
                names.extend(more);
                Message::Calls(names)
            }
            (_, message) => message,
        });
    }
}

/// Does the work, and tells meanwhile what came too fast to be told at once.
pub(super) async fn meanwhile<T>(cx: &Context, run: &Run, work: impl Future<Output = T>) -> T {
    if !cx.events.is_heard() {
        return work.await;
    }
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(PACE) => tell_due(cx, run),
        }
    }
}

/// A step, for people as progress and for programs as an event.
pub(super) fn step(cx: &Context, run: &Run, message: Message, event: &Value) {
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

fn tell(cx: &Context, run: &Run, message: Message) {
    run.pace.lock().unwrap_or_else(PoisonError::into_inner).add(message);
    tell_due(cx, run);
}

fn tell_due(cx: &Context, run: &Run) {
    let due = run.pace.lock().unwrap_or_else(PoisonError::into_inner).due();
    if let Some((progress, message)) = due {
        cx.events.emit(Event::Progress { progress, total: None, message: Some(message.words()) });
    }
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
            tell(self.cx, self.run, Message::Words(format!("writes: {written}")));
        }
    }
}
