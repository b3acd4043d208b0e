//! `/overview`: what goes on now — the busiest doors, tools and services, what flows between them, and what failed.

use super::numbers::Numbers;
use super::shown::Shown;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::Query;
use crate::manage::audit::{AuditView, FLUSH};
use crate::manage::services::{HealthView, configured};
use crate::manage::{catalog, flows};
use axum::Json as Answer;
use axum::extract::State;
use gateway::catalog::TenantCatalog;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;
use store::{AuditKey, AuditKind, PageRequest, TableFilter, Tally, Window, within};
use utoipa::ToSchema;

/// Of each kind, so many are shown.
const BUSIEST: usize = 12;
const FAILURES: i64 = 10;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const WINDOW_SECONDS: std::ops::RangeInclusive<i64> = 60..=24 * 60 * 60;

#[derive(Deserialize)]
pub(in crate::manage) struct OverviewQuery {
    window: Option<i64>,
}

#[derive(Serialize, ToSchema)]
pub(in crate::manage) struct Overview {
    /// The last change that it shows.
    revision: i64,
    counts: Counts,
    /// How far back calls are counted, in seconds.
    window_s: i64,
    /// The busiest; the rest of the dozen are those without calls.
    doors: Vec<NodeView>,
    tools: Vec<NodeView>,
    services: Vec<NodeView>,
    /// From doors to tools and from tools to services, among those above.
    links: Vec<Link>,
    /// The last calls that failed or were turned away, within a day, newest first. Those who do not manage see their own.
    failures: Vec<AuditView>,
}

/// How many there are of each.
#[derive(Serialize, ToSchema)]
#[schema(as = OverviewCounts)]
struct Counts {
    doors: i64,
    tools: usize,
    services: usize,
    /// Services that fail.
    failing: usize,
    tables: i64,
    flows: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OverviewNode)]
struct NodeView {
    /// Of a door its word or the id of its instance, of a tool its name, of a service its type and id: `api/crm`.
    id: String,
    name: String,
    /// `rest`, `mcp`, …, or `instance`; of tools and services the type of service.
    kind: String,
    /// Of services.
    health: Option<HealthView>,
    calls: i64,
    errors: i64,
    p95_ms: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OverviewLink)]
struct Link {
    /// A door or a tool.
    from: String,
    /// The tool or the service that it led to.
    to: String,
    calls: i64,
    errors: i64,
}

/// What goes on now. Callers see their own calls.
#[utoipa::path(get, path = "/overview", tag = "audit",
    params(("window" = Option<i64>, Query, description = "How far back calls are counted, in seconds; a quarter of an hour unless given", minimum = 60, maximum = 86_400)),
    responses((status = 200, body = Overview), (status = 422)))]
pub(in crate::manage) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<OverviewQuery>,
) -> Result<Answer<Overview>> {
    signed_in.may_read()?;
    let window_s = query.window.unwrap_or(900);
    if !WINDOW_SECONDS.contains(&window_s) {
        return Err(Problem::invalid_field("window", "'window' is a number of seconds from 60 to 86400"));
    }
    state.gateway.audit().flush(FLUSH).await;
    let (revision, time, tenant) = (state.reload.revision(), state.options.store_timeout, &signed_in.tenant);
    let to = chrono::Utc::now().timestamp_millis() + 1;
    let window =
        Window { from: to - window_s * 1000, to, step: window_s * 1000, caller: signed_in.only_own() };
    let keys = [AuditKey::Door, AuditKey::Tool, AuditKey::Scheme, AuditKey::Service];
    let tallies = within(time, state.store.audit().busiest(tenant, &window, &keys)).await?;
    let of_others = signed_in.may_manage().is_ok();
    let own = (!of_others).then(|| signed_in.caller.identity.id().to_owned());
    let of_a_day = Window { from: to - DAY_MS, caller: own, ..window };
    let failures = within(time, state.store.audit().failures(tenant, &of_a_day, FAILURES)).await?;
    let failures = failures.into_iter().map(|row| AuditView::new(AuditKind::Call, row)).collect();
    let (known, counts) = Known::read(&state, &signed_in).await?;
    let graph = Graph::of(&tallies);
    let (doors, tools, services) = (known.doors(&graph), known.tools(&graph), known.services(&graph));
    let links = graph.links(&[&doors, &tools, &services]);
    Ok(Answer(Overview { revision, counts, window_s, doors, tools, services, links, failures }))
}

/// What calls went through, and between what.
#[derive(Default)]
struct Graph {
    doors: HashMap<String, Numbers>,
    tools: HashMap<String, Numbers>,
    services: HashMap<String, Numbers>,
    links: HashMap<(String, String), Numbers>,
}

impl Graph {
    fn of(tallies: &[Tally]) -> Self {
        let mut graph = Self::default();
        for tally in tallies {
            let [door, tool, scheme, service] = tally.keys.as_slice() else { continue };
            count(&mut graph.doors, door.clone(), tally);
            count(&mut graph.tools, tool.clone(), tally);
            count(&mut graph.links, (door.clone(), tool.clone()), tally);
            // A tenant's own Tool is not a service to anybody.
            if !service.is_empty() && scheme != "tool" {
                let service = format!("{scheme}/{service}");
                count(&mut graph.links, (tool.clone(), service.clone()), tally);
                count(&mut graph.services, service, tally);
            }
        }
        graph
    }

    fn links(self, shown: &[&[NodeView]]) -> Vec<Link> {
        let shown: HashSet<&str> =
            shown.iter().flat_map(|nodes| nodes.iter()).map(|node| node.id.as_str()).collect();
        let is_shown =
            |(from, to): &(String, String)| shown.contains(from.as_str()) && shown.contains(to.as_str());
        let links = self.links.into_iter().filter(|(ends, _)| is_shown(ends));
        let link = |((from, to), numbers): ((String, String), Numbers)| Link {
            from,
            to,
            calls: numbers.calls,
            errors: numbers.errors + numbers.refused,
        };
        let mut links: Vec<_> = links.map(link).collect();
        links.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| (&a.from, &a.to).cmp(&(&b.from, &b.to))));
        links
    }
}

fn count<K: Eq + Hash>(numbers: &mut HashMap<K, Numbers>, key: K, tally: &Tally) {
    numbers.entry(key).or_default().add(tally);
}

/// What there is to be shown, with calls or without.
struct Known {
    catalog: Arc<TenantCatalog>,
    /// Names and types of tools.
    tools: Vec<(String, String)>,
    /// Ids and names of MCP instances.
    instances: Vec<(String, String)>,
    /// What of the calls may be named.
    shown: Shown,
}

impl Known {
    async fn read(state: &Shared, signed_in: &SignedIn) -> Result<(Self, Counts)> {
        let tenant = &signed_in.tenant;
        let (time, owner) = (state.options.store_timeout, signed_in.only_own());
        let page = PageRequest { page: 1, limit: 100 };
        let instances = within(time, state.store.instances().list(tenant, owner.as_deref(), page)).await?;
        let one = PageRequest { page: 1, limit: 1 };
        let own = TableFilter { owner, text: None };
        let tables = within(time, state.store.tables().list(tenant, &own, one)).await?.total;
        let flows = flows::count(state, signed_in).await?;
        let snapshot = state.gateway.catalog().tenant(tenant).unwrap_or_default();
        let tools = catalog::tools(state, signed_in).await?.into_iter().map(|tool| (tool.name, tool.kind));
        let doors = instances.total;
        let instances = instances.items.into_iter().map(|instance| (instance.id.into(), instance.name));
        let (tools, instances) = (tools.collect(), instances.collect());
        let known = Self { tools, instances, catalog: snapshot, shown: Shown::to(state, signed_in).await? };
        let health: Vec<_> =
            configured(&known.catalog).map(|service| HealthView::of_service(service)).collect();
        let failing = health.iter().filter(|health| health.is_failing()).count();
        let counts =
            Counts { doors, tools: known.tools.len(), services: health.len(), failing, tables, flows };
        Ok((known, counts))
    }

    fn doors(&self, graph: &Graph) -> Vec<NodeView> {
        let named: HashMap<_, _> = self.instances.iter().cloned().collect();
        let all = self.instances.iter().map(|(id, _)| id.clone()).chain(graph.doors.keys().cloned());
        busiest(all, &graph.doors, |id| match named.get(id) {
            Some(name) => (name.clone(), "instance".to_owned(), None),
            None => (id.to_owned(), id.to_owned(), None),
        })
    }

    fn tools(&self, graph: &Graph) -> Vec<NodeView> {
        let kinds: HashMap<_, _> = self.tools.iter().cloned().collect();
        let all = self.tools.iter().map(|(name, _)| name.clone()).chain(graph.tools.keys().cloned());
        let all = all.filter(|name| self.shown.tool(name));
        busiest(all, &graph.tools, |name| {
            (name.to_owned(), kinds.get(name).cloned().unwrap_or_default(), None)
        })
    }

    fn services(&self, graph: &Graph) -> Vec<NodeView> {
        let ids = configured(&self.catalog).map(|service| format!("{}/{}", service.scheme, service.id));
        let is_shown =
            |id: &String| id.split_once('/').is_none_or(|(scheme, id)| self.shown.service(scheme, id));
        let all = ids.chain(graph.services.keys().cloned()).filter(is_shown);
        busiest(all, &graph.services, |id| {
            let (scheme, service) = id.split_once('/').unwrap_or(("", id));
            let known = self.catalog.service(scheme, service);
            let name = known.map_or(service, |known| known.name.as_str()).to_owned();
            (name, scheme.to_owned(), known.map(|known| HealthView::of_service(known)))
        })
    }
}

/// The nodes with most calls, by name where they have as many.
fn busiest(
    all: impl Iterator<Item = String>,
    numbers: &HashMap<String, Numbers>,
    describe: impl Fn(&str) -> (String, String, Option<HealthView>),
) -> Vec<NodeView> {
    let all: HashSet<String> = all.collect();
    let none = Numbers::default();
    let of = |id: &str| numbers.get(id).unwrap_or(&none);
    let mut all: Vec<String> = all.into_iter().collect();
    all.sort_by(|a, b| of(b).calls.cmp(&of(a).calls).then_with(|| a.cmp(b)));
    all.truncate(BUSIEST);
    let node = |id: String| {
        let ((name, kind, health), numbers) = (describe(&id), of(&id));
        let (calls, errors, p95_ms) =
            (numbers.calls, numbers.errors + numbers.refused, numbers.percentile_ms(95));
        NodeView { id, name, kind, health, calls, errors, p95_ms }
    };
    all.into_iter().map(node).collect()
}
