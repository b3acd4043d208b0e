//! DNS: the addresses of a name, or its SRV records.

use super::web::Pace;
use super::{Instance, Watch};
use async_trait::async_trait;
use std::io;
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
        let found = match tokio::net::lookup_host((self.name.as_str(), self.port)).await {
            Ok(found) => found,
            Err(error) if is_none(&error) => return Ok(Vec::new()),
            Err(error) => {
                self.pace.forget();
                let message = format!("the name '{}' cannot be resolved", self.name);
                return Err(Error::unavailable(message).caused_by(error));
            }
        };
        let mut hosts: Vec<_> = found.map(|address| address.ip()).collect();
        // Resolvers change the order each time; whose turn it is must not.
        hosts.sort_unstable();
        Ok(hosts.into_iter().map(|host| Instance::new(host.to_string(), self.port)).collect())
    }
}

/// The resolver says that there is no address, and not that it does not know. The standard library has no kind for
/// that: what is left are the words of the C libraries, which it does not translate, and the numbers of Windows.
fn is_none(error: &io::Error) -> bool {
    const WORDS: [&str; 5] = [
        "Name or service not known",
        "No address associated with hostname",
        "Name does not resolve",
        "Name has no usable address",
        "nodename nor servname provided, or not known",
    ];
    const NUMBERS: [i32; 2] = [11001, 11004];
    let text = error.to_string();
    WORDS.iter().any(|words| text.ends_with(words))
        || cfg!(windows) && error.raw_os_error().is_some_and(|number| NUMBERS.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-3: a name without addresses has none, whichever C library says so; one that could not be asked for may have.
    #[test]
    fn tells_no_address_from_no_answer() {
        let said = |words: &str| {
            is_none(&io::Error::other(format!("failed to lookup address information: {words}")))
        };
        assert!(said("Name or service not known") && said("No address associated with hostname"));
        assert!(said("Name does not resolve") && said("nodename nor servname provided, or not known"));
        assert!(!said("Temporary failure in name resolution") && !said("Try again"));
        assert!(!said("Non-recoverable failure in name resolution"));
    }
}
