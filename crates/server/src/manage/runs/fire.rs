//! `POST /flows/{id}/triggers/{name}/fire`: a trigger by hand.

use super::rights::may_trigger;
use super::view::{RunView, show};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Path};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TriggerFire)]
pub(in crate::manage) struct Fire {
    /// What the flow sees as `trigger`, e.g. `{"body": {}}`.
    #[serde(default)]
    event: Value,
}

/// Starts the run that a trigger would start for this event.
#[utoipa::path(post, path = "/flows/{id}/triggers/{name}/fire", tag = "runs",
    params(("id" = String, Path), ("name" = String, Path)), request_body = Fire,
    responses((status = 202, body = RunView), (status = 404), (status = 422)))]
pub(in crate::manage) async fn fire(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((flow, name)): Path<(String, String)>,
    Json(body): Json<Fire>,
) -> Result<(StatusCode, Answer<RunView>)> {
    may_trigger(&signed_in, &flow)?;
    let triggers = state.store.flows().triggers(&signed_in.tenant, &flow).await?;
    let trigger = triggers.into_iter().find(|trigger| trigger.name == name);
    let trigger = trigger.ok_or_else(|| Problem::not_found("trigger"))?;
    let started = state.flows.fire_by_hand(trigger, body.event).await?;
    Ok((StatusCode::ACCEPTED, Answer(show(&state, started.run).await?)))
}
