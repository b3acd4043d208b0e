//! `GET /runs/{id}/steps`: what each node did.

use super::rights::find;
use super::view::RunError;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Page, Paging, Path};
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use chrono::{DateTime, SecondsFormat, Utc};
use flow::engine::{Step, StepState, steps};
use serde::Serialize;
use serde_json::{Value, json};
use tool::RunId;
use tool::secret::SecretValues;
use tool::secret::names::masked_fields;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(in crate::manage) struct StepView {
    /// The number of its first record in the journal.
    seq: usize,
    /// e.g. `ship[3].send`
    path: String,
    /// e.g. `tool` or `approval`
    #[schema(value_type = String)]
    kind: &'static str,
    #[schema(value_type = words::StepState)]
    state: StepState,
    attempt: u32,
    /// What was called, e.g. `api://crm/get_order`; nothing for nodes that call no tool.
    uri: Option<String>,
    /// What the tool was called with, by name; secrets are masked.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    arguments: Option<Value>,
    #[schema(value_type = Option<Value>)]
    /// What the node gave: any JSON.
    result: Option<Value>,
    error: Option<RunError>,
    idempotency_key: String,
    started_at: String,
    ended_at: Option<String>,
}

impl StepView {
    fn new(step: Step, mask: &SecretValues) -> Self {
        let show = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let error = step.error.and_then(|error| serde_json::to_value(error).ok());
        let error =
            error.map(|error| mask.masked(error)).and_then(|error| serde_json::from_value(error).ok());
        Self {
            // Records are numbered from 1, without gaps.
            seq: step.seq + 1,
            path: step.path,
            kind: step.kind,
            state: step.state,
            attempt: step.attempt,
            uri: step.uri.as_ref().and_then(Value::as_str).map(str::to_owned),
            arguments: step.arguments.map(|arguments| mask.masked(Value::Object(arguments))),
            result: step.result.map(|result| mask.masked(result)),
            error: error.map(|failure: flow::engine::Failure| failure.into()),
            idempotency_key: step.idempotency_key,
            started_at: show(step.started_at),
            ended_at: step.ended_at.map(show),
        }
    }
}

/// What an agent did. What its model and its tools said is for the agent alone, until a guardrail has let it pass.
fn agent_steps(run: &str, records: &[flow::engine::Record]) -> Vec<Step> {
    let mut steps = steps(None, run, records);
    for step in &mut steps {
        match step.uri.as_ref().and_then(Value::as_str) {
            Some("model") => (step.kind, step.uri, step.arguments) = ("model", None, None),
            Some("handoff") => (step.kind, step.uri) = ("handoff", None),
            _ => {}
        }
        let arguments = step.arguments.take().map(|arguments| masked_fields(&Value::Object(arguments)));
        step.arguments = arguments.and_then(|arguments| arguments.as_object().cloned());
        step.result = step.result.take().map(|result| json!({ "is_error": result["is_error"] == true }));
    }
    steps
}

/// Lists the nodes of a run that have begun, in that order.
#[utoipa::path(get, path = "/runs/{run_id}/steps", tag = "runs",
    params(("run_id" = String, Path), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<StepView>), (status = 404)))]
pub(in crate::manage) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
    Paging(page): Paging,
) -> Result<Answer<Page<StepView>>> {
    let run = find(&state, &signed_in, &id).await?;
    let data = state.store.runs().data(&run.tenant, &run.id).await?;
    let mask = state.flows.secrets_of(&run, &data).await;
    let records = state.flows.journal(&run).await?;
    let steps = match run.agent() {
        Some(_) => agent_steps(run.id.as_str(), &records),
        None => {
            let version = match state.flows.version_of(&run, data.source).await {
                // What was done is known without the text, which has gone with its flow.
                Err(error) if error.kind() == tool::ErrorKind::NotFound => None,
                version => Some(version?),
            };
            steps(version.as_ref().map(|version| &*version.flow), run.id.as_str(), &records)
        }
    };
    Ok(Answer(Page::cut(steps, page, |step| StepView::new(step, &mask))))
}
