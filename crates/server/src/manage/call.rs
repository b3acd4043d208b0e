//! `/call`: any tool by its URI, and how a call's end becomes JSON.

use super::call_events;
use super::inspection::InspectionView;
use crate::Shared;
use crate::auth::{SignedIn, caller_headers};
use crate::call_error::CallError;
use crate::edge::{ClientTrace, RequestId};
use crate::error::{Code, Problem, Result};
use crate::finish::{Finish, finish};
use crate::json::{Json, Query};
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{
    Arguments, Context, Door, Error, Events, Fields, Inspection, Outcome, Output, Request, RunId, Scope,
    Target,
};
use utoipa::ToSchema;

/// What a handler of calls needs beside the body.
pub(super) type Trace = (Extension<RequestId>, Extension<ClientTrace>, HeaderMap);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallByUri {
    /// e.g. `api://crm-service/customer_list?timeout=5000`
    uri: String,
    /// As the tool's own schema says.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Option<Box<RawValue>>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what tool::Output writes")]
pub(super) struct CallResult {
    /// MCP content blocks.
    #[schema(value_type = Vec<Object>)]
    content: Vec<Value>,
    /// The answer as data, where it is data.
    #[schema(rename = "structuredContent", value_type = Value, required = false)]
    structured_content: Option<Value>,
    /// The tool ran and failed.
    #[schema(rename = "isError")]
    is_error: bool,
    /// What kind of failure it was.
    error: Option<CallError>,
    /// The call goes on: ask its `flow_run`, or `GET /runs/{id}`. Its id is also the `run_id` of the data.
    #[schema(required = false)]
    task: Option<StartedTask>,
    /// What was sent and what came back, where somebody asked with `inspect`.
    inspection: Option<InspectionView>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what is written where a call goes on")]
pub(super) struct StartedTask {
    /// The id of the run.
    id: String,
}

#[derive(Deserialize)]
pub(super) struct CallQuery {
    #[serde(default)]
    inspect: bool,
}

/// Calls a tool by its URI; with `Accept: text/event-stream` its events come first, and what came of it as the last.
#[utoipa::path(post, path = "/call", tag = "calls", request_body = CallByUri,
    params(("inspect" = Option<bool>, Query, description = "Also tell where the time went, and managers what was sent and what came back")),
    responses((status = 200, content((CallResult = "application/json"), (String = "text/event-stream"))), (status = 400),
        (status = 404), (status = 422)))]
pub(super) async fn call(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Query(query): Query<CallQuery>,
    Json(body): Json<CallByUri>,
) -> Result<Response> {
    let is_streamed = call_events::is_wanted(&trace.2);
    let inspection = if query.inspect { Inspection::on() } else { Inspection::default() };
    let cx = Context { inspection, ..context(&state, signed_in, trace) };
    let uri = body.uri.parse::<tool::Uri>();
    match uri.and_then(|uri| state.gateway.check_options(&uri).map(|()| uri)) {
        Ok(uri) => respond(&state, cx, Target::Uri(uri), body.arguments, is_streamed).await,
        Err(error) => {
            state.gateway.refuse(&cx, &body.uri, error.clone().into()).await;
            Err(error.into())
        }
    }
}

/// What a call knows about its request.
pub(super) fn context(state: &Shared, signed_in: SignedIn, trace: Trace) -> Context {
    let (Extension(RequestId(request_id)), Extension(ClientTrace(trace)), headers) = trace;
    let SignedIn { tenant, caller, .. } = signed_in;
    let headers = caller_headers(Arc::new(headers));
    let cx = Context::for_request(request_id, tenant, caller, Door::Rest, state.options.call_timeout);
    Context { trace, headers, ..cx }
}

/// Runs a call and answers with what came of it, or with everything that happens until then.
pub(super) async fn respond(
    state: &Shared,
    mut cx: Context,
    target: Target,
    arguments: Option<Box<RawValue>>,
    is_streamed: bool,
) -> Result<Response> {
    if !is_streamed {
        return run(state, cx, target, arguments).await;
    }
    let (events, heard) = Events::channel(call_events::QUEUE);
    cx.events = events;
    let gone = cx.cancel.clone().drop_guard();
    let tenant = cx.tenant.clone();
    let calling = begin(state, cx, target, arguments).await?;
    call_events::follow(state, tenant, Box::pin(calling), heard, gone).await
}

/// Runs a call and answers with what came of it.
pub(super) async fn run(
    state: &Shared,
    cx: Context,
    target: Target,
    arguments: Option<Box<RawValue>>,
) -> Result<Response> {
    let (inspection, is_manager) = (cx.inspection.clone(), cx.caller.may(Scope::Manage));
    let mut result = result_of(start(state, cx, target, arguments).await?)?;
    if inspection.is_on() {
        result = with_field(result, "inspection", &InspectionView::of(&inspection, is_manager));
    }
    Ok(([(CONTENT_TYPE, "application/json")], result).into_response())
}

/// Runs a call to its end: a client that goes away cancels it, and it is still audited.
pub(super) async fn start(
    state: &Shared,
    cx: Context,
    target: Target,
    arguments: Option<Box<RawValue>>,
) -> Result<tool::Result<Outcome>> {
    let _gone = cx.cancel.clone().drop_guard();
    let task = begin(state, cx, target, arguments).await?;
    task.await.map_err(|_| Problem::new(Code::Internal, "the call ended in a mistake of ours"))
}

/// A call that goes on as long as it is waited for.
async fn begin(
    state: &Shared,
    cx: Context,
    target: Target,
    arguments: Option<Box<RawValue>>,
) -> Result<Finish<tool::Result<Outcome>>> {
    let arguments = match arguments.map(Arguments::from_raw).transpose() {
        Ok(arguments) => arguments.unwrap_or_default(),
        Err(error) => {
            let problem = Problem::new(Code::ValidationFailed, error.message());
            state.gateway.refuse(&cx, &target.to_string(), error).await;
            return Err(problem);
        }
    };
    let gateway = state.gateway.clone();
    let request = Request::new(target, arguments);
    Ok(finish(&state.calls, async move { gateway.call(&cx, request).await }))
}

/// A refusal is a problem; a tool that ran and failed is an answer that says so.
pub(super) fn result_of(ended: tool::Result<Outcome>) -> Result<String> {
    Ok(match ended {
        Ok(Outcome::Done(output)) => match output.failure() {
            Some(error) => with_error(output.to_complete_result(), error),
            None => output.to_complete_result(),
        },
        Ok(Outcome::Started(id)) => {
            with_field(started(&id).to_complete_result(), "task", &json!({ "id": id }))
        }
        Ok(Outcome::NeedsInput(_)) => {
            failure(&Error::unsupported("the tool asks for more input, which only an MCP client can give"))
        }
        Err(error) if error.kind().is_refusal() || error.kind() == tool::ErrorKind::Internal => {
            return Err(error.into());
        }
        Err(error) => failure(&error),
    })
}

/// Which run a result is of, and where that stands. The result itself is handed on as it is written.
#[derive(Debug, Default)]
pub(super) struct RunState {
    pub(super) run: Option<String>,
    pub(super) state: Option<String>,
}

impl RunState {
    pub(super) fn of(result: &str) -> Self {
        let fields = |text| serde_json::from_str::<Fields<'_>>(text).unwrap_or_default();
        let Some(answer) = fields(result).get("structuredContent") else { return Self::default() };
        let answer = fields(answer.get());
        let text = |name| serde_json::from_str(answer.get(name)?.get()).ok();
        Self { run: text("run"), state: text("state") }
    }
}

/// A call that goes on, as a flow and MCP clients without tasks hear of it.
fn started(id: &RunId) -> Output {
    match to_raw_value(&json!({ "run_id": id })) {
        Ok(run) => Output::json(run),
        Err(_) => Output::text(id.as_str()),
    }
}

fn failure(error: &Error) -> String {
    with_error(Output::text(&error.in_words()).failed().to_result(), error)
}

/// The result with the reason beside it, for programs.
fn with_error(result: String, error: &Error) -> String {
    with_field(result, "error", &CallError::of(error))
}

/// One more field at the end of an object that has some.
fn with_field(mut object: String, name: &str, value: &impl Serialize) -> String {
    object.pop();
    object.push_str(&format!(",\"{name}\":"));
    object.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".into()));
    object.push('}');
    object
}
