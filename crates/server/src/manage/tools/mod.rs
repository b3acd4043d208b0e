//! `/tools`: what a tenant calls by names of its own — HTTP requests, and services' tools under another name.

pub(crate) mod by_table;
mod draft;
pub(super) mod find;
pub(super) mod search_index;
pub(super) mod trial;
pub(super) mod versions;

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use crate::manage::openapi::bodies::ToolChange;
use crate::manage::secrets::Visibility;
use crate::manage::time;
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use draft::{Draft, changed, check, check_flow, check_free, check_table, shown};
use http::StatusCode;
use runtime::tool_definition::table_of;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{NewTool, Tool, ToolChanges, ToolFilter, ToolStatus};
use tool::ToolId;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct ToolView {
    pub(crate) id: String,
    name: String,
    alias: Option<String>,
    /// `http`, `uri`, or what the tool does with a table, e.g. `query_data`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    description: Option<String>,
    /// `testing`, `active` or `inactive`; only active tools are listed and called.
    #[schema(value_type = words::ToolStatus)]
    status: ToolStatus,
    /// The id of the key or user that made it.
    owner: String,
    /// For allow-lists and `/call`.
    address: String,
    created_at: String,
    updated_at: String,
    version: i64,
    /// Stored secrets that this change did not keep, as the tool has another address now: give them again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    dropped_secrets: Vec<String>,
    /// What its type needs: `config`, or `uri`, `arguments` and the like. Secrets are shown as `***`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub(crate) definition: Map<String, Value>,
}

impl ToolView {
    pub(crate) fn new(state: &Shared, tool: Tool, visibility: Visibility) -> Self {
        Self {
            definition: shown(state, &tool.kind, &tool.definition, visibility),
            address: gateway::tools::address_of(&tool.name).to_string(),
            id: tool.id.into(),
            name: tool.name,
            alias: tool.alias,
            kind: tool.kind,
            description: tool.description,
            status: tool.status,
            owner: tool.owner,
            created_at: time::show(tool.created_at),
            updated_at: time::show(tool.updated_at),
            version: tool.version,
            dropped_secrets: Vec::new(),
        }
    }

    /// One tool with how far its index is, where it has one.
    async fn whole(state: &Shared, tool: Tool, visibility: Visibility) -> Result<Self> {
        let tenant = tool.tenant.clone();
        let mut view = Self::new(state, tool, visibility);
        search_index::mirror(state, &tenant, std::slice::from_mut(&mut view)).await?;
        Ok(view)
    }

    pub(crate) fn tool_id(&self) -> Result<ToolId> {
        self.id.parse().map_err(|_| Problem::not_found("tool"))
    }
}

/// What makes a tool. Which fields it has depends on its type.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what is checked by schema")]
pub(crate) struct ToolCreate {
    /// What it is called by: 1 to 64 letters, digits, `_`, `.` or `-`.
    #[schema(pattern = r"^[A-Za-z0-9_.-]{1,64}$")]
    name: String,
    /// `http` for a request of its own, `uri` for a service's tool, or an operation on a table:
    /// `get_data_schema`, `get_all_data`, `query_data`, `create`, `update`, `delete`, `preview`, `select`, `search`.
    #[schema(rename = "type")]
    kind: String,
    alias: Option<String>,
    description: Option<String>,
    /// `active` unless given, `testing` or `inactive`.
    #[schema(value_type = Option<words::ToolStatus>)]
    status: Option<String>,
    /// For `http`: `{"HTTP": {"endpoint", "method", "headers", "parameters", "timeout_seconds", "retry_count", "response_template"}}`.
    #[schema(value_type = Option<Object>)]
    config: Option<Value>,
    /// For `uri`: where the call goes, e.g. `api://crm-service/customer_list?timeout=5000`.
    uri: Option<String>,
    /// For `uri`: arguments that are always the same; callers do not see them.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Value>,
    /// For `uri`: parameters that callers do not see.
    hidden: Option<Vec<String>>,
    /// For `uri`: from a parameter's new name to the service's.
    #[schema(value_type = Option<Object>)]
    rename: Option<Value>,
    /// For `uri`: a Go template that turns the answer into text.
    response_template: Option<String>,
    /// For `uri`: a JMESPath expression that picks what matters from the answer.
    select: Option<String>,
    /// For `uri`: the most bytes of the shaped answer.
    max_result_bytes: Option<usize>,
    /// For `uri` and tables: the schema of the arguments, where the usual one is not right.
    #[schema(value_type = Option<Object>)]
    input_schema: Option<Value>,
    /// For tables: the schema of the answer.
    #[schema(value_type = Option<Object>)]
    output_schema: Option<Value>,
    /// For tables: which one.
    table_id: Option<String>,
    /// For tables: which part of it, a JSON Pointer (RFC 6901); empty is all of it.
    json_path: Option<String>,
    /// Whatever you want to keep with it. For `preview`, `preview_keys` names the fields to show.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
}

#[derive(Deserialize)]
pub(crate) struct ListQuery {
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<ToolStatus>,
    q: Option<String>,
}

/// Lists the tenant's tools; those who only call see their own.
#[utoipa::path(get, path = "/tools", tag = "tools",
    params(("type" = Option<String>, Query), ("status" = inline(Option<words::ToolStatus>), Query), ("q" = Option<String>, Query),
        ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<ToolView>)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<ListQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<ToolView>>> {
    signed_in.may_read()?;
    let owner = signed_in.only_own();
    let filter = ToolFilter { kind: query.kind, status: query.status, owner, text: query.q };
    let found = state.store.tools().list(&signed_in.tenant, &filter, page).await?;
    let visibility = Visibility::of(&signed_in);
    let mut page = Page::of(found, |tool| ToolView::new(&state, tool, visibility));
    search_index::mirror(&state, &signed_in.tenant, &mut page.items).await?;
    Ok(Answer(page))
}

/// Makes a tool; it is callable when this answers.
#[utoipa::path(post, path = "/tools", tag = "tools", request_body = ToolCreate,
    responses((status = 201, body = ToolView), (status = 409), (status = 422)))]
pub(crate) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Map<String, Value>>,
) -> Result<(StatusCode, Answer<ToolView>)> {
    create_from(&state, &signed_in, body).await
}

pub(crate) async fn create_from(
    state: &Shared,
    signed_in: &SignedIn,
    body: Map<String, Value>,
) -> Result<(StatusCode, Answer<ToolView>)> {
    signed_in.may_make_tools()?;
    let draft = check(state, signed_in, body).await?.accepted()?;
    check_free(state, signed_in, &draft)?;
    check_flow(signed_in, &draft)?;
    check_table(state, signed_in, &draft).await?;
    let new = NewTool {
        name: draft.name,
        alias: draft.alias,
        kind: draft.kind,
        description: draft.description,
        status: draft.status,
        owner: signed_in.caller.identity.id().to_owned(),
        definition: draft.definition,
    };
    let tool = state.store.tools().create(&signed_in.tenant, new).await?;
    state.reload.catch_up().await;
    let mut made = ToolView::whole(state, tool, Visibility::of(signed_in)).await?;
    search_index::mirror_new(&mut made);
    Ok((StatusCode::CREATED, Answer(made)))
}

/// One tool.
#[utoipa::path(get, path = "/tools/{id}", tag = "tools", params(("id" = String, Path)),
    responses((status = 200, body = ToolView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<ToolId>,
) -> Result<Answer<ToolView>> {
    signed_in.may_read()?;
    let tool = find(&state, &signed_in, &id).await?;
    Ok(Answer(ToolView::whole(&state, tool, Visibility::of(&signed_in)).await?))
}

/// Changes the fields of a tool that are given; `null` takes a field away.
#[utoipa::path(patch, path = "/tools/{id}", tag = "tools", params(("id" = String, Path)),
    request_body = ToolChange,
    responses((status = 200, body = ToolView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn update(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<ToolId>,
    Json(mut body): Json<Map<String, Value>>,
) -> Result<Answer<ToolView>> {
    signed_in.may_make_tools()?;
    let old = find(&state, &signed_in, &id).await?;
    let expected = expected_version(&mut body)?.unwrap_or(old.version);
    if body.get("type").is_some_and(|kind| *kind != old.kind.as_str()) {
        return Err(Problem::invalid_field("type", "a tool keeps its type; make a new one and delete this"));
    }
    let (body, moving) = changed(&state, &old, body);
    let draft =
        check(&state, &signed_in, body).await?.accepted().map_err(|problem| moving.explain(problem))?;
    let Answer(view) = save(&state, &signed_in, &old, draft, expected).await?;
    Ok(Answer(ToolView { dropped_secrets: moving.dropped, ..view }))
}

/// The version that a change is made over, taken out of what is to change.
pub(super) fn expected_version(body: &mut Map<String, Value>) -> Result<Option<i64>> {
    match body.shift_remove("version") {
        None | Some(Value::Null) => Ok(None),
        Some(version) => match version.as_i64() {
            Some(version) => Ok(Some(version)),
            None => Err(Problem::invalid_field("version", "'version' must be a whole number")),
        },
    }
}

/// Stores a checked change of a tool and puts it in force. Secrets were taken over from the
/// version that was read, so only the expected one may be replaced.
pub(crate) async fn save(
    state: &Shared,
    signed_in: &SignedIn,
    old: &Tool,
    draft: Draft,
    expected_version: i64,
) -> Result<Answer<ToolView>> {
    if draft.name != old.name {
        check_free(state, signed_in, &draft)?;
    }
    if table_of(&draft.definition) != table_of(&old.definition) {
        check_table(state, signed_in, &draft).await?;
    }
    if draft.definition.get("uri") != old.definition.get("uri") {
        check_flow(signed_in, &draft)?;
    }
    let changes = ToolChanges {
        name: Some(draft.name),
        alias: Some(draft.alias),
        description: Some(draft.description),
        status: Some(draft.status),
        definition: Some(draft.definition),
    };
    let by = signed_in.caller.identity.id();
    let tools = state.store.tools();
    let tool = tools.update(&signed_in.tenant, &old.id, changes, by, Some(expected_version)).await?;
    state.reload.catch_up().await;
    Ok(Answer(ToolView::whole(state, tool, Visibility::of(signed_in)).await?))
}

/// Deletes a tool with its versions.
#[utoipa::path(delete, path = "/tools/{id}", tag = "tools", params(("id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub(crate) async fn delete(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<ToolId>,
) -> Result<StatusCode> {
    signed_in.may_make_tools()?;
    find(&state, &signed_in, &id).await?;
    state.store.tools().delete(&signed_in.tenant, &id).await?;
    state.reload.catch_up().await;
    Ok(StatusCode::NO_CONTENT)
}

/// The tool, if it is there for this caller.
pub(crate) async fn find(state: &Shared, signed_in: &SignedIn, id: &ToolId) -> Result<Tool> {
    let tool = state.store.tools().get(&signed_in.tenant, id).await?;
    if sees(signed_in, &tool) { Ok(tool) } else { Err(Problem::not_found("tool")) }
}

/// The tool is there for this caller.
pub(crate) fn sees(signed_in: &SignedIn, tool: &Tool) -> bool {
    signed_in.only_own().is_none_or(|own| tool.owner == own)
}
