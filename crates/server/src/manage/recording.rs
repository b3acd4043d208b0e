//! The record of management: who changed what, what it was before and what it is after.
//!
//! One layer around all of REST, so that no handler can forget it. What was before is what a GET of the same path
//! answers the same caller, which masks secrets as always. The record is committed with the change itself
//! (`store::management`); what is after is added when the handler has answered.

use crate::Shared;
use crate::auth::{BrowserSession, SignedIn};
use crate::edge::{ClientTrace, RequestId};
use crate::error::Problem;
use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{Extensions, Method, StatusCode};
use serde_json::{Map, Value, json};
use store::{AuditDetails, AuditRow};
use tool::TenantId;
use tower::ServiceExt as _;

/// Views longer than this are counted, not kept.
const MAX_VIEW_BYTES: usize = 16 * 1024;
/// Answers longer than this are not looked into.
const MAX_ANSWER_BYTES: u64 = 4 * 1024 * 1024;
const MAX_PATH_CHARACTERS: usize = 200;

/// Those change nothing, and come often.
const CALLS: [&str; 2] = ["/api/v1/call", "/api/v1/mcp/tools/call"];

/// Writes its own record: nobody is signed in yet, and credentials beside the password count for nothing.
pub(super) const SIGN_IN: &str = "/api/v1/auth/login";

/// So does this.
pub(super) const SESSION: &str = "/api/v1/auth/session";

/// What is on record of a run. What it was given, asks and answers is for those who may read the run, as long as it is kept.
const OF_RUNS: [&str; 12] = [
    "id",
    "run",
    "flow",
    "agent",
    "version",
    "state",
    "trigger",
    "started_by",
    "replay_of",
    "conversation",
    "matched",
    "done",
];

/// What the layer needs: the server, and REST itself to read with.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) state: Shared,
    pub(crate) rest: Router,
}

/// Puts on record what a request changes, and who was not allowed to.
pub(crate) async fn record(State(recorder): State<Recorder>, request: Request, next: Next) -> Response {
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let path = request.uri().path();
    if is_reading || [SIGN_IN, SESSION].contains(&path) || CALLS.contains(&path) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let who = SignedIn::from_request_parts(&mut parts, &recorder.state).await;
    let Ok(who) = who else { return next.run(Request::from_parts(parts, body)).await };
    let before = recorder.before(&parts).await;
    let mut row = begin(&who, &parts);
    row.arguments = Some(json!({ "before": bounded(&before), "after": null }).to_string().into());
    let handled = next.run(Request::from_parts(parts, body));
    let (response, is_written) = store::management::recording(row.clone(), handled).await;
    if is_written {
        return recorder.complete(row, before, response).await;
    }
    if response.status() == StatusCode::FORBIDDEN {
        let problem = response.extensions().get::<Problem>();
        let detail = problem.map(|problem| problem.detail().to_owned());
        recorder.refuse(row, detail).await;
    }
    response
}

impl Recorder {
    /// What a GET says about what is to be changed: the thing itself, or the one that an action is about.
    async fn before(&self, parts: &Parts) -> Value {
        let path = parts.uri.path();
        let about = match parts.method {
            Method::POST => path.rsplit_once('/').map_or(path, |(parent, _)| parent),
            // The document of a table may be large, and has versions of its own; a draft is part of its flow.
            _ => path.strip_suffix("/data").or_else(|| path.strip_suffix("/draft")).unwrap_or(path),
        };
        let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let Ok(uri) = format!("{about}{query}").parse::<http::Uri>() else { return Value::Null };
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = uri;
        *request.headers_mut() = parts.headers.clone();
        // Not all that is known of the request: the parts of its path are not those of this one.
        if let (Some(id), Some(trace)) =
            (parts.extensions.get::<RequestId>(), parts.extensions.get::<ClientTrace>())
        {
            request.extensions_mut().insert(id.clone());
            request.extensions_mut().insert(trace.clone());
        }
        if let Some(session) = parts.extensions.get::<BrowserSession>() {
            request.extensions_mut().insert(session.clone());
        }
        let Ok(response) = self.rest.clone().oneshot(request).await;
        if response.status() != StatusCode::OK {
            return Value::Null;
        }
        let (_, view) = read(response).await;
        let view = if is_about_runs(path) { of_run(view) } else { view };
        // A list is not what is changed: something is added to it.
        if view.get("items").is_some() { Value::Null } else { view }
    }

    /// Adds what came of a change that is on record already.
    async fn complete(&self, mut row: AuditRow<'static>, before: Value, response: Response) -> Response {
        let (response, after) = match response.status().is_success() {
            true => read(response).await,
            false => (response, Value::Null),
        };
        let is_about_runs = row.tool.split_once(' ').is_some_and(|(_, path)| is_about_runs(path));
        let after = if is_about_runs { of_run(after) } else { after };
        let (before, after) = differing(before, after);
        let arguments = json!({ "before": bounded(&before), "after": bounded(&after) });
        row.arguments = Some(arguments.to_string().into());
        if let Err(error) = self.state.store.management().complete(&row).await {
            tracing::warn!(%error, "the audit record of {} lacks the new state: {error}", row.tool);
        }
        response
    }

    async fn refuse(&self, mut row: AuditRow<'static>, detail: Option<String>) {
        row.status = "refused".into();
        row.details.code = Some("FORBIDDEN".into());
        row.details.message = detail.map(Into::into);
        if let Err(error) = self.state.store.management().append(&row).await {
            tracing::warn!(%error, "that {} was refused is not on record: {error}", row.tool);
        }
    }
}

/// The request starts a run, steers it or decides for it, or is about what was said in one.
fn is_about_runs(path: &str) -> bool {
    let parts: Vec<_> = path.trim_start_matches("/api/v1/").split('/').collect();
    matches!(
        parts.as_slice(),
        ["runs" | "approvals" | "conversations", ..]
            | ["agents" | "flows", _, "runs", ..]
            | ["flows", _, "triggers", _, "fire"]
    )
}

/// Which run it is and where it stands, without anything that it was given or says.
fn of_run(mut view: Value) -> Value {
    let view = match view.get_mut("structuredContent") {
        Some(told) => told.take(),
        None => view,
    };
    let Value::Object(mut fields) = view else { return Value::Null };
    fields.retain(|name, _| OF_RUNS.contains(&name.as_str()));
    Value::Object(fields)
}

fn begin(who: &SignedIn, parts: &Parts) -> AuditRow<'static> {
    let action = format!("{} {}", parts.method, parts.uri.path());
    let identity = &who.caller.identity;
    let mut row = row_of(&who.tenant, (identity.kind(), identity.id()), &action, &parts.extensions);
    row.details.caller_name = Some(who.caller.name.clone().into());
    row
}

/// The record of something that goes well, unless it is changed: `caller` is what kind of, and who.
pub(super) fn row_of(
    tenant: &TenantId,
    (kind, caller): (&'static str, &str),
    action: &str,
    request: &Extensions,
) -> AuditRow<'static> {
    let request_id = request.get::<RequestId>().map(|id| id.0.to_string()).unwrap_or_default();
    let trace_id =
        request.get::<ClientTrace>().and_then(|trace| Some(format!("{:032x}", trace.0.as_ref()?.id)));
    AuditRow {
        id: tool::new_id::<String>().into(),
        tenant: tenant.to_string().into(),
        at: chrono::Utc::now().timestamp_millis(),
        caller: caller.to_owned().into(),
        tool: action.chars().take(MAX_PATH_CHARACTERS).collect::<String>().into(),
        service: "".into(),
        arguments: None,
        status: "ok".into(),
        details: AuditDetails {
            caller_name: None,
            caller_kind: kind.into(),
            door: tool::Door::Rest.as_str().into(),
            uri: "".into(),
            code: None,
            message: None,
            duration_us: 0,
            request_id: request_id.into(),
            trace_id: trace_id.unwrap_or_default().into(),
            result_bytes: 0,
            parent_request_id: None,
            run_id: None,
            node: None,
            agent: None,
            step: None,
            via: None,
            usage: None,
        },
    }
}

/// The view in an answer, without what is shown only once; the answer stays as it is.
async fn read(response: Response) -> (Response, Value) {
    if response.body().size_hint().upper().is_none_or(|size| size > MAX_ANSWER_BYTES) {
        return (response, json!({ "omitted": "a large answer" }));
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut view: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    hide(&mut view);
    (Response::from_parts(parts, Body::from(bytes)), view)
}

/// Takes out what is shown this once, wherever it stands.
fn hide(view: &mut Value) {
    match view {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| {
            let is_shown_once = matches!(name.as_str(), "key" | "api_key" | "token" | "password");
            if value.is_string() && (is_shown_once || gateway::audit::is_secret_name(name)) {
                *value = tool::secret::MASK.into();
            } else {
                hide(value);
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(hide),
        _ => {}
    }
}

/// Of two views of the same thing, the fields that differ.
fn differing(before: Value, after: Value) -> (Value, Value) {
    let (Value::Object(before), Value::Object(after)) = (&before, &after) else { return (before, after) };
    let only = |own: &Map<String, Value>, other: &Map<String, Value>| {
        own.iter()
            .filter(|(name, value)| other.get(*name) != Some(value))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    (Value::Object(only(before, after)), Value::Object(only(after, before)))
}

fn bounded(view: &Value) -> Value {
    let size = view.to_string().len();
    if size > MAX_VIEW_BYTES { json!({ "omitted": format!("{size} bytes") }) } else { view.clone() }
}
