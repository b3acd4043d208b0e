//! `/agents`: which there are for a caller, and asking one.

use super::call::{CallResult, RunState, Trace, context, respond, result_of, start};
use super::runs::events::follow_run;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path};
use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::time::Duration;
use tool::uri::Options;
use tool::{Context, Door, RunId, RunKind, Target, Uri};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = Agent)]
pub(super) struct AgentView {
    id: String,
    /// What the agent is for.
    description: Option<String>,
    /// The name of its tool for MCP clients, e.g. `support__ask`.
    tool: String,
    uri: String,
}

/// Lists the agents that the caller may ask.
#[utoipa::path(get, path = "/agents", tag = "agents", params(("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<AgentView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Answer<Page<AgentView>>> {
    let cx = Context::new(signed_in.tenant, signed_in.caller, Door::Rest, state.options.call_timeout);
    let routes = state.gateway.list(&cx);
    let agents =
        routes.iter().filter(|route| route.service.run_kind() == Some(RunKind::Agent) && !route.is_own());
    Ok(Answer(Page::cut(agents.collect(), page, |route| AgentView {
        id: route.service.id.clone(),
        description: route.tool.description().map(str::to_owned),
        tool: route.name.clone(),
        uri: route.address.clone(),
    })))
}

/// The longest that a request waits for a run.
const MAX_WAIT_SECONDS: u64 = 300;

#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    /// What is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// What the agent should know beside: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    context: Option<Box<RawValue>>,
    /// Keeps what is said: `new`, or the id of a conversation to go on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// Instead of a prompt: the id of a run to wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The run goes on by itself, and is waited for so long; at most 300. Without it the run ends with this request.
    #[serde(default, skip_serializing)]
    #[schema(maximum = 300)]
    wait_seconds: Option<u64>,
}

/// Asks an agent: 200 with its answer when the run has ended, else 202 with where it stands. With
/// `Accept: text/event-stream` its steps and its text are told meanwhile.
#[utoipa::path(post, path = "/agents/{id}/runs", tag = "agents", params(("id" = String, Path)), request_body = Ask,
    responses((status = 200, content((CallResult = "application/json"), (String = "text/event-stream"))), (status = 202, body = CallResult), (status = 403), (status = 404),
        (status = 422), (status = 429)))]
pub(super) async fn ask(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Path(id): Path<String>,
    Json(body): Json<Ask>,
) -> Result<Response> {
    let is_streamed = super::call_events::is_wanted(&trace.2);
    let listener = is_streamed.then(|| signed_in.clone());
    let cx = context(&state, signed_in, trace);
    if body.wait_seconds.is_some_and(|seconds| seconds > MAX_WAIT_SECONDS) {
        let message = format!("'wait_seconds' is at most {MAX_WAIT_SECONDS}");
        return Err(Problem::invalid_field("wait_seconds", message));
    }
    let uri = RunKind::Agent.uri(&id);
    let arguments = to_raw_value(&body).map_err(|_| Problem::bad_request("the arguments are no JSON"))?;
    match body.wait_seconds {
        None if is_streamed => respond(&state, cx, Target::Uri(uri), Some(arguments), true).await,
        None => called(&state, cx, uri, arguments).await.map(answered),
        Some(seconds) if body.run.is_some() => {
            let cx = cx.for_at_most(Duration::from_secs(seconds));
            called(&state, cx, uri, arguments).await.map(answered)
        }
        Some(seconds) => started(&state, cx, uri, arguments, seconds, listener).await,
    }
}

/// Has a run begin that goes on by itself, and waits for it so long: one call, whatever is told of it.
async fn started(
    state: &Shared,
    cx: Context,
    uri: Uri,
    arguments: Box<RawValue>,
    seconds: u64,
    listener: Option<SignedIn>,
) -> Result<Response> {
    let time = Duration::from_secs(seconds);
    let is_waited_for = listener.is_none() && seconds > 0;
    let (tenant, cx) = (cx.tenant.clone(), Context { patience: is_waited_for.then_some(time), ..cx });
    let by_itself = uri.with_options(Options { is_async: Some(true), ..Options::default() });
    let begun = called(state, cx, by_itself, arguments).await?;
    let run: Option<RunId> = RunState::of(&begun).run.and_then(|run| run.parse().ok());
    match (listener, run) {
        (Some(listener), Some(run)) => {
            let run = state.store.runs().get(&tenant, &run).await?;
            follow_run(state.clone(), listener, run, 0, Some(time)).await
        }
        _ => Ok(answered(begun)),
    }
}

/// The result of a call, as it is written.
async fn called(state: &Shared, cx: Context, uri: Uri, arguments: Box<RawValue>) -> Result<String> {
    result_of(start(state, cx, Target::Uri(uri), Some(arguments)).await?)
}

/// A run that has not ended is an answer that is not there yet.
fn answered(result: String) -> Response {
    let goes_on = matches!(
        RunState::of(&result).state.as_deref(),
        Some("queued" | "running" | "waiting" | "paused" | "cancelling")
    );
    let status = if goes_on { StatusCode::ACCEPTED } else { StatusCode::OK };
    (status, [(CONTENT_TYPE, "application/json")], result).into_response()
}
