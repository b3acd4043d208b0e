//! Headers: which names may be set, which values may be sent, and what is handed on from callers.

use fetch::http::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;
use tool::{CallerHeaders, Problem};

/// Headers that belong to the connection or would let a request say two things at once.
const FORBIDDEN_HEADERS: [&str; 13] = [
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
];

/// The name of a header that settings may set.
pub(super) fn check_header_name(name: &str, path: &str, problems: &mut Vec<Problem>) -> Option<HeaderName> {
    let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
        let message = format!("'{name}' is no legal header name; use letters, digits and '-'");
        problems.push(Problem::new(path, "InvalidHeaderName", message));
        return None;
    };
    if FORBIDDEN_HEADERS.contains(&header.as_str()) {
        let message = format!("the header '{name}' belongs to the connection and cannot be set");
        problems.push(Problem::new(path, "ForbiddenHeader", message));
        return None;
    }
    Some(header)
}

/// Headers with fixed values.
pub(super) fn check_headers(
    headers: &BTreeMap<String, String>,
    path: &str,
    problems: &mut Vec<Problem>,
) -> HeaderMap {
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let path = format!("{path}.{name}");
        let header = check_header_name(name, &path, problems);
        let Some(value) = header_value(value) else {
            let message = format!("the value of the header '{name}' holds control characters or is too long");
            problems.push(Problem::new(path, "InvalidHeaderValue", message));
            continue;
        };
        if let Some(header) = header {
            checked.insert(header, value);
        }
    }
    checked
}

const MAX_HEADER_BYTES: usize = 8 * 1024;

/// A header value without control characters, of a bearable length.
pub(super) fn header_value(text: &str) -> Option<HeaderValue> {
    if text.len() > MAX_HEADER_BYTES || text.contains(char::is_control) {
        return None;
    }
    HeaderValue::from_bytes(text.as_bytes()).ok()
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
pub(super) struct PassedHeaders(Vec<HeaderName>);

impl PassedHeaders {
    pub(super) fn check(names: &[String], problems: &mut Vec<Problem>) -> Self {
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

    pub(super) fn contains(&self, name: &HeaderName) -> bool {
        self.0.contains(name)
    }

    /// Hands on what the caller sent; whatever it is, it is the caller's secret.
    pub(super) fn hand_on(&self, from: &CallerHeaders, to: &mut HeaderMap) {
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
