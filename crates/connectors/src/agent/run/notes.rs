//! What a run writes down: in its journal, or in memory as long as nobody but its caller has to know of it.

use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};
use tool::journal::{Journal, Note, Noted};
use tool::{Error, Result};

/// Where a run writes what it does.
#[derive(Debug)]
pub(super) enum Notes {
    /// Nowhere: it ends with its call.
    Nowhere,
    /// In memory, until it has to wait for somebody.
    InMemory(Mutex<Vec<Note>>),
    /// In its journal.
    Kept(Arc<dyn Journal>),
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
            Self::InMemory(notes) => notes.lock().unwrap_or_else(PoisonError::into_inner).push(note),
            Self::Kept(journal) => journal.note(note).await?,
        }
        Ok(())
    }

    /// All that was noted in memory.
    pub(super) fn taken(&self) -> Vec<Note> {
        match self {
            Self::InMemory(notes) => {
                std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Self::Nowhere | Self::Kept(_) => Vec::new(),
        }
    }
}
