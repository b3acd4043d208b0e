//! Where a topic is: the brokers that keep it, and the addresses that each is reached at.

use super::failure;
use super::proto::{Address, Endpoints, MessageQueue, READABLE, WRITABLE};
use crate::shared::instance::Instance;
use std::collections::BTreeSet;
use std::net::IpAddr;
use tool::{Error, Result};

/// `AddressScheme`.
const IPV4: i32 = 1;
const IPV6: i32 = 2;
const DOMAIN_NAME: i32 = 3;
/// The most queues of a topic, and the most addresses of a broker, that are looked at.
const MAX_QUEUES: usize = 1024;
const MAX_ADDRESSES: usize = 32;

/// One broker of a topic. Only some of its queues may be written or read, which is its own matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) broker: String,
    pub(super) addresses: Vec<Instance>,
}

/// The brokers of one topic.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) writable: Vec<Place>,
    pub(super) readable: Vec<Place>,
    /// The types of messages that the topic takes; none is all.
    pub(super) types: BTreeSet<i32>,
}

impl Route {
    /// What a server said. Followers are left out: they neither take messages nor hand them out to us.
    ///
    /// # Errors
    /// `Unavailable` where it named no broker that can be reached.
    pub(super) fn read(queues: &[MessageQueue], topic: &str) -> Result<Self> {
        let (mut writable, mut readable, mut types) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for queue in queues.iter().take(MAX_QUEUES) {
            let Some(place) = place(queue) else { continue };
            if WRITABLE.contains(&queue.permission) {
                writable.insert(place.clone());
                types.extend(&queue.accept_message_types);
            }
            if READABLE.contains(&queue.permission) {
                readable.insert(place);
            }
        }
        if writable.is_empty() && readable.is_empty() {
            let message = format!("RocketMQ names no broker of the topic '{topic}' that can be reached");
            return Err(Error::unavailable(message).retryable());
        }
        let all = |places: BTreeSet<Place>| places.into_iter().collect();
        Ok(Self { writable: all(writable), readable: all(readable), types })
    }

    pub(super) fn takes(&self, message_type: i32) -> bool {
        self.types.is_empty() || self.types.contains(&message_type)
    }

    /// One of the brokers that messages can be written to, another each time.
    ///
    /// # Errors
    /// `Upstream` where the topic can only be read.
    pub(super) fn writer(&self, turn: usize, topic: &str) -> Result<&Place> {
        let place = self.writable.get(turn % self.writable.len().max(1));
        place.ok_or_else(|| Error::upstream(format!("RocketMQ lets nobody write to the topic '{topic}'")))
    }
}

fn place(queue: &MessageQueue) -> Option<Place> {
    let broker = queue.broker.as_ref().filter(|broker| broker.id == 0)?;
    let addresses = broker.endpoints.as_ref()?.addresses.iter().take(MAX_ADDRESSES).filter_map(instance);
    let addresses: Vec<_> = addresses.collect();
    (!addresses.is_empty()).then(|| Place { broker: broker.name.clone(), addresses })
}

/// A server may say anything: this is a host and a port.
fn instance(address: &Address) -> Option<Instance> {
    let port = u16::try_from(address.port).ok()?;
    Some(Instance::new(address.host.trim_matches(['[', ']']), port)).filter(Instance::is_sane)
}

/// Addresses as RocketMQ reads them.
pub(super) fn endpoints_of(instances: &[Instance]) -> Endpoints {
    let scheme = match instances.first().map(|first| first.host.parse()) {
        Some(Ok(IpAddr::V4(_))) => IPV4,
        Some(Ok(IpAddr::V6(_))) => IPV6,
        _ => DOMAIN_NAME,
    };
    let addresses = instances.iter().map(|one| Address { host: one.host.clone(), port: i32::from(one.port) });
    Endpoints { scheme, addresses: addresses.collect() }
}

/// The topic is where a route says, or nowhere.
pub(super) fn readers<'a>(route: &'a Route, topic: &str) -> Result<&'a [Place]> {
    match route.readable.is_empty() {
        false => Ok(&route.readable),
        true => Err(failure::missing(topic)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::proto::{Broker, Resource};
    use super::*;

    fn queue(broker: (&str, i32), host: &str, port: i32, permission: i32) -> MessageQueue {
        let addresses = vec![Address { host: host.to_owned(), port }];
        let endpoints = Some(Endpoints { scheme: IPV4, addresses });
        MessageQueue {
            topic: Resource::named("orders"),
            id: 0,
            permission,
            broker: Some(Broker { name: broker.0.to_owned(), id: broker.1, endpoints }),
            accept_message_types: vec![1],
        }
    }

    #[test]
    fn keeps_brokers_that_can_be_reached_and_drops_what_is_no_address() {
        let told = [
            queue(("a", 0), "10.0.0.1", 8081, 4),
            queue(("a", 0), "10.0.0.1", 8081, 4),
            queue(("b", 0), "10.0.0.2", 8081, 2),
            queue(("c", 1), "10.0.0.3", 8081, 4),
            queue(("d", 0), "10.0.0.4/..", 8081, 4),
            queue(("e", 0), "10.0.0.5", 70_000, 4),
            queue(("f", 0), "10.0.0.6", -1, 4),
            MessageQueue::default(),
        ];
        let route = Route::read(&told, "orders").unwrap();
        let names = |places: &[Place]| places.iter().map(|place| place.broker.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&route.writable), names(&route.readable)),
            (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()])
        );
        assert!(route.takes(1) && !route.takes(3));
        assert!(Route::read(&told[3..], "orders").is_err());
    }
}
