//! One instance of a service: where it listens, and how much of the work it takes.

use std::fmt;

/// More than any registry means; smooth balancing adds them up.
pub(crate) const MAX_WEIGHT: u32 = 65_535;

/// An address that a registry, or the settings, gave us.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Instance {
    /// A name or an address, without the brackets of IPv6.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Its share of the work beside the others, from 1 on.
    pub(crate) weight: u32,
    /// Those with the lowest number serve while any of them can; only SRV records have others than 0.
    pub(crate) priority: u16,
}

impl Instance {
    /// An instance like all others.
    pub(crate) fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port, weight: 1, priority: 0 }
    }

    /// The same with a weight, of which none is too large.
    pub(crate) fn weighing(self, weight: u32) -> Self {
        Self { weight: weight.clamp(1, MAX_WEIGHT), ..self }
    }

    /// Reads `host:port`, where an address of IPv6 stands in brackets.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        let bare = match host.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').filter(|inner| inner.contains(':'))?,
            None => host,
        };
        let is_address = host.starts_with('[') && bare.parse::<std::net::Ipv6Addr>().is_ok();
        (is_address || is_host(bare)).then(|| Self::new(bare, port))
    }

    /// A registry may say anything: this is a host and not a piece of some URL.
    pub(crate) fn is_sane(&self) -> bool {
        self.port != 0 && (is_host(&self.host) || self.host.parse::<std::net::IpAddr>().is_ok())
    }
}

fn is_host(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(is_legal)
}

impl fmt::Display for Instance {
    /// `host:port`, as it stands in a URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hosts_and_addresses_with_a_port() {
        for text in ["a.example:80", "10.0.0.1:8080", "[::1]:1", "a_b-c:65535"] {
            assert_eq!(Instance::parse(text).unwrap().to_string(), text);
        }
        for text in
            ["a", "a:", ":1", "a:0", "a:65536", "::1:80", "[a]:1", "a/b:1", "u@h:1", "a b:1", "[::1]", ""]
        {
            assert_eq!(Instance::parse(text), None, "{text}");
        }
    }

    #[test]
    fn knows_a_host_from_a_piece_of_a_url() {
        for (host, is_sane) in [
            ("10.0.0.1", true),
            ("fe80::1", true),
            ("a.b", true),
            ("a/..", false),
            ("", false),
            ("a@b", false),
            ("a#", false),
        ] {
            assert_eq!(Instance::new(host, 1).is_sane(), is_sane, "{host}");
        }
    }
}
