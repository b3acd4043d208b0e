//! What goes along with calls: fixed metadata, headers of the caller, and what gRPC itself sends.

use super::status::BASE64;
use crate::shared::headers::PassedHeaders;
use base64::Engine;
use fetch::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE, USER_AGENT};
use std::time::Duration;
use tool::{CallerHeaders, Problem};

const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("grpc-rust-mcp-all-in-one/", env!("CARGO_PKG_VERSION")));
/// The largest number that the protocol has room for, with any unit.
const MAX_TIMEOUT: u128 = 99_999_999;

/// Metadata of a service, checked.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    fixed: HeaderMap,
}

impl Metadata {
    /// Headers that may be sent, if gRPC allows them, too: values in base64 where the key ends in `-bin`.
    pub(super) fn check(headers: HeaderMap, problems: &mut Vec<Problem>) -> Self {
        let mut fixed = HeaderMap::new();
        for (name, value) in headers {
            let Some(name) = name else { continue };
            let path = format!("metadata.{name}");
            if is_reserved(&name) {
                let message = format!("the key '{name}' belongs to gRPC and cannot be set");
                problems.push(Problem::new(path, "ForbiddenHeader", message));
            } else if !is_sendable(&name, &value) {
                let message = format!("the value of '{name}' must be {}", rule(&name));
                problems.push(Problem::new(path, "InvalidHeaderValue", message));
            } else {
                fixed.insert(name, value);
            }
        }
        Self { fixed }
    }

    /// The headers of a call: what the settings say, then what is handed on from the caller.
    pub(super) fn headers(&self, passed: &PassedHeaders, caller: &CallerHeaders) -> HeaderMap {
        let mut headers = self.fixed.clone();
        let mut handed = HeaderMap::new();
        passed.hand_on(caller, &mut handed);
        for name in handed.keys() {
            let mut values = handed.get_all(name).iter().filter(|value| is_sendable(name, value)).peekable();
            if is_reserved(name) || values.peek().is_none() {
                continue;
            }
            headers.remove(name);
            for value in values {
                headers.append(name.clone(), value.clone());
            }
        }
        headers.insert(CONTENT_TYPE, GRPC);
        headers.insert(TE, TRAILERS);
        headers.entry(USER_AGENT).or_insert(AGENT);
        headers
    }
}

/// Tells the server how much time is left.
pub(super) fn set_timeout(headers: &mut HeaderMap, left: Duration) {
    let units = [(left.as_micros(), 'u'), (left.as_millis(), 'm'), (u128::from(left.as_secs()), 'S')];
    let fitting = units.into_iter().find(|(number, _)| *number <= MAX_TIMEOUT);
    let (number, unit) = fitting.unwrap_or((MAX_TIMEOUT, 'S'));
    if let Ok(value) = HeaderValue::try_from(format!("{number}{unit}")) {
        headers.insert(TIMEOUT, value);
    }
}

fn is_reserved(name: &HeaderName) -> bool {
    name.as_str().starts_with("grpc-") || name == CONTENT_TYPE || name == TE
}

/// gRPC is stricter than HTTP: printable ASCII, or base64.
fn is_sendable(name: &HeaderName, value: &HeaderValue) -> bool {
    match is_binary(name) {
        true => {
            value.as_bytes().split(|byte| *byte == b',').all(|part| BASE64.decode(part.trim_ascii()).is_ok())
        }
        false => value.as_bytes().iter().all(|byte| (b' '..=b'~').contains(byte)),
    }
}

fn is_binary(name: &HeaderName) -> bool {
    name.as_str().ends_with("-bin")
}

fn rule(name: &HeaderName) -> &'static str {
    if is_binary(name) {
        "base64, as its name ends in '-bin'"
    } else {
        "printable ASCII; for bytes, give it a name that ends in '-bin' and write base64"
    }
}
