//! How many clients may be connected: in all, and from one address.

use serde_json::json;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What clients may cost, whoever they are.
#[derive(Debug, Clone)]
pub struct ClientLimits {
    /// The head of a request must be there so soon after its first byte; the first one after the connection.
    pub head_timeout: Duration,
    /// A body of which so long nothing comes is given up, and a client that so long takes nothing of its answer.
    pub body_timeout: Duration,
    /// A connection without a request is closed after this time. Streams of notifications are requests under way.
    pub keep_alive: Duration,
    /// Connections at the same time; unless given, three quarters of the files that this process may have open.
    pub max_connections: Option<usize>,
    /// Of these, from one address; unless given 256, and any number from this machine, where a proxy may stand.
    pub max_connections_per_address: Option<usize>,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(75),
            max_connections: None,
            max_connections_per_address: None,
        }
    }
}

/// More would not fit into memory on small machines.
const MOST: usize = 10_000;
const MOST_PER_ADDRESS: usize = 256;

/// The connections of all clients.
pub(crate) struct Connections {
    most: usize,
    most_per_address: usize,
    /// Nobody but ourselves comes from here, or a proxy for everybody.
    trusts_loopback: bool,
    open: Mutex<Open>,
    refused: AtomicU64,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// A client that was let in; its place is free when this is dropped.
pub(crate) struct Place {
    of: Arc<Connections>,
    address: IpAddr,
}

/// Why a client was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// There are too many.
    Full,
    /// There are too many from its address.
    FullForAddress,
    /// The operating system gives us no more.
    NoDescriptors,
}

impl Connections {
    pub(crate) fn new(limits: &ClientLimits) -> Self {
        let per_address = limits.max_connections_per_address;
        Self {
            most: limits.max_connections.unwrap_or_else(default_most),
            most_per_address: per_address.unwrap_or(MOST_PER_ADDRESS),
            trusts_loopback: per_address.is_none(),
            open: Mutex::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// Lets a client in, if there is room.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Place, Refusal> {
        let address = neighbourhood(address);
        let mut open = self.lock();
        let refusal = if open.all >= self.most {
            Some(Refusal::Full)
        } else {
            let is_limited = !(self.trusts_loopback && address.is_loopback());
            let count = open.by_address.get(&address).copied().unwrap_or_default();
            (is_limited && count >= self.most_per_address).then_some(Refusal::FullForAddress)
        };
        if let Some(refusal) = refusal {
            drop(open);
            self.count_refused();
            return Err(refusal);
        }
        open.all += 1;
        *open.by_address.entry(address).or_default() += 1;
        Ok(Place { of: self.clone(), address })
    }

    /// Counts a client that was sent away.
    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// How many are connected, how many may be, and how many were sent away.
    pub(crate) fn numbers(&self) -> (usize, usize, u64) {
        (self.lock().all, self.most, self.refused.load(Ordering::Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.of.lock();
        open.all = open.all.saturating_sub(1);
        if let Some(count) = open.by_address.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

impl Refusal {
    /// What the client is told, whatever it wanted to ask.
    pub(crate) fn answer(self) -> Vec<u8> {
        let detail = match self {
            Self::Full => "the server has as many clients as it takes (--max-connections); try again later",
            Self::FullForAddress => {
                "the server takes no more connections from your address (--max-connections-per-address); close some, or try again later"
            }
            Self::NoDescriptors => {
                "the server cannot open more connections (its limit of open files); try again later"
            }
        };
        let id: Arc<str> = tool::new_id();
        let body = json!({
            "title": "Service Unavailable", "status": 503, "code": "UNAVAILABLE", "detail": detail,
            "errors": [], "request_id": &*id,
        });
        let body = body.to_string();
        let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 5\r\nconnection: close\r\n";
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }
}

/// The address that stands for all that one client can choose from: with IPv6 that is a whole /64.
pub(crate) fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        other => other,
    }
}

/// A quarter is left for the database, and for the services that the clients' calls lead to.
fn default_most() -> usize {
    descriptors().map_or(MOST, |descriptors| (descriptors / 4 * 3).clamp(1, MOST))
}

#[cfg(unix)]
fn descriptors() -> Option<usize> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current?.try_into().ok()
}

#[cfg(not(unix))]
fn descriptors() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: usize, per_address: Option<usize>) -> Arc<Connections> {
        let limits = ClientLimits {
            max_connections: Some(all),
            max_connections_per_address: per_address,
            ..ClientLimits::default()
        };
        Arc::new(Connections::new(&limits))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn counts_in_all_and_by_address_and_gives_places_back() {
        let connections = connections(3, Some(2));
        let first = connections.admit(address("10.0.0.1")).unwrap();
        // The same, as a socket for both families sees it.
        let second = connections.admit(address("::ffff:10.0.0.1")).unwrap();
        assert_eq!(connections.admit(address("10.0.0.1")).err(), Some(Refusal::FullForAddress));
        let third = connections.admit(address("10.0.0.2")).unwrap();
        assert_eq!(connections.admit(address("10.0.0.3")).err(), Some(Refusal::Full));
        assert_eq!(connections.numbers(), (3, 3, 2));
        drop((first, second));
        let again = connections.admit(address("10.0.0.1")).unwrap();
        drop((third, again));
        assert_eq!(connections.numbers(), (0, 3, 2));
        assert!(connections.lock().by_address.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let connections = connections(10, Some(1));
        let _place = connections.admit(address("2001:db8:1:2::1")).unwrap();
        assert_eq!(connections.admit(address("2001:db8:1:2:3::4")).err(), Some(Refusal::FullForAddress));
        assert!(connections.admit(address("2001:db8:1:3::1")).is_ok());
    }

    #[test]
    fn takes_any_number_from_this_machine_unless_told_otherwise() {
        let connections = connections(MOST_PER_ADDRESS * 3, None);
        for (from, is_taken) in [("127.0.0.1", true), ("::1", true), ("10.0.0.1", false)] {
            let places: Vec<_> = (0..=MOST_PER_ADDRESS).map(|_| connections.admit(address(from))).collect();
            assert_eq!(places.last().unwrap().is_ok(), is_taken, "{from}");
        }
    }
}
