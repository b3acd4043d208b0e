//! What the headers of a request over HTTP must say before anything else is looked at.

use crate::Shared;
use crate::error::{Problem, Result};
use crate::keyless::{is_allowed_origin, is_this_machine};
use crate::mcp::Answered;
use crate::mcp::received::{Fault, Refusal};
use crate::mcp::request::{Request, ServiceRequest};
use crate::mcp::sessions::OpenSession;
use http::header::{ACCEPT, AsHeaderName, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mcp::modern::{self, Meta};
use mcp::{HeaderParams, RpcError, Version};
use serde_json::value::RawValue;
use std::sync::Arc;
use tool::{Arguments, Context};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// What the names of headers with parameters begin with.
const PARAM: &str = "mcp-param-";
/// Browsers say with it what kind of page makes them ask.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A page of another origin must not reach a server on this machine through its browser.
pub(in crate::mcp) fn check_origin(state: &Shared, headers: &HeaderMap) -> Result<()> {
    if is_allowed_origin(state, headers) {
        return Ok(());
    }
    Err(Problem::forbidden("this origin may not use the MCP door; allow it with --cors-origin"))
}

/// Where no key is asked for, what keeps strangers out is that they do not run on this machine: a browser that does
/// must not lend its place to a page from elsewhere, by whatever name the page calls this machine.
pub(in crate::mcp) fn check_stranger(parts: &Parts) -> Result<()> {
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

pub(in crate::mcp) fn check_accept(headers: &HeaderMap, wanted: &[&str]) -> Result<()> {
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

/// The headers of a request to the MCP door, compared with its body.
#[derive(Clone, Copy)]
pub(in crate::mcp) struct Headers<'a> {
    pub(in crate::mcp) state: &'a Shared,
    pub(in crate::mcp) headers: &'a HeaderMap,
}

impl<'a> Headers<'a> {
    fn get(self, name: impl AsHeaderName) -> Option<&'a str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whoever stands between the client and us may have read the other one.
    fn check_once(self, name: &HeaderName) -> Answered<()> {
        match self.headers.get_all(name).iter().nth(1) {
            None => Ok(()),
            Some(_) => Err(modern::twice(name.as_str())),
        }
    }

    /// The request is one without a handshake, or means to be. `version` is that of its body.
    pub(in crate::mcp) fn are_modern(self, version: Option<&str>) -> bool {
        version.is_some() || self.get(VERSION).is_some_and(|version| Version::find(version).is_none())
    }

    /// The version in the header is one that we speak. Where the body says another, that is what is wrong.
    pub(in crate::mcp) fn check_version(self, meta: &Meta<'_>) -> Answered<()> {
        let body = meta.version.as_deref();
        match self.get(VERSION) {
            Some(told) if !Version::is_known(told) && body.is_none_or(|body| body == told) => {
                Err(modern::unsupported_version(told))
            }
            _ => Ok(()),
        }
    }

    /// The version of a request without a handshake, whose headers say what its body says.
    pub(in crate::mcp) fn check(
        self,
        meta: &Meta<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Answered<Version> {
        [&VERSION, &METHOD, &NAME].into_iter().try_for_each(|name| self.check_once(name))?;
        let told =
            modern::Headers { version: self.get(VERSION), method: self.get(METHOD), name: self.get(NAME) };
        told.check(meta, method, params)?;
        meta.check()
    }

    /// Arguments that the tool's schema wants in headers must stand there as well.
    pub(in crate::mcp) fn check_params(self, cx: &Context, request: &Request) -> Answered<()> {
        let Request::Service(ServiceRequest::CallTool(call)) = request else { return Ok(()) };
        let Some(route) = self.state.gateway.route(cx, &call.name) else { return Ok(()) };
        let params = HeaderParams::of(route.tool.input_schema()).unwrap_or_default();
        if params.is_empty() {
            return Ok(());
        }
        let arguments = call.arguments.clone().map(Arguments::from_raw).transpose().ok().flatten();
        let arguments = arguments.unwrap_or_default();
        // What cannot be compared is not passed on as if it had been.
        let unreadable = |error: tool::Error| RpcError::invalid_params(format!("Invalid params: {error}"));
        let arguments = arguments.as_value().map_err(unreadable)?;
        for name in self.headers.keys().filter(|name| name.as_str().starts_with(PARAM)) {
            self.check_once(name)?;
        }
        params.check(arguments, |name| self.get(name))
    }

    /// The session that a request belongs to: sealed by us or another replica, for this caller.
    pub(in crate::mcp) fn session(self, owner: &str) -> std::result::Result<Arc<OpenSession>, Refusal> {
        let Some(token) = self.get(SESSION) else {
            let message = "Mcp-Session-Id is missing; begin with 'initialize'";
            return Err(RpcError::invalid_request(message).into());
        };
        let session = self.state.sessions.open(token).filter(|open| open.session.owner == owner);
        let unknown = || RpcError::new(-32001, "Session not found; begin with 'initialize'");
        session.ok_or_else(|| Refusal::new(Fault::Session, unknown()))
    }
}
