//! `/services`: configured connections — made, changed, switched, tested.

mod changes;
pub(super) mod import;
mod listed;
mod owner;
pub(super) mod pins;
pub(super) mod references;
mod settings;
pub(super) mod test;
pub(super) mod tools;
pub(super) mod types;
mod uses;
pub(super) mod validate;
mod view;

pub(crate) use owner::owned;
pub(crate) use settings::check_id;
pub(crate) use view::{HealthView, ServiceView, configured, masked_tool, schema_of};

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use crate::manage::keys::given;
use crate::manage::secrets::{AddressChange, Visibility};
use crate::manage::users::check_name;
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use references::{check_tools_unreferenced, check_unreferenced};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Findings, check_also, read_tools};
use store::{NewService, Service, ServiceChanges, ServiceFilter, ServiceTool};
use tool::whole::whole_or_null;
use utoipa::ToSchema;

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

/// Lists the tenant's services, those of whoever runs the server at the end.
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
    let visibility = Visibility::of(&signed_in);
    let mut listed = Page::of(found, |service| ServiceView::new(&state, service, visibility));
    listed.extend(owner::matching(&state, &signed_in.tenant, &filter).await);
    listed.items = listed.items.into_iter().map(|view| view.for_caller(&signed_in.caller)).collect();
    Ok(Answer(listed))
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
    owner::refuse_hidden(state, &signed_in.tenant, &new.scheme, &new.id)?;
    let service = state.store.services().create(&signed_in.tenant, new).await?;
    state.reload.catch_up().await;
    let warnings = warnings(state, signed_in, &service);
    let mut view = ServiceView::new(state, service, Visibility::of(signed_in));
    view.warnings = warnings;
    Ok(view)
}

/// What is worth a word to whoever has saved the service.
fn warnings(state: &Shared, signed_in: &SignedIn, saved: &Service) -> Vec<String> {
    let used = uses::warnings(state, signed_in, &saved.scheme, &saved.config);
    let catalog = state.gateway.catalog().tenant(&saved.tenant);
    let opened = catalog.as_deref().and_then(|catalog| catalog.service(&saved.scheme, &saved.id));
    [used, opened.map(|service| service.notes()).unwrap_or_default()].concat()
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
    let found = state.store.services().get(&signed_in.tenant, &scheme, &id).await;
    if found.is_err()
        && let Some(service) = owner::find(&state, &signed_in.tenant, &scheme, &id).await
    {
        return Ok(Answer(service.for_caller(&signed_in.caller)));
    }
    let view = ServiceView::new(&state, found?, Visibility::of(&signed_in));
    Ok(Answer(view.for_caller(&signed_in.caller)))
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
    owner::refuse_change(&state, &signed_in.tenant, &scheme, &id).await?;
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
    let (config, tools, moving) = AddressChange::service(body.config, tools, &old, &schema);
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
    let warnings = warnings(state, signed_in, &service);
    let mut view = ServiceView::new(state, service, Visibility::of(signed_in));
    (view.dropped_secrets, view.warnings) = (moving.dropped, warnings);
    Ok(view)
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
    owner::refuse_change(&state, &signed_in.tenant, &scheme, &id).await?;
    if !query.force {
        check_unreferenced(&state, &signed_in, &scheme, &id).await?;
    }
    let services = state.store.services();
    match state.gateway.registry().find(&scheme).is_some_and(|kind| kind.has_queues) {
        true => services.delete_with_queues(&signed_in.tenant, &scheme, &id).await?,
        false => services.delete(&signed_in.tenant, &scheme, &id).await?,
    }
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
    owner::refuse_change(state, &signed_in.tenant, scheme, id).await?;
    let service = state.store.services().set_enabled(&signed_in.tenant, scheme, id, is_enabled).await?;
    state.reload.catch_up().await;
    Ok(Answer(ServiceView::new(state, service, Visibility::of(signed_in))))
}
