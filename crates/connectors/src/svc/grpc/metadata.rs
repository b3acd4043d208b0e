//! What goes along with calls: fixed metadata, headers of the caller, and what gRPC itself sends.

use super::exchange::add_own;
use super::status::BASE64;
use crate::shared::headers::PassedHeaders;
use base64::Engine;
use fetch::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use tool::{CallerHeaders, Problem};

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
        add_own(&mut headers);
        headers
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
