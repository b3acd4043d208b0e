//! What was changed, as the record of management tells it, whichever replica changed it.

use crate::Shared;
use crate::auth::SignedIn;
use crate::manage::runs::rights::sees_flow;
use serde_json::{Value, json};
use std::collections::VecDeque;
use store::{AuditKind, AuditRow, Filter, within};

/// Records of one look; whoever changes more at once makes everybody look at everything.
const MOST: u32 = 100;
/// Records of slower changes may come behind those of faster ones.
const LATE_MS: i64 = 10_000;
/// What began before somebody listens may be on record only behind that.
const SECOND_MS: i64 = 1000;
/// Records that were told already.
const REMEMBERED: usize = 1000;

type NamedEvent = (&'static str, Value);

pub(super) struct Changes {
    began: i64,
    since: i64,
    told: VecDeque<String>,
}

impl Changes {
    pub(super) fn new() -> Self {
        let now = chrono::Utc::now().timestamp_millis();
        Self { began: now, since: now, told: VecDeque::new() }
    }

    /// Something was loaded: what is on record, or else that anything may be different, as a file may be.
    pub(super) async fn of_load(&mut self, state: &Shared, who: &SignedIn, revision: i64) -> Vec<NamedEvent> {
        let found = self.look(state, who).await;
        if found.is_empty() { vec![anything(revision)] } else { found }
    }

    /// What has come on record since the last look.
    pub(super) async fn look(&mut self, state: &Shared, who: &SignedIn) -> Vec<NamedEvent> {
        let filter = Filter {
            kind: AuditKind::Management,
            from: Some(self.since - LATE_MS),
            status: Some("ok".into()),
            ..Filter::default()
        };
        let found = state.store.audit().newest(&who.tenant, &filter, MOST);
        // A database that is away tells nothing; what it missed comes with the next look.
        let Ok(found) = within(state.options.store_timeout, found).await else { return Vec::new() };
        self.take(found, |kind, id| tells_id(who, kind, id), state.reload.revision())
    }

    /// What is new of these records, the newest of which come first.
    fn take(
        &mut self,
        found: Vec<AuditRow<'_>>,
        tells_id: impl Fn(&str, &str) -> bool,
        revision: i64,
    ) -> Vec<NamedEvent> {
        let is_cut = found.len() >= MOST as usize;
        let mut events = Vec::new();
        for row in found.into_iter().rev() {
            let is_old = row.at < self.began - SECOND_MS || self.told.iter().any(|told| *told == row.id);
            if is_old {
                continue;
            }
            self.since = self.since.max(row.at);
            self.told.push_back(row.id.into_owned());
            if self.told.len() > REMEMBERED {
                self.told.pop_front();
            }
            if let Some((kind, id)) = subject(&row.tool) {
                let id = id.filter(|id| tells_id(&kind, id));
                events.push(("changed", json!({ "kind": kind, "id": id, "revision": revision })));
            }
        }
        // There may be more of them than were read.
        if is_cut && !events.is_empty() { vec![anything(revision)] } else { events }
    }
}

/// Those who only call do not learn what others have, and whoever has a list no flow that is not on it.
fn tells_id(who: &SignedIn, kind: &str, id: &str) -> bool {
    who.only_own().is_none() && (kind != "flows" || sees_flow(who, id))
}

fn anything(revision: i64) -> NamedEvent {
    ("changed", json!({ "kind": "*", "id": null, "revision": revision }))
}

/// What a change was about, by its method and path: `PATCH /api/v1/services/api/crm` is about `services` and `api/crm`.
fn subject(action: &str) -> Option<(String, Option<String>)> {
    let path = action.split_once(' ')?.1.split_once("/api/v1/")?.1;
    let mut words = path.split('/');
    let kind = words.next()?;
    let id = match kind {
        "auth" => return None,
        "services" => match (words.next(), words.next()) {
            (Some(scheme), Some(id)) if id != "import" => Some(format!("{scheme}/{id}")),
            _ => None,
        },
        "mcp" => words.next().filter(|word| *word == "id").and_then(|_| words.next()).map(str::to_owned),
        _ => words.next().filter(|word| !matches!(*word, "import" | "search" | "bulk")).map(str::to_owned),
    };
    Some((kind.to_owned(), id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an import of two hundred services leaves behind within one look is not told in part.
    #[test]
    fn more_changes_than_one_look_reads_are_a_change_of_anything() {
        let mut changes = Changes::new();
        let rows = |first: usize, count: usize| {
            (first..first + count).rev().map(|number| record(number, "POST /api/v1/services")).collect()
        };
        let kinds = |told: Vec<NamedEvent>| {
            told.into_iter().map(|(_, data)| data["kind"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(changes.take(rows(0, 2), |_, _| true, 7)), ["services", "services"]);
        assert_eq!(kinds(changes.take(rows(1, MOST as usize), |_, _| true, 8)), ["*"]);
        assert!(changes.take(rows(1, MOST as usize), |_, _| true, 8).is_empty(), "nothing is told twice");
    }

    fn record(number: usize, action: &str) -> AuditRow<'static> {
        let at = chrono::Utc::now().timestamp_millis();
        let row = json!({
            "id": number.to_string(), "tenant": "t", "at": at, "caller": "c", "tool": action, "service": "",
            "arguments": null, "status": "ok", "caller_kind": "key", "door": "rest", "uri": "", "duration_us": 1,
            "request_id": "", "trace_id": "", "result_bytes": 0,
        });
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn knows_what_a_change_was_about() {
        let about = |action: &str| subject(action).map(|(kind, id)| (kind, id.unwrap_or_default()));
        let some = |kind: &str, id: &str| Some((kind.to_owned(), id.to_owned()));
        assert_eq!(about("PATCH /api/v1/services/api/crm"), some("services", "api/crm"));
        assert_eq!(about("POST /api/v1/services"), some("services", ""));
        assert_eq!(about("POST /tools/api/v1/services/api/crm/disable"), some("services", "api/crm"));
        assert_eq!(about("PATCH /api/v1/mcp/id/7/bindings/8"), some("mcp", "7"));
        assert_eq!(about("DELETE /api/v1/tables/9"), some("tables", "9"));
        assert_eq!(about("POST /api/v1/auth/session"), None);
    }
}
