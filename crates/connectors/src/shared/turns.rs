//! Turns: of all that bear the same name one goes on at a time, in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Who has a turn now, by name.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Turn>>);

/// One turn, which whoever holds the lock has.
pub(crate) type Turn = Arc<tokio::sync::Mutex<()>>;

impl Turns {
    /// The turn of this name.
    pub(crate) fn of(&self, name: &str) -> Turn {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Names that nobody waits for are forgotten.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(name.to_owned()).or_default().clone()
    }
}
