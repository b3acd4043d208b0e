//! Which addresses a service may be reached at: the guard against requests to our own network.
//!
//! A name is checked when it is resolved, and the connection goes to the addresses that were
//! checked, so a name that changes its address between check and use gains nothing.

use fetch::{Resolve, Resolving, Url};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;
use tool::{Env, Error, Problem};

/// The setting `allow_private_network`: everything, nothing, or some ranges.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum AllowPrivateNetwork {
    Everything(bool),
    Ranges(Vec<String>),
}

/// The schema of the setting, in words the form and the checker both understand.
pub(crate) fn allow_private_network_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["boolean", "array"],
        "items": { "type": "string" },
        "default": false
    })
}

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

    /// The same, told that the setting stands somewhere else.
    pub(crate) fn set_in(self, setting: Setting) -> Self {
        match self {
            Self::Anywhere | Self::PublicAnd(_, Setting::Tenant) => self,
            Self::PublicAnd(ranges, _) => Self::PublicAnd(ranges, setting),
        }
    }

    fn refused(&self, address: IpAddr) -> Refused {
        let setting = match self {
            Self::Anywhere => Setting::default(),
            Self::PublicAnd(_, setting) => *setting,
        };
        Refused { address, setting }
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
    pub(crate) fn check(&self, url: &Url) -> Result<(), Refused> {
        let host = url.host_str().unwrap_or_default();
        match host.trim_matches(['[', ']']).parse() {
            Ok(address) if !self.allows(address) => Err(self.refused(address)),
            _ => Ok(()),
        }
    }
}

/// An address that the policy does not allow.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) address: IpAddr,
    setting: Setting,
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

/// Looks up names and keeps the addresses that the policy allows.
#[derive(Debug, Clone)]
pub(crate) struct Resolver(pub(crate) Arc<Policy>);

impl Resolve for Resolver {
    fn resolve(&self, name: &str) -> Resolving {
        let (policy, name) = (self.0.clone(), name.to_owned());
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            let (allowed, refused): (Vec<_>, Vec<_>) = found.partition(|address| policy.allows(address.ip()));
            match refused.first() {
                Some(address) if allowed.is_empty() => Err(policy.refused(address.ip()).into()),
                _ => Ok(allowed),
            }
        })
    }
}

/// A range of addresses, e.g. `10.0.0.0/8`; a lone address is a range of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    base: IpAddr,
    bits: u8,
}

/// The text is no range of addresses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidRange;

impl FromStr for Range {
    type Err = InvalidRange;

    fn from_str(text: &str) -> Result<Self, InvalidRange> {
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().map_err(|_| InvalidRange)?;
        let max = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(max), |bits| bits.parse().map_err(|_| InvalidRange))?;
        if bits > max { Err(InvalidRange) } else { Ok(Self { base, bits }) }
    }
}

impl Range {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differing = u32::from(base) ^ u32::from(address);
                differing.leading_zeros() >= self.bits.into()
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differing = u128::from(base) ^ u128::from(address);
                differing.leading_zeros() >= self.bits.into()
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// The IPv4 address that an IPv6 address leads to, where it is one of the forms that do.
fn innermost(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    let [a, b, c, d, e, f, g, h] = six.segments();
    let four = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match [a, b, c, d, e, f] {
        // Mapped, compatible, translated (SIIT) and NAT64.
        [0, 0, 0, 0, 0, 0xffff | 0] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => four(g, h),
        [0x2002, high, low, ..] => four(high, low),
        _ => address,
    }
}

/// Addresses of the public internet; what the registries set aside is not.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) => is_public_v6(six),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && b & 0xc0 == 64;
    let is_protocol = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99);
    let is_benchmark = a == 198 && b & 0xfe == 18;
    !(a == 0
        || a >= 224
        || is_shared
        || is_protocol
        || is_benchmark
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, ..] = address.segments();
    match a {
        // NAT64's well-known prefix; the address inside is checked on its own.
        0x64 => (b, c) == (0xff9b, 0),
        0 => matches!(innermost(IpAddr::V6(address)), IpAddr::V4(_)),
        // Teredo, benchmarks, ORCHID and documentation.
        0x2001 => b > 0x1ff && b != 0xdb8,
        0x3fff => b > 0xfff,
        // All that is handed out for the public internet so far.
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public_and(ranges: &[&str]) -> Policy {
        let ranges = ranges.iter().map(|range| range.parse().unwrap()).collect();
        Policy::PublicAnd(ranges, Setting::Service)
    }

    fn is_refused(policy: &Policy, url: &str) -> bool {
        policy.check(&url.parse().unwrap()).is_err()
    }

    #[test]
    fn refuses_every_way_to_write_an_address_of_our_own_network() {
        for host in [
            "127.0.0.1",
            "127.8.9.10",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.0.0.1.",
            "0.0.0.0",
            "0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0xa9fea9fe",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.1",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:a9fe:a9fe]",
            "[::127.0.0.1]",
            "[64:ff9b::10.0.0.1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[2002:a9fe:a9fe::1]",
            "[2001::1]",
            "[2001:db8::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[100::1]",
            "[3fff::1]",
            "[::ffff:0:127.0.0.1]",
            "①②⑦.0.0.1",
        ] {
            let url = format!("http://{host}/");
            assert!(is_refused(&public_and(&[]), &url), "{host}");
            assert!(!is_refused(&Policy::Anywhere, &url), "{host}");
        }
    }

    #[test]
    fn lets_public_addresses_pass() {
        for host in [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "[2606:4700::1111]",
            "[2001:4860:4860::8888]",
            "[64:ff9b::8.8.8.8]",
            "[::ffff:8.8.8.8]",
            "[2002:808:808::1]",
            "example.com",
        ] {
            assert!(!is_refused(&public_and(&[]), &format!("http://{host}/")), "{host}");
        }
    }

    #[test]
    fn opens_only_the_ranges_that_are_listed() {
        let policy = public_and(&["10.1.0.0/16", "127.0.0.1", "fd00::/8", "0.0.0.0/32"]);
        for host in ["10.1.2.3", "127.0.0.1", "[::ffff:10.1.2.3]", "[fd12::1]", "8.8.8.8", "0.0.0.0"] {
            assert!(!is_refused(&policy, &format!("http://{host}/")), "{host}");
        }
        for host in ["10.2.0.1", "127.0.0.2", "[::1]", "[fc00::1]", "0.0.0.1"] {
            assert!(is_refused(&policy, &format!("http://{host}/")), "{host}");
        }
        assert!(!is_refused(&public_and(&["0.0.0.0/0"]), "http://192.168.0.1/"));
    }

    #[test]
    fn says_which_ranges_are_none() {
        let texts = ["10.0.0.0/8", "10.0.0.0/33", "::/129", "ten", "10.0.0.0/", "10.0.0.0/-1", ""];
        let setting = AllowPrivateNetwork::Ranges(texts.map(str::to_owned).into());
        let mut problems = Vec::new();
        Policy::new(Some(&setting), &Env::default(), &mut problems);
        let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
        let expected: Vec<_> = (1..7).map(|index| format!("allow_private_network[{index}]")).collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn the_process_can_open_everything() {
        let env = Env { allow_private_network: true, ..Env::default() };
        assert_eq!(Policy::new(None, &env, &mut Vec::new()), Policy::Anywhere);
        assert_eq!(Policy::new(None, &Env::default(), &mut Vec::new()), public_and(&[]));
    }

    #[tokio::test]
    async fn refuses_a_name_that_resolves_to_loopback() {
        let resolve = async |policy| Resolver(Arc::new(policy)).resolve("localhost").await;
        let error = resolve(public_and(&[])).await.err().unwrap();
        assert!(error.downcast_ref::<Refused>().is_some(), "{error}");
        assert!(error.to_string().contains("\"allow_private_network\": true"), "{error}");
        assert!(!resolve(Policy::Anywhere).await.unwrap().is_empty());
    }
}
