//! What answers without a key: no web page may read it, not even under a name that its owner has pointed at this machine.

use crate::Shared;
use crate::error::{Problem, Result};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Uri};

/// Lets a request through to what needs no key, unless a web page of others may have sent it.
pub(crate) async fn guard(State(state): State<Shared>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // Where others can reach us they know us by names that we do not know.
    let checked = check_origin(&state, &parts.headers)
        .and_then(|()| if state.is_local() { check_host(&state, &parts) } else { Ok(()) });
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => problem.into_response(),
    }
}

/// The request comes from a program, or from a page of this server, or from one that may call it.
pub(crate) fn check_origin(state: &Shared, headers: &HeaderMap) -> Result<()> {
    if is_allowed_origin(state, headers) {
        return Ok(());
    }
    Err(Problem::forbidden("this origin may not call this server; allow it with --cors-origin"))
}

/// The request means this machine, or a name that was allowed. Browsers send no origin with a request to the host that
/// the page came from, so that the name is all there is to see.
pub(crate) fn check_host(state: &Shared, parts: &Parts) -> Result<()> {
    let host = host_of(&parts.headers, &parts.uri);
    let is_configured =
        |host: &str| state.options.cors_origins.iter().any(|origin| authority(origin) == Some(host));
    if host.is_none_or(|host| is_this_machine(host) || is_configured(host)) {
        return Ok(());
    }
    let detail = "this server does not answer to that name without a key; allow it with --cors-origin";
    Err(Problem::forbidden(detail))
}

/// A page of another origin must not reach a server on this machine through its browser, not even
/// under a name that its owner has pointed at this machine.
pub(crate) fn is_allowed_origin(state: &Shared, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_own = !host.is_empty() && authority(origin) == Some(host);
    state.options.cors_origins.contains(origin) || is_own && (is_this_machine(host) || !state.is_local())
}

fn authority(origin: &HeaderValue) -> Option<&str> {
    origin.to_str().ok()?.split_once("://").map(|(_, rest)| rest)
}

/// The name the client has for us. One that cannot be read is no name of this machine.
fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    match headers.get(HOST) {
        Some(host) => Some(host.to_str().unwrap_or("?")),
        None => uri.authority().map(|authority| authority.as_str()),
    }
}

/// The name that every machine has for itself.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}
