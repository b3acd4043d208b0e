//! The answer to a connection that may not be made, and what would allow it.

use super::Setting;
use std::net::IpAddr;
use tool::{Error, Reason};

/// Says that the policy does not allow an address.
pub(super) fn error(address: IpAddr, setting: Setting) -> Error {
    let advice = match setting {
        Setting::Service => {
            "to allow it, set \"allow_private_network\": true or a list of ranges on the service"
        }
        Setting::HttpTool => {
            "to allow it, set config.HTTP.allow_private_network of the tool to true or a list of ranges"
        }
        Setting::Source => {
            "content comes from public addresses only, whatever the service itself may reach, unless the server runs with --allow-private-network"
        }
        Setting::Fetching => {
            "the object is large, so that the service that was called fetches it from its store itself; to allow it, set \"allow_private_network\": true or a list of ranges on the service that was called, as on that of the source"
        }
        Setting::Tenant => {
            "\"allow_private_network\" on a service or tool counts only where an admin of the platform has set \"allow_private_network\": true on its tenant (PATCH /api/v1/tenants/{id})"
        }
    };
    Error::denied(format!("the address {address} is not public and was refused; {advice}"))
        .because(Reason::AddressRefused)
        .with("address", address)
}

/// The refusal among the causes of a failed exchange, if it is one.
pub(crate) fn find(error: &fetch::Error) -> Option<&Error> {
    error.find::<Error>().filter(|cause| cause.reason() == Some(Reason::AddressRefused))
}
