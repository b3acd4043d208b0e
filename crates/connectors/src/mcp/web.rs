//! The HTTP client of a service, bound to what the policy allows.

use crate::shared::network::{Policy, Resolver};
use fetch::{Client, Tls, Url};
use mcp::client::Failure;
use std::net::IpAddr;
use std::sync::Arc;

/// A way out for one service.
#[derive(Debug)]
pub(super) struct Web {
    policy: Arc<Policy>,
    is_loopback: bool,
    client: Client,
}

impl Web {
    /// For the service at `url`.
    pub(super) fn new(url: &Url, policy: Policy, mut tls: Tls) -> Self {
        tls.named_host = url.host_str().map(str::to_owned);
        let policy = Arc::new(policy);
        let client = Client::new(Arc::new(Resolver(policy.clone())), tls);
        Self { policy, is_loopback: is_loopback(url), client }
    }

    /// The service is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Refuses an address that is written down; names are checked when they are resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), Failure> {
        self.policy.check(url).map_err(|refused| Failure::AddressRefused(refused.to_string()))
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

/// The URL leads to this machine, as far as can be read from it.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    address.map_or_else(|_| host == "localhost", |address| address.is_loopback())
}
