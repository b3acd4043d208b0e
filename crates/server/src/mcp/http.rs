//! The doors over Streamable HTTP, for clients with a handshake.

use super::{Door, stream};
use crate::Shared;
use crate::auth::{SignedIn, caller_headers};
use crate::edge::{RequestId, TraceId};
use crate::manage::error::{Code, Problem, Result};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, StatusCode};
use mcp::envelope::{self, Kind};
use mcp::session::Session;
use mcp::{Message, RpcError, Version};
use tool::{Context, Door as DoorKind};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// `POST /mcp`: the tenant's door.
pub(crate) async fn post(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Extension(RequestId(request_id)): Extension<RequestId>,
    Extension(TraceId(trace_id)): Extension<TraceId>,
    headers: HeaderMap,
    body: std::result::Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Response> {
    check_origin(&state, &headers)?;
    check_accept(&headers, &["application/json", "text/event-stream"])?;
    let Ok(body) = body else {
        return Ok(refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            &RpcError::invalid_request("the message is too large"),
        ));
    };
    let parsed = Message::parse(&body);
    let (message, kind) = match parsed.as_ref().map(|message| (message, message.kind())) {
        Ok((message, Ok(kind))) => (message, kind),
        Ok((_, Err(error))) => return Ok(refused(StatusCode::BAD_REQUEST, &error)),
        Err(error) => return Ok(refused(StatusCode::BAD_REQUEST, error)),
    };
    let is_handshake = matches!(kind, Kind::Request { method: "initialize", .. });
    let owner = format!("{}/{}", signed_in.tenant, signed_in.caller.identity.id());
    let session = match session_of(&state, &headers, &owner) {
        _ if is_handshake => None,
        Ok(session) => Some(session),
        Err((status, error)) => return Ok(refused(status, &error)),
    };
    let Kind::Request { id, method } = kind else { return Ok(StatusCode::ACCEPTED.into_response()) };
    let cx = Context {
        request_id,
        trace_id,
        headers: caller_headers(headers),
        ..Context::new(signed_in.tenant, signed_in.caller, DoorKind::Mcp, state.options.call_timeout)
    };
    let version = session.map_or(Version::LATEST_LEGACY, |session| session.version);
    tracing::info!(method, tenant = %cx.tenant, "mcp {method}");
    let door = Door { gateway: state.gateway.clone(), calls: state.calls.clone(), tells_changes: true };
    match door.answer(&cx, version, method, message).await {
        Ok(answer) => {
            let mut response = json(envelope::result(&id, &answer.result));
            if let Some(version) = answer.agreed {
                let token = state.sessions.seal(&Session { version, owner })?;
                if let Ok(token) = HeaderValue::from_str(&token) {
                    response.headers_mut().insert(SESSION, token);
                }
            }
            Ok(response)
        }
        Err(error) => Ok(json(envelope::error(Some(&id), &error))),
    }
}

/// `GET /mcp`: the stream of notifications of a session.
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    headers: HeaderMap,
) -> Result<Response> {
    check_origin(&state, &headers)?;
    check_accept(&headers, &["text/event-stream"])?;
    let owner = format!("{}/{}", signed_in.tenant, signed_in.caller.identity.id());
    if let Err((status, error)) = session_of(&state, &headers, &owner) {
        return Ok(refused(status, &error));
    }
    let place = state.streams.clone().try_acquire_owned();
    let place =
        place.map_err(|_| Problem::new(Code::Unavailable, "too many streams are open; try again later"))?;
    let cx = Context::new(signed_in.tenant, signed_in.caller, DoorKind::Mcp, state.options.call_timeout);
    Ok(stream::open(state, cx, place))
}

/// The session a request belongs to: sealed by us or another replica, for this caller.
fn session_of(
    state: &Shared,
    headers: &HeaderMap,
    owner: &str,
) -> std::result::Result<Session, (StatusCode, RpcError)> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(version) = header(VERSION)
        && Version::find(version).is_none()
    {
        let message = format!("MCP-Protocol-Version '{version}' is not supported");
        return Err((StatusCode::BAD_REQUEST, RpcError::invalid_request(message)));
    }
    let Some(token) = header(SESSION) else {
        let message = "Mcp-Session-Id is missing; begin with 'initialize'";
        return Err((StatusCode::BAD_REQUEST, RpcError::invalid_request(message)));
    };
    let session = state.sessions.open(token).filter(|session| session.owner == owner);
    session
        .ok_or((StatusCode::NOT_FOUND, RpcError::new(-32001, "Session not found; begin with 'initialize'")))
}

/// A page of another origin must not reach a server on this machine through its browser.
fn check_origin(state: &Shared, headers: &HeaderMap) -> Result<()> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let is_configured = state.options.cors_origins.contains(origin);
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, rest)| rest);
    if is_configured || (!host.is_empty() && authority == Some(host)) {
        return Ok(());
    }
    Err(Problem::forbidden("this origin may not use the MCP door; allow it with --cors-origin"))
}

fn check_accept(headers: &HeaderMap, wanted: &[&str]) -> Result<()> {
    let accepts: Vec<_> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accepts = accepts.join(",").to_ascii_lowercase();
    if wanted.iter().all(|wanted| accepts.contains(wanted) || accepts.contains("*/*")) {
        return Ok(());
    }
    let detail = format!("send 'Accept: {}'", wanted.join(", "));
    Err(Problem::bad_request(detail).with_status(StatusCode::NOT_ACCEPTABLE))
}

fn refused(status: StatusCode, error: &RpcError) -> Response {
    (status, json(envelope::error(None, error))).into_response()
}

fn json(body: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}
