//! EndpointSlices, of which a service has several, and the instances in them.

use crate::svc::discovery::MAX_INSTANCES;
use crate::svc::discovery::web::{Readable, warn_of_left_out};
use crate::svc::instance::Instance;
use serde::Deserialize;
use std::collections::BTreeMap;
use tool::{Error, Result};

/// A slice has up to a hundred endpoints, and rarely less than half of that.
const MAX_SLICES: usize = MAX_INSTANCES / 5;
/// Those that are not ready are listed too.
const MAX_ADDRESSES: usize = MAX_INSTANCES * 4;

/// The slices of a service as of some version.
#[derive(Debug, Default)]
pub(super) struct Slices {
    pub(super) version: String,
    by_name: BTreeMap<String, Slice>,
}

/// One slice: every address in it listens on every port.
#[derive(Debug, Deserialize)]
pub(super) struct Slice {
    #[serde(default)]
    pub(super) metadata: Metadata,
    #[serde(default)]
    endpoints: Option<Readable<Endpoint>>,
    #[serde(default)]
    ports: Option<Readable<SlicePort>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    name: String,
    pub(super) resource_version: String,
}

#[derive(Debug, Deserialize)]
struct Endpoint {
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    conditions: Conditions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Conditions {
    /// Unknown counts as ready, as the API says.
    ready: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct SlicePort {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    port: Option<u16>,
}

/// Which port of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::svc::discovery) enum Port {
    Name(String),
    Number(u16),
}

impl Slices {
    /// Takes a slice in, instead of what had its name.
    ///
    /// # Errors
    /// When there are more slices, or more addresses in them, than any service has.
    pub(super) fn put(&mut self, slice: Slice) -> Result<()> {
        self.by_name.insert(slice.metadata.name.clone(), slice);
        let addresses: usize = self.by_name.values().map(Slice::count).sum();
        if self.by_name.len() > MAX_SLICES || addresses > MAX_ADDRESSES {
            self.by_name.clear();
            let message =
                format!("the service has more than {MAX_SLICES} EndpointSlices or {MAX_ADDRESSES} endpoints");
            return Err(Error::upstream(message));
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, slice: &Slice) {
        self.by_name.remove(&slice.metadata.name);
    }

    /// The ready endpoints of all slices.
    ///
    /// # Errors
    /// When no slice has the port, or has several and none was named.
    pub(super) fn instances(&self, port: Option<&Port>) -> Result<Vec<Instance>> {
        let (mut instances, mut refused) = (Vec::new(), None);
        for slice in self.by_name.values() {
            let ready = slice.endpoints().filter(|endpoint| endpoint.is_ready());
            let addresses: Vec<&String> = ready.flat_map(|endpoint| &endpoint.addresses).collect();
            if addresses.is_empty() {
                continue;
            }
            match slice.port(port) {
                Ok(port) => {
                    instances
                        .extend(addresses.into_iter().map(|address| Instance::new(address.as_str(), port)));
                }
                Err(error) => {
                    warn_of_left_out(addresses.len());
                    refused = Some(error);
                }
            }
        }
        refused.filter(|_| instances.is_empty()).map_or(Ok(instances), Err)
    }
}

impl Endpoint {
    fn is_ready(&self) -> bool {
        self.conditions.ready.unwrap_or(true)
    }
}

impl Slice {
    fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().flat_map(|endpoints| &endpoints.0)
    }

    fn count(&self) -> usize {
        self.endpoints().map(|endpoint| endpoint.addresses.len()).sum()
    }

    fn port(&self, wanted: Option<&Port>) -> Result<u16> {
        let ports = self.ports.as_ref().map(|ports| ports.0.as_slice()).unwrap_or_default();
        let found = match wanted {
            Some(Port::Name(name)) => {
                ports.iter().find(|port| port.name.as_deref().unwrap_or_default() == name)
            }
            Some(Port::Number(number)) => ports.iter().find(|port| port.port == Some(*number)),
            None if ports.len() > 1 => None,
            None => ports.first(),
        };
        found.and_then(|port| port.port).ok_or_else(|| no_port(ports))
    }
}

/// Endpoints listen on the target's port, which is often not the one of the service.
fn no_port(ports: &[SlicePort]) -> Error {
    let described: Vec<_> = ports
        .iter()
        .take(10)
        .map(|port| {
            let name = port.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("unnamed");
            format!("{} ({name:.64})", port.port.unwrap_or_default())
        })
        .collect();
    Error::invalid_config(format!(
        "'discovery.port' must name one of the ports that the endpoints listen on: {}",
        described.join(", ")
    ))
}
