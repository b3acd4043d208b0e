//! Calls as they end: so many of them one by one, all of them in numbers.

use crate::auth::SignedIn;
use crate::error::code_of;
use crate::manage::time;
use gateway::audit::{Entry, Status};
use serde_json::{Value, json};

/// Of calls in one second; more are counted.
const MOST: u64 = 20;

#[derive(Default)]
pub(super) struct Traffic {
    tells_calls: bool,
    tells_stats: bool,
    told: u64,
    skipped: u64,
    calls: u64,
    errors: u64,
    refused: u64,
    has_missed: bool,
}

impl Traffic {
    pub(super) fn new(tells_calls: bool, tells_stats: bool) -> Self {
        Self { tells_calls, tells_stats, ..Self::default() }
    }

    /// A call has ended. Those who do not manage are told of their own; those who look after a tenant have all numbers.
    pub(super) fn take(&mut self, entry: &Entry, signed_in: &SignedIn) -> Option<(&'static str, Value)> {
        if entry.tenant != signed_in.tenant {
            return None;
        }
        let is_own = entry.caller == signed_in.caller.identity.id();
        if is_own || signed_in.only_own().is_none() {
            self.count(entry.status);
        }
        if !self.tells_calls || !(is_own || signed_in.may_manage().is_ok()) {
            return None;
        }
        if self.told >= MOST {
            self.skipped += 1;
            return None;
        }
        self.told += 1;
        Some(("call", show(entry)))
    }

    fn count(&mut self, status: Status) {
        self.calls += 1;
        match status {
            Status::Ok => {}
            Status::Error => self.errors += 1,
            Status::Refused => self.refused += 1,
        }
    }

    /// The listener was too slow. How many it missed is not told, as they are those of all tenants.
    pub(super) fn miss(&mut self) {
        self.has_missed = true;
    }

    /// A second is over.
    pub(super) fn tick(&mut self, revision: i64) -> Vec<(&'static str, Value)> {
        let mut events = Vec::new();
        if std::mem::take(&mut self.has_missed) {
            events.push(("reset", json!({ "revision": revision })));
        }
        let skipped = std::mem::take(&mut self.skipped);
        if skipped > 0 {
            events.push(("skipped", json!({ "n": skipped })));
        }
        if self.calls > 0 && self.tells_stats {
            let Self { calls, errors, refused, .. } = self;
            events.push(("stats", json!({ "calls": calls, "errors": errors, "refused": refused })));
        }
        (self.told, self.calls, self.errors, self.refused) = (0, 0, 0, 0);
        events
    }
}

/// As the audit lists it, without the arguments.
fn show(entry: &Entry) -> Value {
    json!({
        "id": entry.id, "at": time::show(entry.at_ms), "tenant": entry.tenant.as_str(), "caller": entry.caller,
        "caller_name": entry.caller_name, "caller_kind": entry.caller_kind, "door": entry.door, "tool": entry.tool,
        "uri": entry.uri, "service": entry.service, "status": entry.status.as_str(), "code": entry.code.map(code_of),
        "message": entry.message, "duration_us": entry.duration_us, "request_id": entry.request_id,
        "result_bytes": entry.result_bytes, "run_id": entry.run_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queue is shared by all tenants, so that even a count would tell of the others.
    #[test]
    fn a_slow_listener_learns_nothing_of_how_much_others_do() {
        let mut traffic = Traffic::new(true, true);
        traffic.miss();
        assert_eq!(traffic.tick(3), [("reset", json!({ "revision": 3 }))]);
        assert!(traffic.tick(3).is_empty());
    }
}
