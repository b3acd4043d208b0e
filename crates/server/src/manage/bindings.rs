//! `/mcp/id/{mcp_id}/bindings` and `/mcp/…/tools`: which Tools an MCP instance offers.

use super::instances::{find, find_to_change};
use super::time;
use super::tools;
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use store::{Binding, BindingStatus, PageRequest, Tool, ToolStatus};
use tool::{InstanceId, TenantId, ToolId};
use utoipa::ToSchema;

/// Tools in one request.
const MAX_BINDINGS: usize = 1000;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Bind {
    bindings: Vec<BindOne>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BindOne {
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$")]
    tool_id: ToolId,
    /// Whether the tool is offered; it is unless this says no.
    status: Option<Switch>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BindingUpdate {
    /// Whether the tool is offered.
    status: Switch,
}

/// On or off: `true` or `false`, or in the words of older clients.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(untagged, expecting = "'status' must be true or false")]
pub(super) enum Switch {
    Truth(bool),
    Word(SwitchWord),
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SwitchWord {
    Enabled,
    Disabled,
}

impl From<Switch> for BindingStatus {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::Truth(true) | Switch::Word(SwitchWord::Enabled) => Self::Enabled,
            Switch::Truth(false) | Switch::Word(SwitchWord::Disabled) => Self::Disabled,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub(super) struct BoundTool {
    tool_id: String,
    name: String,
    /// The tool's type.
    #[serde(rename = "type")]
    kind: String,
    description: Option<String>,
    /// The tool's own status; only active ones are offered.
    #[schema(value_type = words::ToolStatus)]
    tool_status: ToolStatus,
    binding_id: String,
    /// Whether the instance offers the tool.
    binding_status: bool,
    created_at: String,
    updated_at: String,
}

/// Binds tools to an MCP instance, all of them or none; they are offered when this answers.
#[utoipa::path(post, path = "/mcp/id/{mcp_id}/bindings", tag = "mcp instances", request_body = Bind,
    params(("mcp_id" = String, Path)),
    responses((status = 201, body = Page<BoundTool>), (status = 404), (status = 409)))]
pub(super) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<InstanceId>,
    Json(body): Json<Bind>,
) -> Result<(StatusCode, Answer<Page<BoundTool>>)> {
    find_to_change(&state, &signed_in, &id).await?;
    if !(1..=MAX_BINDINGS).contains(&body.bindings.len()) {
        let message = format!("'bindings' must hold 1 to {MAX_BINDINGS} tools");
        return Err(Problem::invalid_field("bindings", message));
    }
    let mut wanted: Vec<_> =
        body.bindings.into_iter().map(|one| (one.tool_id, status_of(one.status))).collect();
    // In one order for everybody, so that two such requests do not wait for each other.
    wanted.sort_by(|a, b| a.0.cmp(&b.0));
    let mut tools = HashMap::new();
    for (tool, _) in &wanted {
        tools.insert(tool.clone(), tools::find(&state, &signed_in, tool).await?);
    }
    let bound = state.store.instances().bind(&signed_in.tenant, &id, &wanted).await?;
    state.reload.catch_up().await;
    let items: Vec<_> = bound.into_iter().filter_map(|binding| view(binding, &mut tools)).collect();
    Ok((StatusCode::CREATED, Answer(Page::whole(items))))
}

/// Switches a binding on or off.
#[utoipa::path(patch, path = "/mcp/id/{mcp_id}/bindings/{tool_id}", tag = "mcp instances", request_body = BindingUpdate,
    params(("mcp_id" = String, Path), ("tool_id" = String, Path)),
    responses((status = 200, body = BoundTool), (status = 404)))]
pub(super) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((id, tool)): Path<(InstanceId, ToolId)>,
    Json(body): Json<BindingUpdate>,
) -> Result<Answer<BoundTool>> {
    find_to_change(&state, &signed_in, &id).await?;
    let binding = state.store.instances().switch(&signed_in.tenant, &id, &tool, body.status.into()).await?;
    state.reload.catch_up().await;
    let tool = state.store.tools().get(&signed_in.tenant, &tool).await?;
    let mut tools = HashMap::from([(tool.id.clone(), tool)]);
    view(binding, &mut tools).map(Answer).ok_or_else(|| Problem::not_found("tool"))
}

/// Takes a tool from an MCP instance.
#[utoipa::path(delete, path = "/mcp/id/{mcp_id}/bindings/{tool_id}", tag = "mcp instances",
    params(("mcp_id" = String, Path), ("tool_id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub(super) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((id, tool)): Path<(InstanceId, ToolId)>,
) -> Result<StatusCode> {
    find_to_change(&state, &signed_in, &id).await?;
    state.store.instances().unbind(&signed_in.tenant, &id, &tool).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(default)]
    include_disabled: bool,
}

/// The tools of an MCP instance, for its owner.
#[utoipa::path(get, path = "/mcp/id/{mcp_id}/tools", tag = "mcp instances",
    params(("mcp_id" = String, Path), ("include_disabled" = Option<bool>, Query),
        ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<BoundTool>), (status = 404)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<InstanceId>,
    Query(query): Query<ListQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<BoundTool>>> {
    signed_in.may_read()?;
    find(&state, &signed_in, &id).await?;
    page_of(&state, &signed_in.tenant, &id, &query, page).await
}

/// The tools of an MCP instance, for whoever holds its key.
#[utoipa::path(get, path = "/mcp/{api_key}/tools", tag = "mcp instances", security(()),
    params(("api_key" = String, Path), ("include_disabled" = Option<bool>, Query),
        ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<BoundTool>), (status = 404)))]
pub(super) async fn list_by_key(
    State(state): State<Shared>,
    Path(key): Path<String>,
    Query(query): Query<ListQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<BoundTool>>> {
    let (signed_in, id) = state.auth.instance(&key)?;
    page_of(&state, &signed_in.tenant, &id, &query, page).await
}

async fn page_of(
    state: &Shared,
    tenant: &TenantId,
    id: &InstanceId,
    query: &ListQuery,
    page: PageRequest,
) -> Result<Answer<Page<BoundTool>>> {
    let mut bindings = state.store.instances().bindings(tenant, Some(id)).await?;
    bindings.retain(|binding| query.include_disabled || binding.status == BindingStatus::Enabled);
    let tools = state.store.tools().all(tenant).await?;
    let mut tools: HashMap<_, _> = tools.into_iter().map(|tool| (tool.id.clone(), tool)).collect();
    // A binding goes with its tool, so that one without it was only just deleted.
    bindings.retain(|binding| tools.contains_key(&binding.tool));
    let Page { items, page, limit, total } = Page::cut(bindings, page, |binding| view(binding, &mut tools));
    Ok(Answer(Page { items: items.into_iter().flatten().collect(), page, limit, total }))
}

fn status_of(switch: Option<Switch>) -> BindingStatus {
    switch.map(BindingStatus::from).unwrap_or_default()
}

fn view(binding: Binding, tools: &mut HashMap<ToolId, Tool>) -> Option<BoundTool> {
    let tool = tools.remove(&binding.tool)?;
    Some(BoundTool {
        tool_id: tool.id.into(),
        name: tool.name,
        kind: tool.kind,
        description: tool.description,
        tool_status: tool.status,
        binding_id: binding.id,
        binding_status: binding.status == BindingStatus::Enabled,
        created_at: time::show(binding.created_at),
        updated_at: time::show(binding.updated_at),
    })
}
