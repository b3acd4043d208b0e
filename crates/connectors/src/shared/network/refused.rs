//! The answer to a connection that may not be made, and what would allow it.

use super::Setting;
use std::fmt;
use std::net::IpAddr;
use tool::Error;

/// An address that the policy does not allow.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) address: IpAddr,
    pub(super) setting: Setting,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = match self.setting {
            Setting::Service => {
                "to allow it, set \"allow_private_network\": true or a list of ranges on the service"
            }
            Setting::HttpTool => {
                "to allow it, set config.HTTP.allow_private_network of the tool to true or a list of ranges"
            }
            Setting::Tenant => {
                "\"allow_private_network\" on a service or tool counts only where an admin of the platform has set \"allow_private_network\": true on its tenant (PATCH /api/v1/tenants/{id})"
            }
        };
        write!(f, "the address {} is not public and was refused; {advice}", self.address)
    }
}

impl std::error::Error for Refused {}

impl From<&Refused> for Error {
    fn from(refused: &Refused) -> Self {
        Self::denied(refused.to_string()).with("address", refused.address)
    }
}
