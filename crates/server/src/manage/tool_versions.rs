//! `/tools/{id}/versions`: what a tool was, and the way back.

use super::error::Result;
use super::json::{Json, Paging, Path};
use super::time;
use super::tool_draft::{body_from, check, shown};
use super::tools::{ToolView, find, save};
use crate::Shared;
use crate::auth::SignedIn;
use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{Tool, ToolStatus, ToolVersion};
use tool::ToolId;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(super) struct VersionView {
    version: i64,
    /// The id of the key or user that made it.
    changed_by: String,
    at: String,
    name: String,
    alias: Option<String>,
    description: Option<String>,
    /// `testing`, `active` or `inactive`; versions of older releases do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "active")]
    status: Option<ToolStatus>,
    /// What the type needs; secrets are shown as `***`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    definition: Map<String, Value>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct VersionPage {
    items: Vec<VersionView>,
    page: u32,
    limit: u32,
    total: i64,
}

impl VersionView {
    fn new(state: &Shared, kind: &str, version: ToolVersion) -> Self {
        Self {
            definition: shown(state, kind, &version.content.definition),
            version: version.version,
            changed_by: version.changed_by,
            at: time::show(version.at),
            name: version.content.name,
            alias: version.content.alias,
            description: version.content.description,
            status: version.content.status,
        }
    }
}

/// Lists what a tool was, newest first; the present version is the first.
#[utoipa::path(get, path = "/tools/{id}/versions", tag = "tools",
    params(("id" = String, Path), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = VersionPage), (status = 404)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<ToolId>,
    Paging(page): Paging,
) -> Result<Answer<VersionPage>> {
    signed_in.may_read()?;
    let tool = find(&state, &signed_in, &id).await?;
    let found = state.store.tools().versions(&signed_in.tenant, &id, page).await?;
    let items = found.items.into_iter().map(|one| VersionView::new(&state, &tool.kind, one)).collect();
    Ok(Answer(VersionPage { items, page: found.page, limit: found.limit, total: found.total }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rollback {
    /// Which version to go back to.
    version: i64,
}

/// Makes a tool what it was, as a new version. Whether it is active stays as it is.
#[utoipa::path(post, path = "/tools/{id}/rollback", tag = "tools", request_body = Rollback,
    params(("id" = String, Path)),
    responses((status = 200, body = ToolView), (status = 404), (status = 409), (status = 422)))]
pub(super) async fn rollback(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<ToolId>,
    Json(body): Json<Rollback>,
) -> Result<Answer<ToolView>> {
    signed_in.may_make_tools()?;
    let old = find(&state, &signed_in, &id).await?;
    let content = state.store.tools().version(&signed_in.tenant, &id, body.version).await?.content;
    let wanted = Tool {
        name: content.name,
        alias: content.alias,
        description: content.description,
        definition: content.definition,
        ..old.clone()
    };
    // What was right then may not be now.
    let draft = check(&state, &signed_in, body_from(&wanted)).await?.accepted()?;
    let expected = old.version;
    save(&state, &signed_in, &old, draft, expected).await
}
