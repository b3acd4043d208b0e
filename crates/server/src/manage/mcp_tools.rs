//! `/mcp/tools`: MCP's list and call for those who speak REST.

use super::call::{CallResult, Trace, context, run};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Json, Paging};
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use gateway::Route;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::sync::Arc;
use tool::{Context, Door, Target};
use utoipa::ToSchema;

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what is streamed")]
pub(super) struct McpToolPage {
    /// MCP tool definitions.
    tools: Vec<McpTool>,
    page: u32,
    limit: u32,
    total: usize,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what is streamed")]
pub(super) struct McpTool {
    name: String,
    #[schema(required = false)]
    description: String,
    /// JSON Schema of the arguments.
    #[schema(rename = "inputSchema", value_type = Object)]
    input_schema: Value,
    /// JSON Schema of the structured answer.
    #[schema(rename = "outputSchema", value_type = Object, required = false)]
    output_schema: Value,
    /// A name for people.
    #[schema(required = false)]
    title: String,
    /// What the tool does to the world, as it says itself.
    #[schema(value_type = Object, required = false)]
    annotations: Value,
    /// Whether it can be called as a task.
    #[schema(value_type = Object, required = false)]
    execution: Value,
    /// Pictures that stand for the tool, as MCP describes them.
    #[schema(value_type = Vec<Object>, required = false)]
    icons: Value,
    /// What the service adds for clients that know it.
    #[schema(rename = "_meta", value_type = Object, required = false)]
    meta: Value,
}

/// Lists the tools the caller may use.
#[utoipa::path(get, path = "/mcp/tools", tag = "calls",
    params(("tenant_id" = Option<String>, Query), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = McpToolPage)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Response> {
    let cx = Context::new(signed_in.tenant, signed_in.caller, Door::Rest, state.options.call_timeout);
    let tools = state.gateway.list(&cx);
    let total = tools.len();
    let first = (page.page as usize - 1).saturating_mul(page.limit as usize);
    let tools: Vec<_> = tools.into_iter().skip(first).take(page.limit as usize).collect();
    let tail = format!("],\"page\":{},\"limit\":{},\"total\":{total}}}", page.page, page.limit);
    let body = Body::from_stream(stream::iter(definitions(tools, tail).map(Ok::<_, Infallible>)));
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The list as pieces that are shared, not copied.
fn definitions(tools: Vec<Arc<Route>>, tail: String) -> impl Iterator<Item = Bytes> {
    let comma = |at: usize| if at == 0 { Bytes::new() } else { Bytes::from_static(b",") };
    let pieces = tools.into_iter().enumerate().flat_map(move |(at, route)| [comma(at), route.listed.clone()]);
    let head = std::iter::once(Bytes::from_static(b"{\"tools\":["));
    head.chain(pieces).chain(std::iter::once(tail.into())).filter(|piece| !piece.is_empty())
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallByName {
    /// A name of the list.
    name: String,
    /// As the tool's `inputSchema` says.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Option<Box<RawValue>>,
}

/// Calls a tool by its name.
#[utoipa::path(post, path = "/mcp/tools/call", tag = "calls", request_body = CallByName,
    params(("tenant_id" = Option<String>, Query)),
    responses((status = 200, body = CallResult), (status = 404), (status = 422)))]
pub(super) async fn call(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Json(body): Json<CallByName>,
) -> Result<Response> {
    let cx = context(&state, signed_in, trace);
    run(&state, cx, Target::Name(body.name), body.arguments).await
}
