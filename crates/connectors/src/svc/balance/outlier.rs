//! Instances that fail again and again are left alone: for longer each time, and never all of them.

use schemars::JsonSchema;
use serde::Deserialize;
use std::time::{Duration, Instant};

/// However often it failed, it is tried again after so many times the first pause.
const MAX_FACTOR: u32 = 10;

/// When an instance is left alone, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::svc) struct OutlierSettings {
    /// So many calls in a row that find the instance down or too slow; 0 never leaves one alone.
    #[schemars(range(min = 0, max = 10_000))]
    failures: u32,
    /// How long it is left alone the first time, in milliseconds; each time it is longer, up to ten times.
    #[schemars(range(min = 1, max = 3_600_000))]
    eject_ms: u64,
    /// How many of the instances may be left alone at once, in percent. One always stays.
    #[schemars(range(min = 0, max = 100))]
    max_ejected_percent: usize,
}

impl Default for OutlierSettings {
    fn default() -> Self {
        Self { failures: 5, eject_ms: 30_000, max_ejected_percent: 50 }
    }
}

/// The same, ready to be applied.
#[derive(Debug, Clone, Copy)]
pub(in crate::svc) struct Outliers {
    pub(super) failures: u32,
    pub(super) pause: Duration,
    pub(super) max_percent: usize,
}

impl From<&OutlierSettings> for Outliers {
    fn from(settings: &OutlierSettings) -> Self {
        Self {
            failures: settings.failures,
            pause: Duration::from_millis(settings.eject_ms),
            max_percent: settings.max_ejected_percent,
        }
    }
}

impl Outliers {
    /// Whether one more of so many may be left alone.
    pub(super) fn may_eject(&self, members: usize, ejected: usize) -> bool {
        let most = (members * self.max_percent / 100).min(members.saturating_sub(1));
        ejected < most
    }
}

/// What happened to an instance.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// In a row.
    failures: u32,
    /// How often it was left alone without having been well for long.
    ejections: u32,
    ejected_until: Option<Instant>,
}

impl Record {
    pub(super) fn is_ejected(&self, now: Instant) -> bool {
        self.ejected_until.is_some_and(|until| now < until)
    }

    /// It failed when it was last asked.
    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure. The count goes on when the pause is over, so that one more failure begins the next.
    pub(super) fn failed(&mut self, outliers: &Outliers, may_eject: bool, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let is_enough = outliers.failures > 0 && self.failures >= outliers.failures;
        // Calls that began before it was left alone must not make the pause longer.
        if !is_enough || !may_eject || self.is_ejected(now) {
            return;
        }
        let longest = outliers.pause * MAX_FACTOR;
        let was_well = self.ejected_until.is_some_and(|until| now.saturating_duration_since(until) > longest);
        self.ejections = if was_well { 1 } else { self.ejections.saturating_add(1) };
        self.ejected_until = Some(now + outliers.pause * self.ejections.min(MAX_FACTOR));
    }
}
