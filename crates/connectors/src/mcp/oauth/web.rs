//! What is said to the servers that hand out tokens: little, briefly, and only over safe ways.

use super::super::web::{Web, is_loopback};
use crate::shared::body::{self, BodyError};
use crate::shared::network::refused;
use fetch::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use fetch::http::{Method, StatusCode};
use fetch::{Request, Response, Url};
use mcp::client::Failure;
use serde::de::DeserializeOwned;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(15);
const MAX_BYTES: usize = 256 * 1024;

/// An answer of a size that can be trusted.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(&self, what: &str) -> Result<T, Failure> {
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::SignIn(format!("{what} cannot be read: {error}")))
    }
}

/// Fetches a document; `None` where there is none.
pub(super) async fn document<T: DeserializeOwned>(
    web: &Web,
    url: &Url,
    what: &str,
) -> Result<Option<T>, Failure> {
    check(web, url, what)?;
    let answer = send(web, request(Method::GET, url), what).await?;
    match answer.status {
        StatusCode::OK => answer.json(what).map(Some),
        status if status.is_client_error() => Ok(None),
        status => Err(unexpected(what, status)),
    }
}

/// Posts a body and takes whatever comes back.
pub(super) async fn post(
    web: &Web,
    url: &Url,
    content_type: &'static str,
    body: String,
    authorization: Option<HeaderValue>,
    what: &str,
) -> Result<Answer, Failure> {
    check(web, url, what)?;
    let mut request = Request { body: body.into(), ..request(Method::POST, url) };
    request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(authorization) = authorization {
        request.headers.insert(AUTHORIZATION, authorization);
    }
    let answer = send(web, request, what).await?;
    if answer.status.is_server_error() || answer.status.is_redirection() {
        return Err(unexpected(what, answer.status));
    }
    Ok(answer)
}

/// Secrets travel over TLS, or do not leave the machine; and a server elsewhere has no business with
/// what runs on this machine.
pub(super) fn check(web: &Web, url: &Url, what: &str) -> Result<(), Failure> {
    let is_loopback = is_loopback(url);
    let is_safe = match url.scheme() {
        "https" => !is_loopback || web.is_loopback(),
        "http" => is_loopback && web.is_loopback(),
        _ => false,
    };
    if !is_safe || !url.username().is_empty() || url.password().is_some() {
        let why = format!(
            "the address of {what} is neither https nor as local as the server itself, and secrets are sent nowhere else"
        );
        return Err(Failure::SignIn(why));
    }
    web.check(url)
}

/// An address that somebody else has written down.
pub(super) fn address(text: &str, what: &str) -> Result<Url, Failure> {
    Url::parse(text).map_err(|error| Failure::SignIn(format!("the address of {what} is no URL: {error}")))
}

fn request(method: Method, url: &Url) -> Request {
    let mut request = Request::new(method, url.clone());
    request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    request
}

async fn send(web: &Web, request: Request, what: &str) -> Result<Answer, Failure> {
    let broken = |why: String| Failure::unreachable(format!("{what} {why}"));
    let exchange = async {
        let unreached = |error: fetch::Error| {
            let why = format!("{what} cannot be fetched{}", causes(&error));
            match refused::find(&error) {
                Some(_) => Failure::AddressRefused(why),
                None => Failure::unreachable(why),
            }
        };
        let response = web.client().send(request).await.map_err(unreached)?;
        Ok(Answer { status: response.status(), body: body(response, what).await? })
    };
    let late = |_| broken(format!("did not arrive within {} s", TIMEOUT.as_secs()));
    tokio::time::timeout(TIMEOUT, exchange).await.map_err(late)?
}

/// Why, for one because an address is not allowed.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

async fn body(response: Response, what: &str) -> Result<Vec<u8>, Failure> {
    body::read(response, MAX_BYTES).await.map_err(|error| match error {
        BodyError::TooLong => Failure::SignIn(format!("{what} is longer than {MAX_BYTES} bytes")),
        BodyError::Broken(_) => Failure::unreachable(format!("{what} broke off")),
    })
}

fn unexpected(what: &str, status: StatusCode) -> Failure {
    let why = format!("{what} cannot be fetched: HTTP status {}", status.as_u16());
    if status.is_server_error() { Failure::unreachable(why) } else { Failure::SignIn(why) }
}
