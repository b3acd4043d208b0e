//! `/flows/{id}/versions` and `diff`: what was published, and how texts differ.

use super::draft::BoundParameter;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Page, Paging, Path, Query};
use crate::manage::runs::rights::may_see_text;
use crate::manage::time;
use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::flows::FlowVersion;
use tool::TenantId;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowVersionView {
    version: i64,
    /// The id of the key or user that published it.
    published_by: String,
    at: String,
    /// The text; left out of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// The parameters that are bound by name, as they were when it was published; left out of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Vec<BoundParameter>>,
}

impl FlowVersionView {
    fn brief(version: FlowVersion) -> Self {
        let FlowVersion { version, published_by, at, .. } = version;
        Self { version, published_by, at: time::show(at), source: None, bound: None }
    }

    fn whole(mut version: FlowVersion) -> Self {
        let bound: Vec<flow::Bound> = serde_json::from_str(&version.bound).unwrap_or_default();
        let source = std::mem::take(&mut version.source);
        let bound = bound.into_iter().map(Into::into).collect();
        Self { source: Some(source), bound: Some(bound), ..Self::brief(version) }
    }
}

/// Lists what was published, newest first.
#[utoipa::path(get, path = "/flows/{id}/versions", tag = "flows",
    params(("id" = String, Path), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<FlowVersionView>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Paging(page): Paging,
) -> Result<Answer<Page<FlowVersionView>>> {
    may_see_text(&signed_in, &id)?;
    let found = state.store.flows().versions(&signed_in.tenant, &id, page).await?;
    Ok(Answer(Page::of(found, FlowVersionView::brief)))
}

/// One version, with its text.
#[utoipa::path(get, path = "/flows/{id}/versions/{version}", tag = "flows",
    params(("id" = String, Path), ("version" = u32, Path)),
    responses((status = 200, body = FlowVersionView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((id, version)): Path<(String, u32)>,
) -> Result<Answer<FlowVersionView>> {
    may_see_text(&signed_in, &id)?;
    let found = state.store.flows().version(&signed_in.tenant, &id, version.into()).await?;
    Ok(Answer(FlowVersionView::whole(found)))
}

#[derive(Deserialize)]
pub(crate) struct DiffQuery {
    from: Option<String>,
    to: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowDifference {
    /// Everything that differs, in the order of the texts.
    changes: Vec<FlowChange>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowChange {
    /// Where in the document, e.g. `nodes.order.retry`.
    path: String,
    /// What stood there; absent where something was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Value>,
    /// What stands there; absent where something was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Value>,
}

/// How two texts of a flow differ, comments and spacing aside: from the current version to the draft unless given.
#[utoipa::path(get, path = "/flows/{id}/diff", tag = "flows",
    params(("id" = String, Path),
        ("from" = Option<String>, Query, description = "A version, or `draft`.", pattern = "^(draft|[1-9][0-9]{0,8})$"),
        ("to" = Option<String>, Query, description = "A version, or `draft`.", pattern = "^(draft|[1-9][0-9]{0,8})$")),
    responses((status = 200, body = FlowDifference), (status = 404)))]
pub(crate) async fn diff(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Query(query): Query<DiffQuery>,
) -> Result<Answer<FlowDifference>> {
    may_see_text(&signed_in, &id)?;
    let flow = state.store.flows().get(&signed_in.tenant, &id).await?;
    let current = flow.current.map(|version| version.to_string());
    let from = match query.from.or(current) {
        Some(from) => text(&state, &signed_in.tenant, &id, "from", &from).await?,
        None => String::new(), // nothing is published: everything is new
    };
    let to = text(&state, &signed_in.tenant, &id, "to", query.to.as_deref().unwrap_or(DRAFT)).await?;
    let comparing = tokio::task::spawn_blocking(move || flow::diff(&from, &to));
    let changes =
        comparing.await.map_err(|_| Problem::new(Code::Internal, "the texts could not be compared"))?;
    let shown = |flow::Change { path, from, to }| FlowChange { path, from, to };
    Ok(Answer(FlowDifference { changes: changes.into_iter().map(shown).collect() }))
}

/// What the draft is called among versions.
const DRAFT: &str = "draft";

/// The text of a version or of the draft.
async fn text(state: &Shared, tenant: &TenantId, id: &str, field: &str, which: &str) -> Result<String> {
    if which == DRAFT {
        return Ok(state.store.flows().get(tenant, id).await?.draft);
    }
    let Ok(version) = which.parse::<u32>() else {
        let message = format!("'{field}' must be the number of a version, or 'draft'");
        let error = tool::Problem::new(field, "Invalid", message.as_str());
        return Err(Problem::bad_request(message).with_errors(vec![error]));
    };
    Ok(state.store.flows().version(tenant, id, version.into()).await?.source)
}
