//! `/flows/{id}/publish`, `rollback`, `enable`, `disable`: what new runs take, and whether they may begin.

use super::FlowView;
use super::check::{Checked, FlowProblem, check};
use super::triggers::{WebhookSecret, first_secrets};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Json, Path};
use crate::manage::runs::rights::may_change;
use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tool::whole::{whole, whole_or_null};
use utoipa::ToSchema;

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FlowPublish)]
pub(crate) struct Publish {
    /// Publishes only this revision of the draft.
    #[serde(default, deserialize_with = "whole_or_null")]
    revision: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FlowRollback)]
pub(crate) struct Rollback {
    /// Which version to go back to.
    #[serde(deserialize_with = "whole")]
    version: i64,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FlowPublished {
    id: String,
    /// The version that new runs take now.
    version: i64,
    /// Not if the current version has that very text already, from somebody with the same rights.
    is_new: bool,
    /// Warnings.
    errors: Vec<FlowProblem>,
    /// Webhooks that are new, with their secrets: they are shown this once.
    webhooks: Vec<WebhookSecret>,
}

/// Makes a version of the draft, which new runs take from now on.
#[utoipa::path(post, path = "/flows/{id}/publish", tag = "flows", request_body = Option<Publish>,
    params(("id" = String, Path)),
    responses((status = 200, body = FlowPublished), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn publish(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    body: Option<Json<Publish>>,
) -> Result<Answer<FlowPublished>> {
    signed_in.may_manage()?;
    let flow = state.store.flows().get(&signed_in.tenant, &id).await?;
    may_change(&signed_in, &flow)?;
    let wanted = body.and_then(|Json(body)| body.revision);
    if wanted.is_some_and(|wanted| wanted != flow.revision) {
        let detail =
            format!("the draft has revision {} by now; look at it before you publish it", flow.revision);
        return Err(Problem::new(Code::Conflict, detail));
    }
    let checked = check(&state, &signed_in, Some(&id), flow.draft).await?.publishable()?;
    // Only what was checked is published, whoever changes the draft meanwhile.
    make_current(&state, &signed_in, &id, checked, Some(flow.revision)).await
}

/// Publishes the text of an older version anew; the draft stays as it is.
#[utoipa::path(post, path = "/flows/{id}/rollback", tag = "flows", request_body = Rollback,
    params(("id" = String, Path)),
    responses((status = 200, body = FlowPublished), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn rollback(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Json(body): Json<Rollback>,
) -> Result<Answer<FlowPublished>> {
    signed_in.may_manage()?;
    may_change(&signed_in, &state.store.flows().get(&signed_in.tenant, &id).await?)?;
    let old = state.store.flows().version(&signed_in.tenant, &id, body.version).await?;
    // What was right then may not be now.
    let checked = check(&state, &signed_in, Some(&id), old.source).await?.publishable()?;
    make_current(&state, &signed_in, &id, checked, None).await
}

async fn make_current(
    state: &Shared,
    signed_in: &SignedIn,
    id: &str,
    checked: Checked,
    revision: Option<i64>,
) -> Result<Answer<FlowPublished>> {
    super::check_flow_id(id)?;
    let errors = checked.problems();
    let publication = checked.publication(&signed_in.caller);
    let published = state.store.flows().publish(&signed_in.tenant, id, &publication, revision).await?;
    let webhooks = first_secrets(state, &signed_in.tenant, id).await?;
    state.reload.catch_up().await;
    Ok(Answer(FlowPublished {
        id: published.flow.id,
        version: published.flow.current.unwrap_or_default(),
        is_new: published.is_new,
        errors,
        webhooks,
    }))
}

/// Lets new runs begin.
#[utoipa::path(post, path = "/flows/{id}/enable", tag = "flows", params(("id" = String, Path)),
    responses((status = 200, body = FlowView), (status = 404)))]
pub(crate) async fn enable(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Answer<FlowView>> {
    switch(&state, &signed_in, &id, true).await
}

/// Lets no new runs begin, and stops triggers; runs under way go on.
#[utoipa::path(post, path = "/flows/{id}/disable", tag = "flows", params(("id" = String, Path)),
    responses((status = 200, body = FlowView), (status = 404)))]
pub(crate) async fn disable(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Answer<FlowView>> {
    switch(&state, &signed_in, &id, false).await
}

async fn switch(
    state: &Shared,
    signed_in: &SignedIn,
    id: &str,
    is_enabled: bool,
) -> Result<Answer<FlowView>> {
    may_change(signed_in, &state.store.flows().get(&signed_in.tenant, id).await?)?;
    let flow = state.store.flows().set_enabled(&signed_in.tenant, id, is_enabled).await?;
    state.reload.catch_up().await;
    Ok(Answer(FlowView::whole(flow)))
}
