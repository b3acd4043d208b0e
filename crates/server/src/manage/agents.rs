//! `/agents`: which there are for a caller, and asking one.

use super::call::{CallResult, Trace, context, respond};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Path};
use axum::Json as Answer;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tool::{Context, Door, Target, Uri};
use utoipa::ToSchema;

/// The type in the addresses of agents.
const SCHEME: &str = "agent";

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
#[utoipa::path(get, path = "/agents", tag = "agents", responses((status = 200, body = Page<AgentView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
) -> Result<Answer<Page<AgentView>>> {
    let cx = Context::new(signed_in.tenant, signed_in.caller, Door::Rest, state.options.call_timeout);
    let routes = state.gateway.list(&cx);
    let agents = routes.iter().filter(|route| route.uri.scheme() == SCHEME && !route.is_own());
    let view = agents.map(|route| AgentView {
        id: route.service.id.clone(),
        description: route.tool.description().map(str::to_owned),
        tool: route.name.clone(),
        uri: route.address.clone(),
    });
    Ok(Answer(Page::whole(view.collect())))
}

#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    /// What is asked.
    prompt: String,
    /// What the agent should know beside: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Value>,
    /// A run is waited for to its end, whatever stands here.
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "runs without a journal end with their request")]
    wait_seconds: Option<u64>,
}

/// Asks an agent and waits for its answer; with `Accept: text/event-stream`, hears of its steps and its text meanwhile.
#[utoipa::path(post, path = "/agents/{id}/runs", tag = "agents", params(("id" = String, Path)), request_body = Ask,
    responses((status = 200, body = CallResult), (status = 403), (status = 404), (status = 422), (status = 429)))]
pub(super) async fn ask(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Path(id): Path<String>,
    Json(body): Json<Ask>,
) -> Result<Response> {
    let is_streamed = super::call_events::is_wanted(&trace.2);
    let cx = context(&state, signed_in, trace);
    let arguments: Option<Box<RawValue>> = to_raw_value(&body).ok();
    let arguments = arguments.ok_or_else(|| Problem::bad_request("the arguments are no JSON"))?;
    respond(&state, cx, Target::Uri(Uri::of_service(SCHEME, &id)), Some(arguments), is_streamed).await
}
