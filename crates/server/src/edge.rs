//! The edge: what every request meets first and every response last.

use crate::error::{Code, Problem};
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use http::header::{ALLOW, CONTENT_SECURITY_POLICY, HOST, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;
use tool::Trace;
use tool::trace::{TRACEPARENT, TRACESTATE};
use tower::Service;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Names the request in logs, audit and problems: the client's own id where it is a sane one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

/// The W3C trace the request belongs to, where its client says so.
#[derive(Debug, Clone)]
pub(crate) struct ClientTrace(pub(crate) Option<Arc<Trace>>);

/// Gives the request its id, logs it, writes problems out, and survives what panics.
pub(crate) async fn edge(mut request: Request, mut router: Router) -> Response {
    let id = request_id(&request);
    request.extensions_mut().insert(RequestId(id.clone()));
    let trace = ClientTrace(trace_of(request.headers()));
    request.extensions_mut().insert(trace);
    // What only the log needs is not made unless somebody reads the log.
    let logged = tracing::enabled!(tracing::Level::INFO)
        .then(|| (request.method().clone(), logged_path(request.uri().path()), Instant::now()));

    let ended = match check_host(&request) {
        Ok(()) => AssertUnwindSafe(router.call(request)).catch_unwind().await,
        Err(problem) => Ok(Ok(problem.into_response())),
    };

    let mut response = match ended {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => panicked(),
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let before = std::mem::replace(&mut response, problem.into_response_for(&id));
        // What browsers must know of a problem, too, and which methods there are.
        let is_kept =
            |name: &HeaderName| [VARY, ALLOW].contains(name) || name.as_str().starts_with("access-control-");
        let kept = before.headers().iter().filter(|(name, _)| is_kept(name));
        response.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
    }
    if let Some((method, path, begun)) = logged {
        let status = response.status().as_u16();
        let ms = begun.elapsed().as_millis();
        tracing::info!(request_id = %id, %method, path, status, ms, "{method} {path} {status}");
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID.clone(), value);
    }
    protect(headers);
    response
}

/// What browsers must not do with anything of ours.
fn protect(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // A page that shows ours in a frame could make people press its buttons.
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.append(CONTENT_SECURITY_POLICY, HeaderValue::from_static("frame-ancestors 'none'"));
}

/// Whom a request is for must be said, and once: of two, what stands before us may believe the other. Clients older than
/// HTTP/1.1 need not say it, and newer ones say it in the address.
fn check_host(request: &Request) -> Result<(), Problem> {
    let count = request.headers().get_all(HOST).iter().count();
    let is_needed = request.version() == Version::HTTP_11;
    if count == 1 || count == 0 && !is_needed {
        return Ok(());
    }
    let detail =
        format!("the request has {count} Host headers; send exactly one, with the name of this server");
    Err(Problem::bad_request(detail))
}

fn request_id(request: &Request) -> Arc<str> {
    let given = request.headers().get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let is_sane = |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    match given.filter(is_sane) {
        Some(id) => id.into(),
        None => tool::new_id(),
    }
}

fn trace_of(headers: &HeaderMap) -> Option<Arc<Trace>> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    Trace::parse(text(TRACEPARENT)?, text(TRACESTATE)).map(Arc::new)
}

/// A key in the path of a door must not reach the log.
fn logged_path(path: &str) -> String {
    // A link is a key, too.
    if let Some((before, _)) = path.split_once("/o/") {
        return format!("{before}/o/***");
    }
    // Something may stand before every path.
    let Some((before, behind)) = path.split_once("/mcp/") else { return path.to_owned() };
    if before.contains("/api/v1/") {
        return path.to_owned();
    }
    if !before.ends_with("/api/v1") {
        return format!("{before}/mcp/***");
    }
    match behind.split_once('/') {
        Some((key, rest)) if !matches!(key, "id" | "tools") => format!("{before}/mcp/***/{rest}"),
        _ => path.to_owned(),
    }
}

/// For paths that lead nowhere.
pub(crate) async fn no_such_path(request: Request) -> Problem {
    Problem::new(Code::NotFound, format!("there is nothing at {}", request.uri().path()))
}

/// For paths that exist, with another method.
pub(crate) async fn no_such_method(request: Request) -> Problem {
    let detail = format!("{} is not a method of {}", request.method(), request.uri().path());
    Problem::bad_request(detail).with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// For handlers that panicked: a mistake of ours that must not look like anything else.
fn panicked() -> Response {
    Problem::new(Code::Internal, "a mistake of ours; see the server's log").into_response()
}
