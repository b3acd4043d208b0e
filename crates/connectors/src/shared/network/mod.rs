//! Which addresses a service may be reached at: the guard against requests to our own network.
//!
//! A name is checked when it is resolved, and the connection goes to the addresses that were
//! checked, so a name that changes its address between check and use gains nothing.

mod dial;
mod public;
mod range;
pub(crate) mod refused;
mod settings;
#[cfg(test)]
mod tests;

#[cfg(feature = "kafka")]
pub(crate) use dial::refusal;
pub(crate) use dial::{DialError, dial};
pub(crate) use range::{InvalidRange, Range};
pub(crate) use settings::{AllowPrivateNetwork, allow_private_network_schema};

use fetch::{Resolve, Resolving, Url};
use public::{innermost, is_public};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tool::{Env, Error, Problem};

/// Where connections may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Policy {
    /// To any address.
    Anywhere,
    /// To public addresses, and to these ranges.
    PublicAnd(Vec<Range>, Setting),
}

/// Where the setting stands that opens private addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Setting {
    #[default]
    Service,
    HttpTool,
    /// None: a caller has written the address.
    Source,
    /// On the service that fetches an object of another store.
    Fetching,
    /// The platform's admins have not let the tenant's services in, whatever they say themselves.
    Tenant,
}

impl Policy {
    /// What a service's setting and the process together allow; problems name the setting.
    pub(crate) fn new(setting: Option<&AllowPrivateNetwork>, env: &Env, problems: &mut Vec<Problem>) -> Self {
        let mut ranges = Vec::new();
        let mut is_everything = env.allow_private_network;
        match setting {
            Some(AllowPrivateNetwork::Everything(all)) => {
                is_everything |= *all && env.may_use_private_network
            }
            None => {}
            Some(AllowPrivateNetwork::Ranges(texts)) => {
                for (index, text) in texts.iter().enumerate() {
                    match text.parse() {
                        Ok(range) => ranges.push(range),
                        Err(InvalidRange) => problems.push(Problem::new(
                            format!("allow_private_network[{index}]"),
                            "InvalidRange",
                            format!("'{text}' is no address range; write e.g. 10.0.0.0/8 or fd00::/8"),
                        )),
                    }
                }
            }
        }
        match () {
            () if is_everything => Self::Anywhere,
            () if env.may_use_private_network => Self::PublicAnd(ranges, Setting::default()),
            () => Self::PublicAnd(Vec::new(), Setting::Tenant),
        }
    }

    /// What addresses that callers write may lead to, whatever their service may reach itself.
    pub(crate) fn of_callers(env: &Env) -> Self {
        match env.allow_private_sources {
            true => Self::Anywhere,
            false => Self::PublicAnd(Vec::new(), Setting::Source),
        }
    }

    /// The same, told that the setting stands somewhere else.
    pub(crate) fn set_in(self, setting: Setting) -> Self {
        match self {
            Self::Anywhere | Self::PublicAnd(_, Setting::Tenant) => self,
            Self::PublicAnd(ranges, _) => Self::PublicAnd(ranges, setting),
        }
    }

    fn refused(&self, address: IpAddr) -> Error {
        let setting = match self {
            Self::Anywhere => Setting::default(),
            Self::PublicAnd(_, setting) => *setting,
        };
        refused::error(address, setting)
    }

    /// Whether connections go to public addresses only.
    pub(crate) fn is_public(&self) -> bool {
        matches!(self, Self::PublicAnd(ranges, _) if ranges.is_empty())
    }

    /// Whether it opens nothing because the tenant's services may not, whatever they say.
    pub(crate) fn is_closed_to_tenant(&self) -> bool {
        matches!(self, Self::PublicAnd(_, Setting::Tenant))
    }

    /// Whether a connection may go there.
    pub(crate) fn allows(&self, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::PublicAnd(ranges, _) => {
                let inner = innermost(address);
                let is_listed = |range: &Range| range.contains(address) || range.contains(inner);
                ranges.iter().any(is_listed) || (is_public(address) && is_public(inner))
            }
        }
    }

    /// Checks a host that is written as an address; names are checked when they are resolved.
    ///
    /// # Errors
    /// When the address is refused.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Error> {
        let host = url.host_str().unwrap_or_default();
        match host.trim_matches(['[', ']']).parse() {
            Ok(address) if !self.allows(address) => Err(self.refused(address)),
            _ => Ok(()),
        }
    }
}

/// Looks up names and keeps the addresses that the policy allows.
#[derive(Debug, Clone)]
pub(crate) struct Resolver(pub(crate) Arc<Policy>);

impl Resolver {
    /// The addresses of a name that may be connected to.
    ///
    /// # Errors
    /// When there are some and none of them may.
    fn allowed(&self, found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, Error> {
        let Self(policy) = self;
        let (allowed, refused): (Vec<_>, Vec<_>) = found.partition(|address| policy.allows(address.ip()));
        match refused.first() {
            Some(address) if allowed.is_empty() => Err(policy.refused(address.ip())),
            _ => Ok(allowed),
        }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: &str) -> Resolving {
        let (resolver, name) = (self.clone(), name.to_owned());
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(resolver.allowed(found)?)
        })
    }
}
