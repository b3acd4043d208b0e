//! `/tools/{id}/versions`: what a tool was, and the way back.

use super::draft::{body_from, check, shown};
use super::{ToolView, find, save};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Json, Page, Paging, Path};
use crate::manage::secrets::Visibility;
use crate::manage::time;
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{Tool, ToolStatus, ToolVersion};
use tool::ToolId;
use tool::whole::whole;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct ToolVersionView {
    version: i64,
    /// The id of the key or user that made it.
    changed_by: String,
    at: String,
    name: String,
    alias: Option<String>,
    description: Option<String>,
    /// `testing`, `active` or `inactive`; versions of older releases do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::ToolStatus>)]
    status: Option<ToolStatus>,
    /// What the type needs; secrets are shown as `***`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    definition: Map<String, Value>,
}

impl ToolVersionView {
    fn new(state: &Shared, kind: &str, version: ToolVersion, visibility: Visibility) -> Self {
        Self {
            definition: shown(state, kind, &version.content.definition, visibility),
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
    responses((status = 200, body = Page<ToolVersionView>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<ToolId>,
    Paging(page): Paging,
) -> Result<Answer<Page<ToolVersionView>>> {
    signed_in.may_read()?;
    let tool = find(&state, &signed_in, &id).await?;
    let found = state.store.tools().versions(&signed_in.tenant, &id, page).await?;
    let visibility = Visibility::of(&signed_in);
    Ok(Answer(Page::of(found, |one| ToolVersionView::new(&state, &tool.kind, one, visibility))))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rollback {
    /// Which version to go back to.
    #[serde(deserialize_with = "whole")]
    version: i64,
}

/// Makes a tool what it was, as a new version. Whether it is active stays as it is.
#[utoipa::path(post, path = "/tools/{id}/rollback", tag = "tools", request_body = Rollback,
    params(("id" = String, Path)),
    responses((status = 200, body = ToolView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn rollback(
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
