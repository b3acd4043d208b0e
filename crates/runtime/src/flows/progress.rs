//! Progress: whoever waits for a run is told of every node that ends.

use flow::engine::{Fact, Record};
use std::sync::atomic::{AtomicU32, Ordering};
use tool::{Event, Events};

/// Who is told, and how many nodes have ended.
#[derive(Debug, Default)]
pub(super) struct Progress {
    events: Events,
    ended: AtomicU32,
}

impl Progress {
    pub(super) fn to(events: Events) -> Self {
        Self { events, ended: AtomicU32::new(0) }
    }

    /// Tells of what is committed. How many nodes there will be nobody knows: branches die, and loops go on.
    pub(super) fn tell(&self, records: &[Record]) {
        if !self.events.is_heard() {
            return;
        }
        for record in records.iter().filter(|record| !record.path.is_empty()) {
            let how = match &record.fact {
                Fact::Succeeded { .. } => "succeeded",
                Fact::Failed { .. } => "failed",
                Fact::Waiting(_) => "waits",
                _ => continue,
            };
            let progress = self.ended.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            let message = Some(format!("{} {how}", record.path));
            self.events.emit(Event::Progress { progress: progress.into(), total: None, message });
        }
    }
}
