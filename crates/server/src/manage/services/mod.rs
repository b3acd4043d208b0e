//! `/services`: configured connections — made, changed, switched, tested.

mod changes;
pub(super) mod import;
pub(super) mod pins;
pub(super) mod references;
mod settings;
pub(super) mod tools;
pub(super) mod types;

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use crate::manage::keys::given;
use crate::manage::secrets::{Moving, Sight, masked};
use crate::manage::time;
use crate::manage::users::check_name;
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use references::{check_tools_unreferenced, check_unreferenced};
use runtime::tool_settings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use settings::{Findings, check_also, check_id, read_tools};
use std::time::Instant;
use store::{NewService, Service, ServiceChanges, ServiceFilter, ServiceTool};
use tool::Error;
use tool::whole::whole_or_null;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceView {
    #[serde(rename = "type")]
    scheme: String,
    id: String,
    name: String,
    description: Option<String>,
    /// The settings; secrets are shown as `***`.
    config: Value,
    /// The tools that users defined.
    tools: Vec<Value>,
    #[schema(value_type = words::ServiceStatus)]
    status: &'static str,
    enabled: bool,
    created_at: String,
    updated_at: String,
    version: i64,
    /// Stored secrets that this change did not keep, as the service has another address now: give them again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    dropped_secrets: Vec<String>,
}

impl ServiceView {
    fn new(state: &Shared, service: Service, sight: Sight) -> Self {
        let schema = schema_of(state, &service.scheme);
        let tools = service.tools.into_iter().map(|tool| masked_tool(tool, &schema, sight)).collect();
        Self {
            config: masked(&service.config, &schema, sight),
            tools,
            scheme: service.scheme,
            id: service.id,
            name: service.name,
            description: service.description,
            status: if service.is_enabled { "enabled" } else { "disabled" },
            enabled: service.is_enabled,
            created_at: time::show(service.created_at),
            updated_at: time::show(service.updated_at),
            version: service.version,
            dropped_secrets: Vec::new(),
        }
    }
}

/// The schema of a type's settings; a service of a type we no longer have shows no field.
pub(crate) fn schema_of(state: &Shared, scheme: &str) -> Value {
    let hidden = || json!({ "additionalProperties": { "writeOnly": true } });
    state.gateway.kind(scheme).map_or_else(|_| hidden(), |kind| kind.settings_schema().clone())
}

/// A tool's definition with its id, secrets masked.
pub(crate) fn masked_tool(tool: ServiceTool, schema: &Value, sight: Sight) -> Value {
    let settings = json!({ "tools": [tool_settings(tool.id, tool.definition)] });
    let mut settings = masked(&settings, schema, sight);
    settings["tools"][0].take()
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ServiceCreate)]
pub(crate) struct Create {
    /// A type of `/service-types`.
    #[serde(rename = "type")]
    pub(crate) scheme: String,
    /// The service's name in URIs and tool names.
    #[schema(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$")]
    pub(crate) id: String,
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    /// Settings as the type's schema says.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) config: Map<String, Value>,
    /// Tools, for types that let users define them.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub(crate) tools: Vec<Map<String, Value>>,
    /// Whether its tools may be called; they may unless this says no.
    pub(crate) enabled: Option<bool>,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ServiceUpdate)]
pub(crate) struct Update {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    pub(crate) name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    pub(crate) description: Option<Option<String>>,
    /// The settings as a whole; secrets left out or masked stay as they are, unless the address changes.
    #[schema(value_type = Option<Object>)]
    pub(crate) config: Option<Map<String, Value>>,
    /// The tools as a whole.
    #[schema(value_type = Option<Vec<Object>>)]
    pub(crate) tools: Option<Vec<Map<String, Value>>>,
    pub(crate) enabled: Option<bool>,
    /// Refuses the change if the service has another version by now.
    #[serde(default, deserialize_with = "whole_or_null")]
    pub(crate) version: Option<i64>,
    /// Tools go although others refer to them.
    #[serde(skip)]
    pub(crate) is_forced: bool,
}

#[derive(Deserialize)]
pub(crate) struct ListQuery {
    #[serde(rename = "type")]
    scheme: Option<String>,
    enabled: Option<bool>,
    q: Option<String>,
}

/// Lists the tenant's services.
#[utoipa::path(get, path = "/services", tag = "services",
    params(("type" = Option<String>, Query), ("enabled" = Option<bool>, Query), ("q" = Option<String>, Query),
        ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<ServiceView>)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<ListQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<ServiceView>>> {
    signed_in.may_read()?;
    let filter = ServiceFilter { scheme: query.scheme, is_enabled: query.enabled, text: query.q };
    let found = state.store.services().list(&signed_in.tenant, &filter, page).await?;
    let sight = Sight::of(&signed_in);
    Ok(Answer(Page::of(found, |service| ServiceView::new(&state, service, sight))))
}

/// Adds a service; its tools are callable when this answers.
#[utoipa::path(post, path = "/services", tag = "services", request_body = Create,
    responses((status = 201, body = ServiceView), (status = 409), (status = 422)))]
pub(crate) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Answer<ServiceView>)> {
    let view = add(&state, &signed_in, body).await?;
    Ok((StatusCode::CREATED, Answer(view)))
}

/// Whoever makes a service, and from whatever, does it here.
pub(crate) async fn add(state: &Shared, signed_in: &SignedIn, body: Create) -> Result<ServiceView> {
    signed_in.may_make_services()?;
    let mut found = Findings::default();
    found.note(check_service_id(&body.id));
    if let Some(name) = &body.name {
        found.note(check_name("name", name));
    }
    let name = body.name.unwrap_or_else(|| body.id.clone());
    let tools = read_tools(body.tools, &mut found);
    let config = Value::Object(body.config);
    check_also(state, signed_in, &body.scheme, &config, &tools, found).await?;
    let new = NewService {
        scheme: body.scheme,
        id: body.id,
        name,
        description: body.description,
        config,
        tools,
        is_enabled: body.enabled.unwrap_or(true),
    };
    let service = state.store.services().create(&signed_in.tenant, new).await?;
    state.reload.catch_up().await;
    Ok(ServiceView::new(state, service, Sight::of(signed_in)))
}

/// Refuses an id that no service can have.
pub(crate) fn check_service_id(id: &str) -> Result<()> {
    check_id("id", id)?;
    // `/services/{type}/import` is no service.
    if id == "import" {
        return Err(Problem::invalid_field("id", "'import' is part of an address here and can be no id"));
    }
    Ok(())
}

/// One service.
#[utoipa::path(get, path = "/services/{type}/{id}", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = ServiceView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<ServiceView>> {
    signed_in.may_read()?;
    let service = state.store.services().get(&signed_in.tenant, &scheme, &id).await?;
    Ok(Answer(ServiceView::new(&state, service, Sight::of(&signed_in))))
}

/// Changes a service; calls in flight end with the settings they began with.
///
/// Tools that others refer to only go with `force`.
#[utoipa::path(patch, path = "/services/{type}/{id}", tag = "services", request_body = Update,
    params(("type" = String, Path), ("id" = String, Path), ("force" = Option<bool>, Query)),
    responses((status = 200, body = ServiceView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
    Query(query): Query<ForceQuery>,
    Json(body): Json<Update>,
) -> Result<Answer<ServiceView>> {
    signed_in.may_make_services()?;
    let old = state.store.services().get(&signed_in.tenant, &scheme, &id).await?;
    change(&state, &signed_in, old, Update { is_forced: query.force, ..body }).await.map(Answer)
}

/// Whoever changes a service does it here.
pub(crate) async fn change(
    state: &Shared,
    signed_in: &SignedIn,
    old: Service,
    body: Update,
) -> Result<ServiceView> {
    signed_in.may_make_services()?;
    let (scheme, id) = (old.scheme.as_str(), old.id.as_str());
    let mut found = Findings::default();
    if let Some(name) = &body.name {
        found.note(check_name("name", name));
    }
    let schema = schema_of(state, scheme);
    let tools = body.tools.map(|tools| read_tools(tools, &mut found));
    let (config, tools, moving) = Moving::service(body.config, tools, &old, &schema);
    if config.is_some() || tools.is_some() {
        let (config, tools) = (config.as_ref().unwrap_or(&old.config), tools.as_ref().unwrap_or(&old.tools));
        let checked = check_also(state, signed_in, scheme, config, tools, found).await;
        checked.map_err(|problem| moving.explain(problem))?;
    } else {
        found.refuse()?;
    }
    if let Some(tools) = tools.as_deref().filter(|_| !body.is_forced) {
        let goes = |tool: &&ServiceTool| tools.iter().all(|kept| kept.id != tool.id);
        let gone: Vec<_> = old.tools.iter().filter(goes).map(|tool| tool.id.as_str()).collect();
        check_tools_unreferenced(state, signed_in, scheme, id, &gone).await?;
    }
    let changes = ServiceChanges {
        name: body.name,
        description: body.description,
        config,
        tools,
        is_enabled: body.enabled,
    };
    // Secrets were taken over from the version that was read, so only that one may be replaced.
    let expected = Some(body.version.unwrap_or(old.version));
    let service = state.store.services().update(&signed_in.tenant, scheme, id, changes, expected).await?;
    state.reload.catch_up().await;
    let view = ServiceView::new(state, service, Sight::of(signed_in));
    Ok(ServiceView { dropped_secrets: moving.dropped, ..view })
}

#[derive(Deserialize)]
pub(crate) struct ForceQuery {
    #[serde(default)]
    pub(crate) force: bool,
}

/// Deletes a service; with `force` also one that others refer to.
#[utoipa::path(delete, path = "/services/{type}/{id}", tag = "services",
    params(("type" = String, Path), ("id" = String, Path), ("force" = Option<bool>, Query)),
    responses((status = 204), (status = 404), (status = 409)))]
pub(crate) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
    Query(query): Query<ForceQuery>,
) -> Result<StatusCode> {
    signed_in.may_make_services()?;
    if !query.force {
        check_unreferenced(&state, &signed_in, &scheme, &id).await?;
    }
    state.store.services().delete(&signed_in.tenant, &scheme, &id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Switches a service on.
#[utoipa::path(post, path = "/services/{type}/{id}/enable", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = ServiceView), (status = 404)))]
pub(crate) async fn enable(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<ServiceView>> {
    switch(&state, &signed_in, &scheme, &id, true).await
}

/// Switches a service off: its tools answer SERVICE_DISABLED.
#[utoipa::path(post, path = "/services/{type}/{id}/disable", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = ServiceView), (status = 404)))]
pub(crate) async fn disable(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<ServiceView>> {
    switch(&state, &signed_in, &scheme, &id, false).await
}

async fn switch(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
    is_enabled: bool,
) -> Result<Answer<ServiceView>> {
    signed_in.may_make_services()?;
    let service = state.store.services().set_enabled(&signed_in.tenant, scheme, id, is_enabled).await?;
    state.reload.catch_up().await;
    Ok(Answer(ServiceView::new(state, service, Sight::of(signed_in))))
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TestResult {
    ok: bool,
    duration_ms: u64,
    /// Why not.
    error: Option<TestError>,
    /// What somebody should look at: tools that have changed, or that hide something.
    warnings: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TestError {
    code: Code,
    message: String,
}

/// Asks a service whether it can be reached.
#[utoipa::path(post, path = "/services/{type}/{id}/test", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = TestResult), (status = 404)))]
pub(crate) async fn test(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<TestResult>> {
    signed_in.may_manage()?;
    state.store.services().get(&signed_in.tenant, &scheme, &id).await?;
    let begun = Instant::now();
    let result = state.gateway.health(&signed_in.tenant, &scheme, &id).await;
    let error = result
        .err()
        .map(|error: Error| TestError { code: error.kind().into(), message: error.full_message() });
    let duration_ms = begun.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    let catalog = state.gateway.catalog().tenant(&signed_in.tenant);
    let tested = catalog.as_deref().and_then(|catalog| catalog.service(&scheme, &id));
    let warnings = tested.map(|service| service.report().warnings()).unwrap_or_default();
    Ok(Answer(TestResult { ok: error.is_none(), duration_ms, error, warnings }))
}
