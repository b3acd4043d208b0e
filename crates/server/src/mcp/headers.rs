//! What the headers of a request over HTTP must say before anything else is looked at.

use crate::Shared;
use crate::error::{Problem, Result};
use crate::keyless::{is_allowed_origin, is_this_machine};
use http::header::{ACCEPT, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mcp::{RpcError, Version, modern};

/// Browsers say with it what kind of page makes them ask.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A page of another origin must not reach a server on this machine through its browser.
pub(super) fn check_origin(state: &Shared, headers: &HeaderMap) -> Result<()> {
    if is_allowed_origin(state, headers) {
        return Ok(());
    }
    Err(Problem::forbidden("this origin may not use the MCP door; allow it with --cors-origin"))
}

/// Where no key is asked for, what keeps strangers out is that they do not run on this machine: a browser that does
/// must not lend its place to a page from elsewhere, by whatever name the page calls this machine.
pub(super) fn check_stranger(parts: &Parts) -> Result<()> {
    let header = |name: &HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let host = header(&HOST).or_else(|| parts.uri.authority().map(Authority::as_str)).unwrap_or_default();
    if !is_this_machine(host) {
        return Err(Problem::forbidden(
            "without a key this server is reached as localhost, 127.0.0.1 or [::1] only; behind another name start it without --no-auth",
        ));
    }
    if matches!(header(&FETCH_SITE), Some("cross-site" | "same-site")) && header(&ORIGIN).is_none() {
        return Err(Problem::forbidden(
            "a web page may not use this server; show a key, or allow its origin with --cors-origin",
        ));
    }
    Ok(())
}

pub(super) fn check_accept(headers: &HeaderMap, wanted: &[&str]) -> Result<()> {
    // What most say, word for word.
    if headers.get(ACCEPT).is_some_and(|value| value == "application/json, text/event-stream") {
        return Ok(());
    }
    let names = |value: &HeaderValue, kind: &str| {
        value.as_bytes().windows(kind.len()).any(|part| part.eq_ignore_ascii_case(kind.as_bytes()))
    };
    let is_accepted =
        |kind: &&str| headers.get_all(ACCEPT).iter().any(|value| names(value, kind) || names(value, "*/*"));
    if wanted.iter().all(is_accepted) {
        return Ok(());
    }
    let detail = format!("send 'Accept: {}'", wanted.join(", "));
    Err(Problem::bad_request(detail).with_status(StatusCode::NOT_ACCEPTABLE))
}

/// The refusal of a version that we do not speak. Where the body says another than the header, that is what is wrong.
pub(super) fn check_version(told: Option<&str>, body: Option<&str>) -> std::result::Result<(), RpcError> {
    match told {
        Some(told) if !Version::is_known(told) && body.is_none_or(|body| body == told) => {
            Err(modern::unsupported_version(told))
        }
        _ => Ok(()),
    }
}
