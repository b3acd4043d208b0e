//! Headers: which names may be set, which values may be sent, and what is handed on from callers.

use fetch::http::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;
use tool::trace::{TRACEPARENT, TRACESTATE};
use tool::{CallerHeaders, Problem, Secret, Trace};

/// Names that settings must leave alone, and to what they belong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forbidden {
    pub(crate) names: &'static [&'static str],
    pub(crate) owner: &'static str,
}

/// Headers that belong to the connection or would let a request say two things at once.
const OF_CONNECTION: Forbidden = Forbidden {
    names: &[
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ],
    owner: "connection",
};

impl Forbidden {
    /// A header that settings write down, if it may be sent.
    pub(crate) fn check(
        self,
        (name, value): (&str, &str),
        path: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<(HeaderName, HeaderValue)> {
        let header = self.check_name(name, path, problems);
        let value = header_value(value);
        if value.is_none() {
            let message = format!("the value of the header '{name}' holds control characters or is too long");
            problems.push(Problem::new(path, "InvalidHeaderValue", message));
        }
        header.zip(value)
    }

    fn check_name(self, name: &str, path: &str, problems: &mut Vec<Problem>) -> Option<HeaderName> {
        let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
            let message = format!("'{name}' is no legal header name; use letters, digits and '-'");
            problems.push(Problem::new(path, "InvalidHeaderName", message));
            return None;
        };
        if self.names.contains(&header.as_str()) {
            let message = format!("the header '{name}' belongs to the {} and cannot be set", self.owner);
            problems.push(Problem::new(path, "ForbiddenHeader", message));
            return None;
        }
        Some(header)
    }
}

/// The name of a header that settings may set.
pub(crate) fn check_header_name(name: &str, path: &str, problems: &mut Vec<Problem>) -> Option<HeaderName> {
    OF_CONNECTION.check_name(name, path, problems)
}

/// Headers with fixed values.
pub(crate) fn check_headers(
    headers: &BTreeMap<String, String>,
    path: &str,
    problems: &mut Vec<Problem>,
) -> HeaderMap {
    let check = |(name, value): (&String, &String)| {
        OF_CONNECTION.check((name, value), &format!("{path}.{name}"), problems)
    };
    headers.iter().filter_map(check).collect()
}

const MAX_HEADER_BYTES: usize = 8 * 1024;

/// A header value without control characters, of a bearable length.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    if text.len() > MAX_HEADER_BYTES || text.contains(char::is_control) {
        return None;
    }
    HeaderValue::from_bytes(text.as_bytes()).ok()
}

/// No server takes longer tokens.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The value of `Authorization` for a token, marked sensitive so that it never shows; nothing if no header can carry it.
pub(crate) fn bearer(token: &Secret) -> Option<HeaderValue> {
    let token = token.expose();
    let is_sendable =
        !token.is_empty() && token.len() <= MAX_TOKEN_BYTES && !token.contains(char::is_control);
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok().filter(|_| is_sendable)?;
    value.set_sensitive(true);
    Some(value)
}

/// Headers of the caller's request that stay with us: they speak of the message to us or prove to
/// us who the caller is.
const OURS: [&str; 12] = [
    "accept",
    "accept-encoding",
    "content-encoding",
    "content-type",
    "cookie",
    "forwarded",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
    "via",
    "x-request-id",
];

/// The names of headers that are handed on from the caller's request to the service.
#[derive(Debug, Default)]
pub(crate) struct PassedHeaders(Vec<HeaderName>);

impl PassedHeaders {
    pub(crate) fn check(names: &[String], problems: &mut Vec<Problem>) -> Self {
        let mut checked: Vec<HeaderName> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let path = format!("pass_headers[{index}]");
            let Some(header) = check_header_name(name, &path, problems) else { continue };
            if OURS.contains(&header.as_str()) {
                let message =
                    format!("the header '{name}' belongs to the request to us and is not handed on");
                problems.push(Problem::new(path, "ForbiddenHeader", message));
            } else if checked.contains(&header) {
                let message = format!("the header '{name}' is listed twice");
                problems.push(Problem::new(path, "DuplicateHeader", message));
            } else {
                checked.push(header);
            }
        }
        Self(checked)
    }

    pub(crate) fn contains(&self, name: &HeaderName) -> bool {
        self.0.contains(name)
    }

    /// Something of what the caller sent is handed on.
    pub(crate) fn finds_any(&self, from: &CallerHeaders) -> bool {
        self.0.iter().any(|name| from.get_all(name).into_iter().flatten().next().is_some())
    }

    /// Hands on what the caller sent; whatever it is, it is the caller's secret.
    pub(crate) fn hand_on(&self, from: &CallerHeaders, to: &mut HeaderMap) {
        for name in &self.0 {
            let values = from.get_all(name).into_iter().flatten();
            let mut sendable = values.filter(|value| value.len() <= MAX_HEADER_BYTES).peekable();
            if sendable.peek().is_some() {
                to.remove(name);
            }
            for value in sendable {
                let mut value = value.clone();
                value.set_sensitive(true);
                to.append(name.clone(), value);
            }
        }
    }
}
/// Tells whoever is asked where the request stands in a trace, unless the headers say so already.
pub(crate) fn add_trace(trace: &Trace, headers: &mut HeaderMap) {
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    for (name, text) in [(TRACEPARENT, Some(trace.parent())), (TRACESTATE, trace.state().map(str::to_owned))]
    {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(name, value);
        }
    }
}
