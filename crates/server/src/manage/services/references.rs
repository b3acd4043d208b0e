//! What refers to a service, or to one of its tools, and would break without it.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Page, Path};
use crate::manage::runs::rights::{sees_flow, sees_text};
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use gateway::ToolBody;
use runtime::tool_definition::body_of;
use serde::Serialize;
use tool::Uri;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct Reference {
    /// What it is: `tool`, `flow` or `agent`.
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    name: String,
    /// How it refers to the service.
    uri: String,
    /// Of a flow: which version; absent for its draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
    /// Of a flow: the path of the node or trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// Of a flow: `draft`, `current` (new runs take that version) or `live` (runs of that version are under way).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::ReferenceState>)]
    state: Option<&'static str>,
    /// Of a Tool: whose it is.
    #[serde(skip)]
    owner: Option<String>,
}

impl Reference {
    /// A node of that flow refers.
    pub(crate) fn is_of_flow(&self, id: &str) -> bool {
        self.kind == FLOW && self.id == id
    }

    /// The lists of Tools and flows tell this reader of it. Those who only call see of a flow what a tool shows, and
    /// no node of it.
    pub(crate) fn is_shown_to(&self, signed_in: &SignedIn) -> bool {
        match (&self.owner, self.kind) {
            (Some(owner), _) => signed_in.only_own().is_none_or(|own| own == *owner),
            (None, FLOW) => sees_text(signed_in) && sees_flow(signed_in, &self.id),
            (None, _) => true,
        }
    }

    /// What refers, for a message.
    fn words(&self) -> String {
        match (&self.node, self.version) {
            (Some(node), Some(version)) => format!("flow {} version {version} ({node})", self.id),
            (Some(node), None) => format!("the draft of flow {} ({node})", self.id),
            (None, _) if self.kind == AGENT => format!("agent {}", self.id),
            (None, _) => self.name.clone(),
        }
    }
}

/// What flows are called among references.
const FLOW: &str = "flow";
/// What agents are called among references.
const AGENT: &str = "agent";
/// So many are named in a message.
const TOLD: usize = 20;

/// What refers to a service and would break without it.
#[utoipa::path(get, path = "/services/{type}/{id}/references", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = Page<Reference>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<Page<Reference>>> {
    signed_in.may_read()?;
    super::owner::must_exist(&state, &signed_in.tenant, &scheme, &id).await?;
    let mut items = references_to(&state, &signed_in, &scheme, &id).await?;
    items.retain(|reference| reference.is_shown_to(&signed_in));
    Ok(Answer(Page::whole(items)))
}

/// Refuses to go on with a service that others refer to.
pub(crate) async fn check_unreferenced(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
) -> Result<()> {
    let references = references_to(state, signed_in, scheme, id).await?;
    refuse(&references, &format!("refer to {scheme}://{id}"), "delete with ?force=true")
}

/// Refuses to go on with tools of a service that others refer to.
pub(crate) async fn check_tools_unreferenced(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
    tools: &[&str],
) -> Result<()> {
    if tools.is_empty() {
        return Ok(());
    }
    let references = references_to_tools(state, signed_in, scheme, id, tools).await?;
    let what = format!("refer to tools of {scheme}://{id} that would go");
    refuse(&references, &what, "keep them, or let them go with ?force=true")
}

/// Refuses to go on if there are references, and lists them.
pub(crate) fn refuse(references: &[Reference], what: &str, advice: &str) -> Result<()> {
    if references.is_empty() {
        return Ok(());
    }
    let (count, names) = (references.len(), names_of(references));
    let error = |reference: &Reference| tool::Problem::new(&*reference.id, "Referenced", reference.words());
    let errors = references.iter().map(error).collect();
    let detail = format!("{count} things {what}: {names}; {advice}");
    Err(Problem::new(Code::Referenced, detail).with_errors(errors))
}

/// The names of what refers to something, for a message.
pub(crate) fn names_of(references: &[Reference]) -> String {
    let mut names: Vec<_> = references.iter().take(TOLD).map(Reference::words).collect();
    if references.len() > TOLD {
        names.push(format!("and {} more", references.len() - TOLD));
    }
    names.join(", ")
}

/// The Tools and flows whose URIs lead to the service.
pub(crate) async fn references_to(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
) -> Result<Vec<Reference>> {
    let leads_there = |uri: &Uri| uri.scheme() == scheme && uri.service() == id;
    let mut found = references_that(state, signed_in, leads_there).await?;
    found.extend(nodes_to(state, signed_in, scheme, id).await?);
    let address = Uri::of_service(scheme, id).to_string();
    let is_there = |used: &str| used == address || used.starts_with(&format!("{address}/"));
    found.extend(agents_that(state, signed_in, &address, is_there).await?);
    Ok(found)
}

/// The Tools and flows whose URIs lead to one of these tools of the service.
pub(crate) async fn references_to_tools(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
    tools: &[&str],
) -> Result<Vec<Reference>> {
    let is_one = |uri: &Uri| uri.tool().is_some_and(|tool| tools.contains(&tool));
    let leads_there = |uri: &Uri| uri.scheme() == scheme && uri.service() == id && is_one(uri);
    let mut found = references_that(state, signed_in, leads_there).await?;
    let mut nodes = nodes_to(state, signed_in, scheme, id).await?;
    nodes.retain(|node| node.uri.rsplit_once('/').is_some_and(|(_, tool)| tools.contains(&tool)));
    found.extend(nodes);
    let addresses: Vec<_> = tools.iter().map(|tool| Uri::of_tool(scheme, id, tool).to_string()).collect();
    let is_there = |used: &str| addresses.iter().any(|address| address == used);
    let address = Uri::of_service(scheme, id).to_string();
    found.extend(agents_that(state, signed_in, &address, is_there).await?);
    Ok(found)
}

/// The nodes of drafts, current versions and versions with runs under way that lead to the service.
async fn nodes_to(state: &Shared, signed_in: &SignedIn, scheme: &str, id: &str) -> Result<Vec<Reference>> {
    let found = state.store.flows().references(&signed_in.tenant, scheme, id).await?;
    let reference = |found: store::flows::Reference| Reference {
        kind: FLOW,
        uri: match found.tool.as_str() {
            "" => format!("{scheme}://{id}"),
            tool => Uri::of_tool(scheme, id, tool).to_string(),
        },
        state: Some(match (found.version, found.is_current) {
            (None, _) => "draft",
            (Some(_), true) => "current",
            (Some(_), false) => "live",
        }),
        id: found.flow,
        name: found.name,
        version: found.version,
        node: Some(found.node),
        owner: None,
    };
    Ok(found.into_iter().map(reference).collect())
}

/// The services that work with such an address by their settings, and are not at `own` themselves. What a pattern stands for
/// counts where it names the service: one that fits many goes on without it.
async fn agents_that(
    state: &Shared,
    signed_in: &SignedIn,
    own: &str,
    leads_there: impl Fn(&str) -> bool,
) -> Result<Vec<Reference>> {
    let services = state.store.services().all(&signed_in.tenant).await?;
    let reference = |service: store::Service| {
        let uses = state.gateway.kind(&service.scheme).ok()?.uses(&service.config);
        let address = |used: &tool::Use| used.what.0.split('?').next().unwrap_or_default().to_owned();
        let uri = uses.iter().map(address).find(|used| leads_there(used))?;
        let is_other = Uri::of_service(&service.scheme, &service.id).to_string() != own;
        let (version, node, state, owner) = (None, None, None, None);
        let (id, name) = (service.id, service.name);
        is_other.then_some(Reference { kind: AGENT, id, name, uri, version, node, state, owner })
    };
    Ok(services.into_iter().filter_map(reference).collect())
}

async fn references_that(
    state: &Shared,
    signed_in: &SignedIn,
    leads_there: impl Fn(&Uri) -> bool,
) -> Result<Vec<Reference>> {
    let tools = state.store.tools().all(&signed_in.tenant).await?;
    let reference = |tool: store::Tool| {
        let Ok(ToolBody::Uri(over)) = body_of(&tool.kind, &tool.definition) else { return None };
        let uri = over.uri.to_string();
        let (version, node, state) = (None, None, None);
        let (id, name, owner) = (tool.id.into(), tool.name, Some(tool.owner));
        leads_there(&over.uri).then_some(Reference {
            kind: "tool",
            id,
            name,
            uri,
            version,
            node,
            state,
            owner,
        })
    };
    Ok(tools.into_iter().filter_map(reference).collect())
}
