//! `/catalog`: all that can be called and all services, in a line each, for those who choose among them.

use super::services::{HealthView, configured, owned};
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use gateway::catalog::overview::Entry;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use tool::{Context, Door};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = Catalog)]
pub(super) struct CatalogView {
    /// The last change that it shows.
    revision: i64,
    /// What the caller may call; for those who look after the tenant also what cannot be called now. By name.
    tools: Vec<CatalogTool>,
    /// By type and id.
    services: Vec<CatalogService>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct CatalogTool {
    name: String,
    /// For `/call`.
    uri: String,
    /// The type of its service, `flow` for a flow, or `tool` for a Tool of the tenant's own.
    kind: String,
    /// The id of the service that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[schema(value_type = words::CatalogStatus)]
    status: &'static str,
    /// The first line of its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// The id of a Tool of the tenant's own, for `/tools/{id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct CatalogService {
    #[serde(rename = "type")]
    scheme: String,
    id: String,
    name: String,
    health: HealthView,
    #[schema(value_type = words::ServiceSource)]
    source: &'static str,
    /// How many tools it offers.
    tools: usize,
}

/// All tools and services in a line each. Whoever sends the `ETag` back is told with 304 that nothing has changed.
#[utoipa::path(get, path = "/catalog", tag = "catalog",
    params(("If-None-Match" = Option<String>, Header, description = "The `ETag` of what is known already")),
    responses((status = 200, body = CatalogView), (status = 304, description = "Nothing has changed")))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    headers: HeaderMap,
) -> Result<Response> {
    signed_in.may_read()?;
    let making = tokio::task::spawn_blocking(move || make(&state, signed_in));
    let text = making.await.map_err(|_| Problem::internal("the catalog could not be made"))?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    // Weak, as the answer may be compressed on its way.
    let etag = format!("W/\"{:016x}\"", hasher.finish());
    let head = [(ETAG, etag.clone()), (CACHE_CONTROL, "private, no-cache".to_owned())];
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    if known.flat_map(|value| value.split(',')).any(|known| known.trim() == etag) {
        return Ok((StatusCode::NOT_MODIFIED, head).into_response());
    }
    Ok((head, [(CONTENT_TYPE, "application/json")], text).into_response())
}

/// What `signed_in` is told of tools, made beside the workers: ten thousand tools take their time.
pub(super) async fn tools(state: &Shared, signed_in: &SignedIn) -> Result<Vec<Entry>> {
    let (state, signed_in) = (state.clone(), signed_in.clone());
    let making = tokio::task::spawn_blocking(move || tools_now(&state, signed_in));
    making.await.map_err(|_| Problem::internal("the tools could not be listed"))
}

fn tools_now(state: &Shared, signed_in: SignedIn) -> Vec<Entry> {
    let SignedIn { tenant, caller, .. } = signed_in;
    state.gateway.overview(&Context::new(tenant, caller, Door::Rest, state.options.call_timeout))
}

fn make(state: &Shared, signed_in: SignedIn) -> String {
    let revision = state.reload.revision();
    let own = owned(state, &signed_in.tenant);
    let catalog = state.gateway.catalog().tenant(&signed_in.tenant).unwrap_or_default();
    let services = configured(&catalog).map(|service| CatalogService {
        health: HealthView::of_service(service),
        source: own.source_of(&service.scheme, &service.id),
        tools: catalog.routes_of(&service.scheme, &service.id).count(),
        scheme: service.scheme.clone(),
        id: service.id.clone(),
        name: service.name.clone(),
    });
    let services = services.collect();
    let tools = tools_now(state, signed_in).into_iter().map(CatalogTool::from).collect();
    serde_json::to_string(&CatalogView { revision, tools, services }).unwrap_or_default()
}

impl From<Entry> for CatalogTool {
    fn from(entry: Entry) -> Self {
        Self {
            name: entry.name,
            uri: entry.uri,
            kind: entry.kind,
            service: entry.service,
            status: entry.status.as_str(),
            summary: entry.summary,
            id: entry.tool.map(String::from),
        }
    }
}
