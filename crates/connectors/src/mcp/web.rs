//! The HTTP client of a service: made on first use, and bound to what the policy allows.

use crate::shared::network::{Policy, Resolver};
use mcp::client::Failure;
use reqwest::Url;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which versions of HTTP are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// Only the one that a WebSocket can begin with.
    Http1,
    All,
}

/// A way out for one service.
#[derive(Debug)]
pub(super) struct Web {
    policy: Arc<Policy>,
    offer: Offer,
    is_loopback: bool,
    /// Made late, since loading certificates reads files.
    client: OnceLock<reqwest::Client>,
}

impl Web {
    /// For the service at `url`.
    pub(super) fn new(url: &Url, policy: Policy, offer: Offer) -> Self {
        let is_loopback = is_loopback(url);
        Self { policy: Arc::new(policy), offer, is_loopback, client: OnceLock::new() }
    }

    /// The service is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Refuses an address that is written down; names are checked when they are resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), Failure> {
        self.policy.check(url).map_err(|refused| Failure::Refused(refused.to_string()))
    }

    pub(super) async fn client(&self) -> Result<reqwest::Client, Failure> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let (resolver, offer) = (Resolver(self.policy.clone()), self.offer);
        let made = tokio::task::spawn_blocking(move || build(resolver, offer)).await;
        let broken = |why: String| Failure::Broken { why, is_sent: false };
        let made = made.map_err(|error| broken(error.to_string()))?;
        let made = made.map_err(|error| broken(format!("TLS cannot be set up: {error}")))?;
        Ok(self.client.get_or_init(|| made).clone())
    }
}

/// The URL leads to this machine, as far as can be read from it.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    address.map_or_else(|_| host == "localhost", |address| address.is_loopback())
}

fn build(resolver: Resolver, offer: Offer) -> reqwest::Result<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("mcp-all-in-one/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(Arc::new(resolver))
        // A proxy would resolve names itself, out of sight of the policy.
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    match offer {
        Offer::Http1 => builder.http1_only().build(),
        Offer::All => builder.build(),
    }
}
