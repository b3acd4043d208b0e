//! Content behind an address: fetched with GET, from where the service may go.

use super::Content;
use crate::shared::network::Policy;
use crate::shared::unreachable::explain;
use async_trait::async_trait;
use bytes::Bytes;
use fetch::http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use fetch::http::{HeaderValue, Method, StatusCode};
use fetch::{Client, Request, Response, Url};
use std::time::Duration;
use tokio::time::timeout;
use tool::objects::Chunks;
use tool::{Error, Result};

const MAX_REDIRECTS: usize = 5;

/// The content at an address, and where that sends us.
pub(super) async fn get(http: &Client, policy: &Policy, mut url: Url, time: Duration) -> Result<Content> {
    for _ in 0..=MAX_REDIRECTS {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("must begin with https:// or http://"));
        }
        policy.check(&url)?;
        let mut request = Request::new(Method::GET, url.clone());
        // The bytes as they are.
        request.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let response = timeout(time, http.send(request)).await.map_err(|_| late(time))?;
        let response = response.map_err(|error| explain(error).about("the source"))?;
        let status = response.status();
        // A part is not the whole, and nothing is no content.
        if matches!(status, StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION) {
            return Ok(to_content(response, time));
        }
        let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let Some(next) = location.filter(|_| status.is_redirection()).and_then(|to| url.join(to).ok()) else {
            let why = if status.is_success() { ", which is not all of its content" } else { "" };
            let message = format!("the source answered HTTP {}{why}", status.as_u16());
            return Err(Error::upstream(message).with_status(status.as_u16()));
        };
        if url.scheme() == "https" && next.scheme() != "https" {
            return Err(Error::upstream("the source redirected to an address without encryption"));
        }
        url = next;
    }
    Err(Error::upstream(format!("the source redirected more than {MAX_REDIRECTS} times")))
}

fn to_content(response: Response, time: Duration) -> Content {
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let content_type = text(CONTENT_TYPE).filter(|text| text.len() <= 200).map(str::to_owned);
    let size = text(CONTENT_LENGTH).and_then(|text| text.parse().ok());
    Content { body: Box::new(Fetched { response, time }), content_type, size }
}

struct Fetched {
    response: Response,
    /// How long each piece may take.
    time: Duration,
}

/// What stands still is ended, whatever the caller would wait for.
fn late(time: Duration) -> Error {
    Error::timeout(format!(
        "nothing came from the source for {} ms, which is the setting 'timeout_ms' of the service",
        time.as_millis()
    ))
    .retryable()
}

#[async_trait]
impl Chunks for Fetched {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let piece = timeout(self.time, self.response.chunk()).await.map_err(|_| late(self.time))?;
        piece.map_err(|error| {
            Error::unavailable("the connection to the source broke before its end")
                .caused_by(error)
                .retryable()
        })
    }
}

fn wrong(why: &str) -> Error {
    Error::invalid_input(format!("parameter 'source.url' {why}")).of_parameter("source.url")
}
