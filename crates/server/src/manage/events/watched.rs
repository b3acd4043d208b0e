//! States that are looked at and compared: how services are, how far indexes and runs are.

use crate::Shared;
use crate::auth::SignedIn;
use crate::manage::runs::rights::seen_by;
use crate::manage::services::{HealthView, configured};
use serde_json::{Value, json};
use std::collections::HashMap;
use store::within;
use tool::TenantId;

/// The newest runs are followed; older ones rarely change.
const RUNS: u32 = 100;

type NamedEvents = Vec<(&'static str, Value)>;

/// How services are.
pub(super) struct Health(HashMap<(String, String), HealthView>);

impl Health {
    pub(super) fn new(state: &Shared, tenant: &TenantId) -> Self {
        Self(Self::of(state, tenant))
    }

    fn of(state: &Shared, tenant: &TenantId) -> HashMap<(String, String), HealthView> {
        let catalog = state.gateway.catalog().tenant(tenant).unwrap_or_default();
        configured(&catalog)
            .map(|service| ((service.scheme.clone(), service.id.clone()), HealthView::of_service(service)))
            .collect()
    }

    /// The services that are not as they were.
    pub(super) fn look(&mut self, state: &Shared, tenant: &TenantId) -> NamedEvents {
        let now = Self::of(state, tenant);
        let changed = now.iter().filter(|(service, health)| self.0.get(*service) != Some(health));
        let told = changed
            .map(|((scheme, id), health)| ("health", json!({ "type": scheme, "id": id, "health": health })));
        let told = told.collect();
        self.0 = now;
        told
    }
}

/// How far the indexes are that Tools search in.
#[derive(Default)]
pub(super) struct Indexes(Option<HashMap<String, Value>>);

impl Indexes {
    pub(super) async fn look(&mut self, state: &Shared, who: &SignedIn) -> NamedEvents {
        // Those who only call do not learn what others have.
        if who.only_own().is_some() {
            return Vec::new();
        }
        let found = within(state.options.store_timeout, state.store.search().all(&who.tenant)).await;
        let Ok(found) = found else { return Vec::new() };
        let now = found.into_iter().map(|index| {
            let shown = json!({
                "tool_id": index.tool.as_str(), "status": index.status.as_str(), "indexed": index.indexed_chunks_count,
                "total": index.chunks_count, "error": index.last_error,
            });
            (String::from(index.tool), shown)
        });
        differing("index", &mut self.0, now.collect())
    }
}

/// Where runs stand.
pub(super) struct Runs {
    seen: Option<HashMap<String, Value>>,
}

impl Runs {
    pub(super) fn new() -> Self {
        Self { seen: None }
    }

    pub(super) async fn look(&mut self, state: &Shared, who: &SignedIn) -> NamedEvents {
        let found = async {
            let filter = seen_by(state, who).await.ok()?;
            state.store.runs().newest(&who.tenant, &filter, RUNS).await.ok()
        };
        let found = tokio::time::timeout(state.options.store_timeout, found).await;
        let Ok(Some(found)) = found else { return Vec::new() };
        let now = found.into_iter().map(|run| {
            let flow = run.agent().is_none().then_some(&run.flow);
            let shown =
                json!({ "id": run.id.as_str(), "flow": flow, "agent": run.agent(), "state": run.state });
            (String::from(run.id), shown)
        });
        differing("run", &mut self.seen, now.collect())
    }
}

/// What is new or another than it was; the first look tells nothing.
fn differing(
    name: &'static str,
    seen: &mut Option<HashMap<String, Value>>,
    now: HashMap<String, Value>,
) -> NamedEvents {
    let told = match &*seen {
        Some(seen) => now
            .iter()
            .filter(|(id, shown)| seen.get(*id) != Some(shown))
            .map(|(_, shown)| (name, shown.clone()))
            .collect(),
        None => Vec::new(),
    };
    *seen = Some(now);
    told
}
