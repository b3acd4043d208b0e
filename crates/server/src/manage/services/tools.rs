//! `/services/{type}/{id}/tools`: what a service offers, and the tools users define on it.

use super::references::check_tools_unreferenced;
use super::settings::{Findings, check_also, read_tool};
use super::{ForceQuery, masked_tool, schema_of};
use super::{listed, owner};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use crate::manage::openapi::bodies::{ServiceToolChange, ServiceToolDraft};
use crate::manage::secrets::{AddressChange, Visibility};
use crate::manage::tools::expected_version;
use axum::Json as Answer;
use axum::extract::State;
use gateway::Route;
use gateway::policy::is_listed;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use store::{Service, ServiceTool};
use tool::TenantId;
use utoipa::ToSchema;

type ToolPath = Path<(String, String, String)>;

#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceToolView {
    /// The tool's name within the service.
    id: String,
    /// The name MCP clients see; none while the service is disabled.
    name: Option<String>,
    uri: String,
    description: Option<String>,
    /// JSON Schema of the arguments; none while the service is disabled.
    #[serde(rename = "inputSchema")]
    input_schema: Option<Value>,
    /// What the user wrote, for tools that users define.
    definition: Option<Value>,
    /// The version of the service that the definition stands in.
    version: Option<i64>,
}

/// Lists what a service offers.
#[utoipa::path(get, path = "/services/{type}/{id}/tools", tag = "services",
    params(("type" = String, Path), ("id" = String, Path), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<ServiceToolView>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
    Paging(page): Paging,
) -> Result<Answer<Page<ServiceToolView>>> {
    signed_in.may_read()?;
    let all = all(&state, &signed_in, &scheme, &id).await?;
    Ok(Answer(Page::cut(all, page, |view| view)))
}

/// The tools of a service, wherever it is configured.
async fn all(state: &Shared, signed_in: &SignedIn, scheme: &str, id: &str) -> Result<Vec<ServiceToolView>> {
    let tenant = &signed_in.tenant;
    let found = state.store.services().get(tenant, scheme, id).await;
    let mut all = match found.is_err() && owner::is_owned(state, tenant, scheme, id) {
        true => routes(state, tenant, scheme, id).iter().map(|route| offered(route)).collect(),
        false => views(state, found?, Visibility::of(signed_in)),
    };
    all.retain(|view| match &view.name {
        Some(name) => is_listed(&signed_in.caller, name, &view.uri),
        None => listed::shows(&signed_in.caller, scheme, id, &view.id),
    });
    Ok(all)
}

/// What a service offers now, by name.
pub(super) fn routes(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Vec<Arc<Route>> {
    let catalog = state.gateway.catalog().tenant(tenant);
    let mut routes: Vec<_> =
        catalog.iter().flat_map(|catalog| catalog.routes_of(scheme, id)).cloned().collect();
    routes.sort_by(|a, b| a.tool.name().cmp(b.tool.name()));
    routes
}

/// What users defined in their order, then what the service itself offers.
fn views(state: &Shared, service: Service, visibility: Visibility) -> Vec<ServiceToolView> {
    let mut routes = routes(state, &service.tenant, &service.scheme, &service.id);
    let schema = schema_of(state, &service.scheme);
    let mut views = Vec::new();
    for tool in service.tools {
        let at = routes.iter().position(|route| route.tool.name() == tool.id);
        let route = at.map(|at| routes.remove(at));
        let definition = masked_tool(tool.clone(), &schema, visibility);
        let uri = tool::Uri::of_tool(&service.scheme, &service.id, &tool.id).to_string();
        let view = defined(tool.id, definition, uri, route.as_deref());
        views.push(ServiceToolView { version: Some(service.version), ..view });
    }
    views.extend(routes.iter().map(|route| offered(route)));
    views
}

fn defined(id: String, definition: Value, uri: String, route: Option<&Route>) -> ServiceToolView {
    let offered = route.map(offered);
    let description = definition.get("description").and_then(Value::as_str).map(str::to_owned);
    let (name, input_schema) = offered.map_or((None, None), |view| (view.name, view.input_schema));
    ServiceToolView { id, name, uri, description, input_schema, definition: Some(definition), version: None }
}

fn offered(route: &Route) -> ServiceToolView {
    ServiceToolView {
        id: route.tool.name().to_owned(),
        name: Some(route.name.clone()),
        uri: route.address.clone(),
        description: route.tool.description().map(str::to_owned),
        input_schema: serde_json::from_str(route.tool.input_schema().get()).ok(),
        definition: None,
        version: None,
    }
}

/// One tool of a service.
#[utoipa::path(get, path = "/services/{type}/{id}/tools/{tool}", tag = "services",
    params(("type" = String, Path), ("id" = String, Path), ("tool" = String, Path)),
    responses((status = 200, body = ServiceToolView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id, tool)): ToolPath,
) -> Result<Answer<ServiceToolView>> {
    signed_in.may_read()?;
    view_of(&state, &signed_in, &scheme, &id, &tool).await.map(Answer)
}

async fn view_of(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
    tool: &str,
) -> Result<ServiceToolView> {
    let found = all(state, signed_in, scheme, id).await?.into_iter().find(|view| view.id == tool);
    found.ok_or_else(|| Problem::not_found("tool"))
}

/// Adds a tool to a service.
#[utoipa::path(post, path = "/services/{type}/{id}/tools", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)), request_body = ServiceToolDraft,
    responses((status = 201, body = ServiceToolView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
    Json(body): Json<Map<String, Value>>,
) -> Result<(StatusCode, Answer<ServiceToolView>)> {
    signed_in.may_make_services()?;
    owner::refuse_change(&state, &signed_in.tenant, &scheme, &id).await?;
    let services = state.store.services();
    let service = services.get(&signed_in.tenant, &scheme, &id).await?;
    let mut found = Findings::default();
    let tool = read_tool(service.tools.len(), body, &mut found);
    if service.tools.iter().any(|other| other.id == tool.id) {
        let detail = format!("{scheme}://{id} has a tool '{}' already", tool.id);
        return Err(Problem::new(Code::Conflict, detail));
    }
    let mut tools = service.tools.clone();
    tools.push(tool.clone());
    check_last(&state, &signed_in, &service, tools, found).await?;
    let name = tool.id.clone();
    services.create_tool(&signed_in.tenant, &scheme, &id, tool, Some(service.version)).await?;
    state.reload.catch_up().await;
    Ok((StatusCode::CREATED, Answer(view_of(&state, &signed_in, &scheme, &id, &name).await?)))
}

/// Changes the fields of a tool's definition that are given.
#[utoipa::path(patch, path = "/services/{type}/{id}/tools/{tool}", tag = "services",
    params(("type" = String, Path), ("id" = String, Path), ("tool" = String, Path)),
    request_body = ServiceToolChange,
    responses((status = 200, body = ServiceToolView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id, name)): ToolPath,
    Json(mut body): Json<Map<String, Value>>,
) -> Result<Answer<ServiceToolView>> {
    signed_in.may_make_services()?;
    owner::refuse_change(&state, &signed_in.tenant, &scheme, &id).await?;
    let services = state.store.services();
    let service = services.get(&signed_in.tenant, &scheme, &id).await?;
    let expected = expected_version(&mut body)?.unwrap_or(service.version);
    let mut tools = service.tools.clone();
    let at = tools.iter().position(|tool| tool.id == name).ok_or_else(|| Problem::not_found("tool"))?;
    let mut tool = tools.remove(at);
    if body.shift_remove("id").is_some_and(|id| id != name.as_str()) {
        return Err(Problem::invalid_field("id", "a tool keeps its id; make a new one and delete this"));
    }
    if let Some(definition) = tool.definition.as_object_mut() {
        definition.extend(body);
    }
    let schema = schema_of(&state, &scheme);
    // A tool stands behind the address of its service, which does not change here.
    let kept = AddressChange::default().tools_with_secrets(Some(vec![tool]), &service.tools, &schema);
    tools.extend(kept.into_iter().flatten());
    let tool = check_last(&state, &signed_in, &service, tools, Findings::default()).await?;
    services.update_tool(&signed_in.tenant, &scheme, &id, tool, Some(expected)).await?;
    state.reload.catch_up().await;
    view_of(&state, &signed_in, &scheme, &id, &name).await.map(Answer)
}

/// Deletes a tool of a service; with `force` also one that others refer to.
#[utoipa::path(delete, path = "/services/{type}/{id}/tools/{tool}", tag = "services",
    params(("type" = String, Path), ("id" = String, Path), ("tool" = String, Path),
        ("force" = Option<bool>, Query)),
    responses((status = 204), (status = 404), (status = 409)))]
pub(crate) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id, tool)): ToolPath,
    Query(query): Query<ForceQuery>,
) -> Result<StatusCode> {
    signed_in.may_make_services()?;
    owner::refuse_change(&state, &signed_in.tenant, &scheme, &id).await?;
    if !query.force {
        check_tools_unreferenced(&state, &signed_in, &scheme, &id, &[&tool]).await?;
    }
    state.store.services().delete_tool(&signed_in.tenant, &scheme, &id, &tool, None).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks the service with its new tool, which stands last; paths are those of the tool's body.
async fn check_last(
    state: &Shared,
    signed_in: &SignedIn,
    service: &Service,
    mut tools: Vec<ServiceTool>,
    found: Findings,
) -> Result<ServiceTool> {
    let prefix = format!("tools[{}].", tools.len().saturating_sub(1));
    check_also(state, signed_in, &service.scheme, &service.config, &tools, found)
        .await
        .map_err(|problem| problem.without_prefix(&prefix))?;
    tools.pop().ok_or_else(|| Problem::not_found("tool"))
}
