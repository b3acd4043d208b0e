//! DNS: the addresses of a name, or its SRV records.

use super::web::Pace;
use super::{Instance, Watch};
use async_trait::async_trait;
use std::time::Duration;
use tool::{Error, Result};

/// A name whose addresses are instances, as the resolver of this machine has them.
#[derive(Debug)]
pub(super) struct Addresses {
    name: String,
    port: u16,
    refresh: Duration,
    pace: Pace,
}

impl Addresses {
    pub(super) fn new(name: String, port: u16, refresh: Duration) -> Self {
        Self { name, port, refresh, pace: Pace::default() }
    }
}

#[async_trait]
impl Watch for Addresses {
    async fn next(&mut self) -> Result<Vec<Instance>> {
        self.pace.keep(self.refresh).await;
        let found = tokio::net::lookup_host((self.name.as_str(), self.port)).await.map_err(|error| {
            self.pace.forget();
            Error::unavailable(format!("the name '{}' cannot be resolved", self.name)).caused_by(error)
        })?;
        let mut hosts: Vec<_> = found.map(|address| address.ip()).collect();
        // Resolvers change the order each time; whose turn it is must not.
        hosts.sort_unstable();
        Ok(hosts.into_iter().map(|host| Instance::new(host.to_string(), self.port)).collect())
    }
}
