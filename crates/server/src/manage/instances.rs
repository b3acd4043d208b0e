//! `/mcp`: MCP instances, doors of their own with a key of their own.

use super::keys::given;
use super::tenants::{ToolSearchView, check_tool_search};
use super::time;
use super::users::check_name;
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{Instance, InstanceChanges, NewInstance, Status};
use tool::{InstanceId, Secret, ToolSearch};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(super) struct InstanceView {
    id: String,
    name: String,
    description: Option<String>,
    /// `active` or `disabled`; the door of a disabled one is not there.
    #[schema(value_type = words::Status)]
    status: Status,
    /// The id of the key or user that made it.
    owner: String,
    /// The first characters of its key, to recognise it by.
    prefix: String,
    /// How its door tells of its tools; `null`: all of them.
    #[schema(value_type = Option<ToolSearchView>)]
    tool_search: Option<ToolSearch>,
    created_at: String,
    updated_at: String,
    version: i64,
}

#[derive(Serialize, ToSchema)]
pub(super) struct NewInstanceView {
    /// The key itself: the door is at `/mcp/{api_key}`. It is shown this once.
    api_key: String,
    #[serde(flatten)]
    view: InstanceView,
}

impl From<Instance> for InstanceView {
    fn from(instance: Instance) -> Self {
        Self {
            id: instance.id.into(),
            name: instance.name,
            description: instance.description,
            status: instance.status,
            owner: instance.owner,
            prefix: instance.prefix,
            tool_search: instance.tool_search,
            created_at: time::show(instance.created_at),
            updated_at: time::show(instance.updated_at),
            version: instance.version,
        }
    }
}

impl NewInstanceView {
    fn new(instance: Instance, key: &Secret) -> Self {
        Self { api_key: key.expose().to_owned(), view: instance.into() }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InstanceCreate)]
pub(super) struct Create {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: String,
    description: Option<String>,
    /// How its door tells of its tools; all of them unless given.
    #[schema(value_type = Option<ToolSearchView>)]
    tool_search: Option<ToolSearch>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = InstanceUpdate)]
pub(super) struct Update {
    #[schema(min_length = 1, max_length = 128, pattern = r"^[^\x00-\x1F\x7F-\x9F]*$")]
    name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    description: Option<Option<String>>,
    /// `active` or `disabled`.
    #[schema(value_type = Option<words::Status>)]
    status: Option<Status>,
    /// How its door tells of its tools; `null`: all of them.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<ToolSearchView>)]
    tool_search: Option<Option<ToolSearch>>,
    /// Refuses the change if the instance has another version by now.
    version: Option<i64>,
}

/// Lists the tenant's MCP instances; those who only call see their own.
#[utoipa::path(get, path = "/mcp", tag = "mcp instances",
    params(("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<InstanceView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Answer<Page<InstanceView>>> {
    signed_in.may_read()?;
    let owner = signed_in.only_own();
    let found = state.store.instances().list(&signed_in.tenant, owner.as_deref(), page).await?;
    Ok(Answer(Page::of(found, InstanceView::from)))
}

/// Makes an MCP instance and shows its key, this once.
#[utoipa::path(post, path = "/mcp", tag = "mcp instances", request_body = Create,
    responses((status = 201, body = NewInstanceView), (status = 422)))]
pub(super) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Create>,
) -> Result<(StatusCode, Answer<NewInstanceView>)> {
    signed_in.may_make_instances()?;
    check_name("name", &body.name)?;
    let owner = signed_in.caller.identity.id().to_owned();
    check_tool_search(body.tool_search.as_ref())?;
    let Create { name, description, tool_search } = body;
    let new = NewInstance { name, description, owner, tool_search };
    let (instance, key) = state.store.instances().create(&signed_in.tenant, new).await?;
    state.reload.catch_up().await;
    Ok((StatusCode::CREATED, Answer(NewInstanceView::new(instance, &key))))
}

/// One MCP instance, without its key.
#[utoipa::path(get, path = "/mcp/id/{mcp_id}", tag = "mcp instances", params(("mcp_id" = String, Path)),
    responses((status = 200, body = InstanceView), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<InstanceId>,
) -> Result<Answer<InstanceView>> {
    signed_in.may_read()?;
    Ok(Answer(find(&state, &signed_in, &id).await?.into()))
}

/// Changes name, description, status, or how tools are told of.
#[utoipa::path(patch, path = "/mcp/id/{mcp_id}", tag = "mcp instances", params(("mcp_id" = String, Path)),
    request_body = Update, responses((status = 200, body = InstanceView), (status = 404), (status = 409)))]
pub(super) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<InstanceId>,
    Json(body): Json<Update>,
) -> Result<Answer<InstanceView>> {
    find_to_change(&state, &signed_in, &id).await?;
    if let Some(name) = &body.name {
        check_name("name", name)?;
    }
    check_tool_search(body.tool_search.as_ref().and_then(Option::as_ref))?;
    let Update { name, description, status, tool_search, version } = body;
    let changes = InstanceChanges { name, description, status, tool_search };
    let instance = state.store.instances().update(&signed_in.tenant, &id, changes, version).await?;
    state.reload.catch_up().await;
    Ok(Answer(instance.into()))
}

/// Deletes an MCP instance with its bindings; its door is gone at once.
#[utoipa::path(delete, path = "/mcp/id/{mcp_id}", tag = "mcp instances", params(("mcp_id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub(super) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<InstanceId>,
) -> Result<StatusCode> {
    find_to_change(&state, &signed_in, &id).await?;
    state.store.instances().delete(&signed_in.tenant, &id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives an MCP instance another key and shows it, this once; the old one stops working.
#[utoipa::path(post, path = "/mcp/id/{mcp_id}/rotate-key", tag = "mcp instances", params(("mcp_id" = String, Path)),
    responses((status = 200, body = NewInstanceView), (status = 404)))]
pub(super) async fn rotate_key(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<InstanceId>,
) -> Result<Answer<NewInstanceView>> {
    find_to_change(&state, &signed_in, &id).await?;
    let (instance, key) = state.store.instances().rotate_key(&signed_in.tenant, &id).await?;
    state.reload.catch_up().await;
    Ok(Answer(NewInstanceView::new(instance, &key)))
}

/// The instance, if it is there for this caller.
pub(super) async fn find(state: &Shared, signed_in: &SignedIn, id: &InstanceId) -> Result<Instance> {
    let instance = state.store.instances().get(&signed_in.tenant, id).await?;
    if signed_in.only_own().is_some_and(|own| instance.owner != own) {
        return Err(Problem::not_found("MCP instance"));
    }
    Ok(instance)
}

/// The instance, if this caller may change it.
pub(super) async fn find_to_change(state: &Shared, signed_in: &SignedIn, id: &InstanceId) -> Result<()> {
    signed_in.may_make_instances()?;
    signed_in.may_change_instance(&find(state, signed_in, id).await?)
}
