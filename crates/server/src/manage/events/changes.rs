//! What was changed, as the record of management tells it, whichever replica changed it.

use crate::Shared;
use crate::auth::SignedIn;
use serde_json::{Value, json};
use std::collections::VecDeque;
use store::{AuditKind, Filter, PageRequest, within};

/// Records of one look; who changes more at once makes everybody look at everything.
const MOST: u32 = 100;
/// Records of slower changes may come behind those of faster ones.
const LATE_MS: i64 = 10_000;
/// What began before somebody listens may be on record only behind that.
const SECOND_MS: i64 = 1000;
/// Records that were told already.
const REMEMBERED: usize = 1000;

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
    pub(super) async fn of_load(
        &mut self,
        state: &Shared,
        who: &SignedIn,
        revision: i64,
    ) -> Vec<(&'static str, Value)> {
        let found = self.look(state, who).await;
        match found.is_empty() {
            true => vec![("changed", json!({ "kind": "*", "id": null, "revision": revision }))],
            false => found,
        }
    }

    /// What has come on record since the last look.
    pub(super) async fn look(&mut self, state: &Shared, who: &SignedIn) -> Vec<(&'static str, Value)> {
        let filter = Filter {
            kind: AuditKind::Management,
            from: Some(self.since - LATE_MS),
            status: Some("ok".into()),
            ..Filter::default()
        };
        let page = PageRequest { page: 1, limit: MOST };
        let found =
            within(state.options.store_timeout, state.store.audit().query(&who.tenant, &filter, page)).await;
        // A database that is away tells nothing; what it missed comes with the next look.
        let Ok(found) = found else { return Vec::new() };
        let mut events = Vec::new();
        for row in found.items.into_iter().rev() {
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
                // Those who only call do not learn what others have.
                let id = id.filter(|_| who.only_own().is_none());
                events.push((
                    "changed",
                    json!({ "kind": kind, "id": id, "revision": state.reload.revision() }),
                ));
            }
        }
        events
    }
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
