//! What a run writes down: in its journal, or in memory as long as nobody but its caller has to know of it.

use serde::Serialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tool::journal::{Journal, Note, Noted};
use tool::{Context, Error, Event, Events, Result, RunId};

/// Where a run writes what it does.
#[derive(Debug)]
pub(super) enum Notes {
    /// Nowhere: it ends with its call.
    Nowhere,
    /// In memory, until it has to wait for somebody.
    InMemory(Memory),
    /// In its journal.
    Kept(Arc<dyn Journal>),
}

/// What is noted of a run that has no journal, and is told with the numbers that it would have there.
#[derive(Debug)]
pub(super) struct Memory {
    notes: Mutex<Vec<Note>>,
    events: Events,
    run: RunId,
    agent: String,
}

impl Memory {
    pub(super) fn new(cx: &Context, run: &RunId, agent: &str) -> Self {
        let (run, agent) = (run.clone(), agent.to_owned());
        Self { notes: Mutex::default(), events: cx.events.clone(), run, agent }
    }

    fn add(&self, note: Note) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if self.events.is_heard() {
            if notes.is_empty() {
                self.tell(1, "", "begun", &json!({}));
            }
            // That it has begun is the first of all.
            let number = notes.len() + 2;
            match &note {
                Note::Called { path, target, arguments } => {
                    self.tell(number, path, "called", &json!({ "target": target, "arguments": arguments }));
                }
                Note::Came { path, value } => {
                    self.tell(number, path, "succeeded", &json!({ "value": value }));
                }
            }
        }
        notes.push(note);
    }

    fn tell(&self, number: usize, path: &str, fact: &str, data: &Value) {
        let told = json!({
            "kind": "record", "seq": number, "run": self.run, "agent": self.agent, "path": path, "fact": fact, "data": data,
        });
        if let Ok(told) = to_raw_value(&told) {
            self.events.emit(Event::Step(told));
        }
    }
}

impl Notes {
    /// What is known of a step from an earlier attempt at the run.
    pub(super) fn known(&self, path: &str) -> Noted {
        match self {
            Self::Kept(journal) => journal.noted(path),
            Self::Nowhere | Self::InMemory(_) => Noted::default(),
        }
    }

    /// The step at the path is about to be taken.
    ///
    /// # Errors
    /// Why it must not be.
    pub(super) async fn called(&self, path: &str, target: &str, arguments: Map<String, Value>) -> Result<()> {
        let (path, target) = (path.to_owned(), target.to_owned());
        self.note(Note::Called { path, target, arguments }).await
    }

    /// This came of it.
    ///
    /// # Errors
    /// What keeps it from being written.
    pub(super) async fn came(&self, path: &str, value: &impl Serialize) -> Result<()> {
        if let Self::Nowhere = self {
            return Ok(());
        }
        let value = serde_json::to_value(value)
            .map_err(|error| Error::internal("a step of a run cannot be written").caused_by(error))?;
        self.note(Note::Came { path: path.to_owned(), value }).await
    }

    async fn note(&self, note: Note) -> Result<()> {
        match self {
            Self::Nowhere => {}
            Self::InMemory(memory) => memory.add(note),
            Self::Kept(journal) => journal.note(note).await?,
        }
        Ok(())
    }

    /// All that was noted in memory.
    pub(super) fn taken(&self) -> Vec<Note> {
        match self {
            Self::InMemory(memory) => {
                std::mem::take(&mut *memory.notes.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Self::Nowhere | Self::Kept(_) => Vec::new(),
        }
    }
}
