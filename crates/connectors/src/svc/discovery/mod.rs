//! Where instances come from: written down, or kept by a registry that is followed.

mod check;
mod consul;
mod dns;
#[cfg(feature = "dns-srv")]
mod dns_srv;
mod follow;
mod kubernetes;
mod nacos;
mod settings;
mod web;

pub(super) use check::RegistryAccess;
pub(super) use follow::{Followed, Pace};
pub(super) use settings::DiscoverySettings;

use super::instance::Instance;
use async_trait::async_trait;
use std::fmt;
use tool::Result;

/// More instances than any service has; a registry that names more is not believed.
pub(super) const MAX_INSTANCES: usize = 1000;

/// Where the instances of one service come from.
#[derive(Debug)]
pub(super) enum Discovery {
    Static(Vec<Instance>),
    Registry(Registry),
}

/// A registry and whom it is asked about.
#[derive(Debug)]
pub(super) struct Registry {
    /// For people, e.g. `Consul`.
    pub(super) name: &'static str,
    pub(super) service: String,
    pub(super) watch: Box<dyn Watch>,
}

/// Follows one service in a registry.
#[async_trait]
pub(super) trait Watch: fmt::Debug + Send {
    /// The instances: at once when it is asked for the first time or after an error, else when there is news or it
    /// is time to look again.
    ///
    /// # Errors
    /// When the registry does not answer, or with what cannot be believed.
    async fn next(&mut self) -> Result<Vec<Instance>>;
}
