//! The triggers of one type that start runs now, read again only when something has changed.

use crate::flows::Flows;
use std::time::{Duration, Instant};
use store::flows::Trigger as KeptTrigger;
use tokio::sync::watch;
use tool::Result;

/// They are read so often although nobody says that they have changed.
const LATEST: Duration = Duration::from_secs(60);

/// What was last read, and whether that still holds.
pub(super) struct Live {
    kind: &'static str,
    /// Ticks whenever flows are published, switched on or off.
    changes: Option<watch::Receiver<u64>>,
    read_at: Option<Instant>,
    triggers: Vec<KeptTrigger>,
}

impl Live {
    pub(super) fn new(flows: &Flows, kind: &'static str) -> Self {
        let changes = flows.gateway().map(|gateway| gateway.catalog().changes());
        Self { kind, changes, read_at: None, triggers: Vec::new() }
    }

    /// Marks have moved: they are read before they are used again.
    pub(super) fn forget(&mut self) {
        self.read_at = None;
    }

    pub(super) async fn read(&mut self, flows: &Flows) -> Result<Vec<KeptTrigger>> {
        if self.has_changed() {
            self.forget();
        }
        if self.read_at.is_none_or(|read_at| read_at.elapsed() >= LATEST) {
            self.triggers = flows.answered(flows.store.flows().live_triggers(self.kind)).await?;
            self.read_at = Some(Instant::now());
        }
        Ok(self.triggers.clone())
    }

    fn has_changed(&mut self) -> bool {
        let Some(changes) = &mut self.changes else { return true };
        let has_changed = changes.has_changed().unwrap_or(true);
        changes.mark_unchanged();
        has_changed
    }
}
