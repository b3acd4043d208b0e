//! The way to an API with one address: redirects as far as they may be followed, and the probe.

use super::redirect::{self, Redirects};
use crate::shared::http_tools::{Client, Transport, Turn, until_done};
use crate::shared::network::{Policy, Resolver};
use crate::shared::unreachable::explain;
use fetch::http::StatusCode;
use fetch::{Request, Response, Tls};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tool::{Context, Error, Result};

const MAX_REDIRECTS: usize = 5;
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The pooled connections of one service.
#[derive(Debug)]
pub(super) struct Direct {
    pub(super) http: fetch::Client,
    pub(super) policy: Arc<Policy>,
    redirects: Redirects,
}

impl Direct {
    pub(super) fn new(policy: Policy, tls: Tls, redirects: Redirects) -> Self {
        let policy = Arc::new(policy);
        Self { http: fetch::Client::new(Arc::new(Resolver(policy.clone())), tls), policy, redirects }
    }

    /// Sends, and follows redirects as far as they may be followed; every stop is checked.
    async fn follow(&self, request: &Request) -> Result<Response> {
        let redirects = self.redirects;
        let mut request = Cow::Borrowed(request);
        for _ in 0..=MAX_REDIRECTS {
            self.policy.check(&request.url)?;
            let response = self.http.send(Request::clone(&request)).await.map_err(explain)?;
            let target = redirect::target(redirects, response.status(), response.headers(), &request.url);
            let Some(target) = target else { return Ok(response) };
            redirect::follow(redirects, request.to_mut(), response.status(), target)?;
        }
        let message = format!("the service redirected more than {MAX_REDIRECTS} times");
        Err(Error::upstream(message))
    }
}

/// There is nobody else to turn to.
pub(super) struct OnlyOne;

impl Turn for OnlyOne {
    fn end(self, _: Option<&Error>) {}
}

impl Transport for Direct {
    type Turn = OnlyOne;

    const CREDENTIALS: &'static str = "'auth_config' (or 'auth')";

    async fn send(&self, _: &Context, request: &Request, _: Option<Duration>) -> Result<(Response, OnlyOne)> {
        Ok((self.follow(request).await?, OnlyOne))
    }
}

/// Asks for the headers of the base URL; any answer shows that somebody is there.
pub(super) async fn probe(cx: &Context, client: &Client<Direct>) -> Result<()> {
    let request = client.base().probe();
    let response = until_done(&cx.for_at_most(PROBE_TIMEOUT), client.way().follow(&request)).await?;
    match response.status() {
        status
        @ (StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT) => {
            let message = format!("the service answered HTTP {}", status.as_u16());
            Err(Error::unavailable(message).with_status(status.as_u16()).retryable())
        }
        _ => Ok(()),
    }
}
