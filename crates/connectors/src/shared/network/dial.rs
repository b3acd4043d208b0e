//! A connection of our own to an address that was checked, for protocols that `fetch` does not speak.

use super::{Policy, Resolver};
use fetch::Resolve;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tool::Error;

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum DialError {
    /// The policy allows none of the addresses; this is the whole answer.
    Refused(Error),
    Unresolved(Box<dyn std::error::Error + Send + Sync>),
    /// Nobody answers at any of the addresses.
    Unconnected(Option<io::Error>),
}

impl DialError {
    /// The error of a call that needed the connection. `noun` is what messages call the other end.
    pub(crate) fn about(self, noun: &str) -> Error {
        let unreachable = |message: String| Error::unavailable(message).retryable();
        match self {
            Self::Refused(refused) => refused,
            Self::Unresolved(cause) => {
                let message = format!("the {noun}'s name cannot be resolved; check the host in its settings");
                unreachable(message).caused_by(cause)
            }
            Self::Unconnected(cause) => {
                let error = unreachable(format!("the {noun} cannot be connected to"));
                match cause {
                    Some(cause) => error.caused_by(cause),
                    None => error,
                }
            }
        }
    }
}

/// Connects to the first of the host's addresses that the policy allows and that answers.
///
/// # Errors
/// Why there is none.
pub(crate) async fn dial(host: &str, port: u16, policy: &Arc<Policy>) -> Result<TcpStream, DialError> {
    let mut last = None;
    for address in addresses(host, policy).await? {
        match TcpStream::connect(SocketAddr::new(address.ip(), port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(DialError::Unconnected(last))
}

/// Why a host may not be connected to, where that is known without trying.
#[cfg(feature = "kafka")]
pub(crate) async fn refusal(host: &str, policy: &Arc<Policy>) -> Option<Error> {
    match addresses(host, policy).await {
        Err(DialError::Refused(refused)) => Some(refused),
        Ok(_) | Err(DialError::Unresolved(_) | DialError::Unconnected(_)) => None,
    }
}

/// The host's addresses that the policy allows.
async fn addresses(host: &str, policy: &Arc<Policy>) -> Result<Vec<SocketAddr>, DialError> {
    // A host that is written as an address is resolved to itself, and so is checked here too.
    let found = Resolver(policy.clone()).resolve(host.trim_matches(['[', ']'])).await;
    found.map_err(|error| match error.downcast::<Error>() {
        Ok(refused) => DialError::Refused(*refused),
        Err(error) => DialError::Unresolved(error),
    })
}
