//! `/audit/{id}`: one call with all that is known of it, and what calls look like to those who inspect them.

use super::audit::{AuditView, FLUSH};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::Path;
use axum::Json as Answer;
use axum::extract::State;
use gateway::audit::Inspected;
use serde::Serialize;
use serde_json::{Value, json};
use store::{AuditKind, AuditRow};
use tool::Inspection;
use tool::inspection::{Attempt, StepTime};
use utoipa::ToSchema;

/// What a call sent and what came back, secrets masked.
#[derive(Serialize, ToSchema)]
#[schema(as = CallInspection)]
pub(super) struct InspectionView {
    /// The id of the call in the audit.
    audit_id: String,
    /// As it was sent: of HTTP the method, url, headers and body; otherwise the tool and its arguments.
    #[schema(value_type = Option<Object>)]
    request: Option<Value>,
    /// The status of the answer, where the service has one.
    status: Option<u16>,
    /// The answer before it was shaped: JSON, or a text. What is kept of a long one ends with `…`.
    #[schema(value_type = Value, required = false)]
    raw: Option<Value>,
    /// How often the service was asked, and what came of it.
    attempts: Vec<AttemptView>,
    /// Where the time went: resolve, admit, bind, call, shape. The last one may have failed.
    steps: Vec<StepView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CallAttempt)]
pub(super) struct AttemptView {
    us: u64,
    error: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CallStep)]
pub(super) struct StepView {
    #[schema(value_type = String, example = "bind")]
    name: &'static str,
    us: u64,
    error: Option<String>,
}

impl InspectionView {
    /// Of a call that has just ended. Shapes may keep things from callers, so that only managers see what is before them.
    pub(super) fn of(inspection: &Inspection, is_manager: bool) -> Self {
        let id = inspection.exchange().audit_id.unwrap_or_default();
        let seen = Inspected::of(inspection);
        match is_manager {
            true => Self::new(id, seen),
            false => Self::new(id, Inspected { steps: seen.steps, ..Inspected::default() }),
        }
    }

    fn new(audit_id: String, seen: Inspected) -> Self {
        let raw = seen.raw.map(|raw| serde_json::from_str(&raw).unwrap_or_else(|_| raw.into()));
        let attempt = |Attempt { us, error }: Attempt| AttemptView { us, error };
        let step = |StepTime { name, us, error }: StepTime| StepView { name, us, error };
        Self {
            audit_id,
            request: seen.request,
            status: seen.status,
            raw,
            attempts: seen.attempts.into_iter().map(attempt).collect(),
            steps: seen.steps.into_iter().map(step).collect(),
        }
    }
}

#[derive(Serialize, ToSchema)]
pub(super) struct AuditDetail {
    #[serde(flatten)]
    row: AuditView,
    /// What was sent and what came back, for managers, as long as it is kept: of the last calls and failures.
    inspection: Option<InspectionView>,
}

/// One call, or one change. Those who do not manage see their own calls.
#[utoipa::path(get, path = "/audit/{id}", tag = "audit", params(("id" = String, Path)),
    responses((status = 200, body = AuditDetail), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Answer<AuditDetail>> {
    signed_in.may_read()?;
    state.gateway.audit().flush(FLUSH).await;
    let (kind, row) = state.store.audit().get(&signed_in.tenant, &id).await?;
    let is_manager = signed_in.may_manage().is_ok();
    let is_own = kind == AuditKind::Call && row.caller == signed_in.caller.identity.id();
    if !is_manager && !is_own {
        return Err(Problem::not_found("audit record"));
    }
    let kept = state.gateway.audit().kept_calls().find(&signed_in.tenant, &id).filter(|_| is_manager);
    let inspection = kept.map(|seen| {
        let request = seen.request.clone().or_else(|| arguments_of(&row));
        InspectionView::new(id, Inspected { request, ..seen })
    });
    Ok(Answer(AuditDetail { row: AuditView::new(kind, row), inspection }))
}

/// What was asked for, of types that tell nothing about what they send. The audit has masked it already.
fn arguments_of(row: &AuditRow<'_>) -> Option<Value> {
    let arguments: Value = serde_json::from_str(row.arguments.as_deref()?).ok()?;
    let tool = Some(&row.details.uri).filter(|uri| !uri.is_empty()).unwrap_or(&row.tool);
    Some(json!({ "tool": tool, "arguments": arguments }))
}
