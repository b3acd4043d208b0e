//! A document from the web, fetched under the same guard as every call.

use super::document::MAX_BYTES;
use super::refuse;
use crate::shared::body::{self, BodyError};
use crate::shared::network::{AllowPrivateNetwork, Policy, Resolver, refused};
use fetch::http::Method;
use fetch::http::header::{ACCEPT, HeaderValue, LOCATION};
use fetch::{Client, Request, Response, Tls, Url};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tool::connector::invalid_settings;
use tool::{Env, Error, Result};

/// All redirects and the whole document included.
const TIME: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;
const WANTED: HeaderValue = HeaderValue::from_static("application/json, application/yaml, */*;q=0.5");

pub(super) struct Fetched {
    pub(super) text: String,
    /// Where it was in the end.
    pub(super) address: Url,
}

/// Gets the text behind an address.
///
/// # Errors
/// `InvalidInput` for an address that is none or is not allowed; otherwise what went wrong on the way.
pub(super) async fn fetch(url: &str, allow_private_network: Option<&Value>, env: &Env) -> Result<Fetched> {
    let policy = Arc::new(policy(allow_private_network, env)?);
    let url = parse(url)?;
    let client = Client::new(Arc::new(Resolver(policy.clone())), Tls::default());
    let fetching = async {
        let (response, address) = follow(&client, &policy, url).await?;
        Ok(Fetched { text: read(response).await?, address })
    };
    let late =
        || Error::timeout(format!("the document did not arrive within {} s", TIME.as_secs())).retryable();
    tokio::time::timeout(TIME, fetching).await.unwrap_or_else(|_| Err(late()))
}

fn policy(setting: Option<&Value>, env: &Env) -> Result<Policy> {
    let mut problems = Vec::new();
    // A setting of the wrong type is refused with the other settings; until then it opens nothing.
    let setting = setting.and_then(|value| AllowPrivateNetwork::deserialize(value).ok());
    let policy = Policy::new(setting.as_ref(), env, &mut problems);
    for problem in &mut problems {
        problem.path = format!("config.{}", problem.path);
    }
    if problems.is_empty() { Ok(policy) } else { Err(invalid_settings("api", problems)) }
}

fn parse(text: &str) -> Result<Url> {
    let invalid = |why: &str| {
        refuse("url", "InvalidUrl", format!("the url {why}; write e.g. https://api.example.com/openapi.json"))
    };
    let url = Url::parse(text).map_err(|_| invalid("is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("holds a user name or password; fetch it yourself and send it as document"));
    }
    Ok(url)
}

/// Nothing secret is sent, so a redirect may lead anywhere the guard allows.
async fn follow(client: &Client, policy: &Policy, mut url: Url) -> Result<(Response, Url)> {
    for _ in 0..=MAX_REDIRECTS {
        policy.check(&url).map_err(|refused| not_allowed(&refused))?;
        let mut request = Request::new(Method::GET, url.clone());
        request.headers.insert(ACCEPT, WANTED);
        let response = client.send(request).await.map_err(explain)?;
        let status = response.status();
        if status.is_success() {
            return Ok((response, url));
        }
        let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
        let Some(location) = location.and_then(|value| value.to_str().ok()) else {
            let message = format!("the address of the document answered HTTP {}", status.as_u16());
            return Err(Error::upstream(message).with_status(status.as_u16()));
        };
        let target = url.join(location).map_err(|_| Error::upstream("a redirect leads to no address"))?;
        url = parse(target.as_str())?;
    }
    Err(Error::upstream(format!("the address of the document redirects more than {MAX_REDIRECTS} times")))
}

/// At most so much, counted after decompression.
async fn read(response: Response) -> Result<String> {
    let bytes = body::read(response, MAX_BYTES).await.map_err(|error| match error {
        BodyError::TooLong => {
            refuse("url", "TooLarge", format!("the document has more than {MAX_BYTES} bytes"))
        }
        BodyError::Broken(error) => explain(error),
    })?;
    String::from_utf8(bytes).map_err(|_| refuse("url", "Unreadable", "the document is no UTF-8 text"))
}

fn explain(error: fetch::Error) -> Error {
    if let Some(refused) = refused::find(&error) {
        return not_allowed(refused);
    }
    let advice = error.advice().map(|advice| format!(": {advice}")).unwrap_or_default();
    Error::unavailable(format!("the document could not be fetched{advice}")).caused_by(error).retryable()
}

fn not_allowed(refused: &Error) -> Error {
    refuse("url", "AddressRefused", refused.to_string())
}
