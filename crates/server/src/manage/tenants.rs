//! `/tenants`: the walls. Only those who manage the platform see more than their own.

use super::keys::given;
use super::time;
use super::users::check_name;
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Json, Page, Paging, Path};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{NewTenant, Status, Tenant, TenantChanges};
use tool::whole::whole_or_null;
use tool::{Limits, Role, TenantId, ToolSearch};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(super) struct TenantView {
    id: String,
    name: String,
    #[schema(value_type = words::Status)]
    status: Status,
    #[schema(value_type = LimitsView)]
    limits: Limits,
    /// Whether services and tools of the tenant may call private addresses where they say `allow_private_network`
    /// themselves; `null`: as long as there is no other tenant.
    allow_private_network: Option<bool>,
    /// What the tenant's tables with their older versions may take.
    table_quota_bytes: i64,
    /// How the tenant's MCP door tells of its tools; `null`: as `serve --tool-search` says.
    #[schema(value_type = Option<ToolSearchView>)]
    tool_search: Option<ToolSearch>,
    created_at: String,
    updated_at: String,
    version: i64,
}

/// How much may be used; a limit left out is no limit.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "documents tool::Limits, which knows nothing of OpenAPI")]
pub(super) struct LimitsView {
    /// Calls begun within a minute.
    #[schema(minimum = 1)]
    calls_per_minute: Option<u32>,
    /// Calls under way at the same time.
    #[schema(minimum = 1)]
    concurrent_calls: Option<u32>,
}

/// How a door tells of its tools.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "documents tool::ToolSearch, which knows nothing of OpenAPI")]
pub(super) struct ToolSearchView {
    /// `off`: all tools are listed; `on`: `find_tools`, `call_tool` and the pinned ones; `auto`: the same for callers
    /// whose list has more than 40 tools or 40,000 characters.
    mode: SearchModeView,
    /// Tools that are listed all the same, by name; `*` stands for any run of characters.
    #[serde(default)]
    #[schema(max_items = 100)]
    pinned: Vec<String>,
}

/// When tools are found instead of listed.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SearchModeView {
    Off,
    On,
    Auto,
}

pub(super) fn check_tool_search(search: Option<&ToolSearch>) -> Result<()> {
    let checked = search.map_or(Ok(()), ToolSearch::check);
    checked.map_err(|error| Problem::invalid_field("tool_search", error.message()))
}

impl From<Tenant> for TenantView {
    fn from(tenant: Tenant) -> Self {
        Self {
            id: tenant.id.into(),
            name: tenant.name,
            status: tenant.status,
            limits: tenant.limits,
            allow_private_network: tenant.allow_private_network,
            table_quota_bytes: tenant.table_quota_bytes,
            tool_search: tenant.tool_search,
            created_at: time::show(tenant.created_at),
            updated_at: time::show(tenant.updated_at),
            version: tenant.version,
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TenantCreate)]
pub(super) struct Create {
    #[schema(value_type = String, example = "acme", pattern = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$")]
    id: TenantId,
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: Option<String>,
    #[serde(default)]
    #[schema(value_type = LimitsView)]
    limits: Limits,
    /// Lets services and tools of the tenant call private addresses where they say `allow_private_network` themselves.
    /// Unless given, only while there is no other tenant.
    allow_private_network: Option<bool>,
    /// What the tenant's tables with their older versions may take; 1 GB unless given.
    #[schema(minimum = 0)]
    table_quota_bytes: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TenantUpdate)]
pub(super) struct Update {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: Option<String>,
    #[schema(value_type = Option<words::Status>)]
    status: Option<Status>,
    #[schema(value_type = Option<LimitsView>)]
    limits: Option<Limits>,
    /// Lets services and tools of the tenant call private addresses where they say `allow_private_network` themselves;
    /// `null`: only while there is no other tenant.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    allow_private_network: Option<Option<bool>>,
    /// What the tenant's tables with their older versions may take; `null` is 1 GB.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 0)]
    table_quota_bytes: Option<Option<i64>>,
    /// How the tenant's MCP door tells of its tools; `null`: as `serve --tool-search` says.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<ToolSearchView>)]
    tool_search: Option<Option<ToolSearch>>,
    /// Refuses the change if the tenant has another version by now.
    #[serde(default, deserialize_with = "whole_or_null")]
    version: Option<i64>,
}

/// Lists tenants: all of them for an admin, one's own for everyone else.
#[utoipa::path(get, path = "/tenants", tag = "tenants", params(("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<TenantView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Answer<Page<TenantView>>> {
    signed_in.may_read()?;
    let found = if signed_in.caller.role == Role::Admin {
        state.store.tenants().list(page).await?
    } else {
        let own = state.store.tenants().get(&signed_in.tenant).await?;
        store::Page { items: vec![own], page: page.page, limit: page.limit, total: 1 }
    };
    Ok(Answer(Page::of(found, TenantView::from)))
}

/// Adds a tenant.
#[utoipa::path(post, path = "/tenants", tag = "tenants", request_body = Create,
    responses((status = 201, body = TenantView), (status = 409)))]
pub(super) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Answer<TenantView>)> {
    signed_in.may_administer()?;
    let name = body.name.unwrap_or_else(|| body.id.to_string());
    check_name("name", &name)?;
    check_quota(body.table_quota_bytes)?;
    check_limits(Some(&body.limits))?;
    let new = NewTenant {
        id: body.id,
        name,
        limits: body.limits,
        allow_private_network: body.allow_private_network,
        table_quota_bytes: body.table_quota_bytes,
    };
    let tenant = state.store.tenants().create(new).await?;
    state.reload.catch_up().await;
    Ok((StatusCode::CREATED, Answer(tenant.into())))
}

/// One tenant.
#[utoipa::path(get, path = "/tenants/{id}", tag = "tenants", params(("id" = String, Path)),
    responses((status = 200, body = TenantView), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TenantId>,
) -> Result<Answer<TenantView>> {
    signed_in.may_read()?;
    let id = signed_in.tenant_or(Some(id))?;
    Ok(Answer(state.store.tenants().get(&id).await?.into()))
}

/// Changes a tenant's name, status, limits, how its tools are told of, or whether it may use the private network.
#[utoipa::path(patch, path = "/tenants/{id}", tag = "tenants", params(("id" = String, Path)), request_body = Update,
    responses((status = 200, body = TenantView), (status = 404), (status = 409)))]
pub(super) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TenantId>,
    Json(body): Json<Update>,
) -> Result<Answer<TenantView>> {
    let id = signed_in.tenant_or(Some(id))?;
    signed_in.may_administer()?;
    if body.status == Some(Status::Disabled) {
        refuse_for_default(&id, "disabled")?;
    }
    body.name.as_deref().map_or(Ok(()), |name| check_name("name", name))?;
    check_quota(body.table_quota_bytes.flatten())?;
    check_limits(body.limits.as_ref())?;
    check_tool_search(body.tool_search.as_ref().and_then(Option::as_ref))?;
    let changes = TenantChanges {
        name: body.name,
        status: body.status,
        limits: body.limits,
        allow_private_network: body.allow_private_network,
        table_quota_bytes: body.table_quota_bytes,
        tool_search: body.tool_search,
    };
    let tenant = state.store.tenants().update(&id, changes, body.version).await?;
    state.reload.catch_up().await;
    Ok(Answer(tenant.into()))
}

/// Deletes a tenant with everything in it.
#[utoipa::path(delete, path = "/tenants/{id}", tag = "tenants", params(("id" = String, Path)),
    responses((status = 204), (status = 404), (status = 409)))]
pub(super) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TenantId>,
) -> Result<StatusCode> {
    let id = signed_in.tenant_or(Some(id))?;
    signed_in.may_administer()?;
    refuse_for_default(&id, "deleted")?;
    state.store.tenants().delete(&id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

fn check_quota(bytes: Option<i64>) -> Result<()> {
    if bytes.is_some_and(|bytes| bytes < 0) {
        let message = "'table_quota_bytes' is a number of bytes from 0, or null for the usual";
        return Err(Problem::invalid_field("table_quota_bytes", message));
    }
    Ok(())
}

/// A limit of 0 would look like one and be none, or end all calls; for that there is the status.
pub(super) fn check_limits(limits: Option<&Limits>) -> Result<()> {
    let limits = limits.copied().unwrap_or_default();
    for (name, limit) in
        [("calls_per_minute", limits.calls_per_minute), ("concurrent_calls", limits.concurrent_calls)]
    {
        if limit == Some(0) {
            let field = format!("limits.{name}");
            let message = format!("'{field}' must be at least 1; leave it out for no limit");
            return Err(Problem::invalid_field(&field, message));
        }
    }
    Ok(())
}

/// The admins live there.
fn refuse_for_default(id: &TenantId, what: &str) -> Result<()> {
    if *id == TenantId::default_tenant() {
        return Err(Problem::new(Code::Conflict, format!("the tenant 'default' cannot be {what}")));
    }
    Ok(())
}
