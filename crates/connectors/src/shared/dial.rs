//! Connections to servers that speak no HTTP: only to addresses that were checked.

use super::network::{Policy, Resolver};
use fetch::Resolve;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tool::{Error, Result};

/// Connects to the first of the server's addresses that the policy allows and that answers. `noun` is what messages call
/// the server.
///
/// # Errors
/// `Denied` when the policy allows none of the addresses, `Unavailable` when none answers.
pub(crate) async fn dial(host: &str, port: u16, policy: &Arc<Policy>, noun: &str) -> Result<TcpStream> {
    let addresses =
        Resolver(policy.clone()).resolve(host).await.map_err(|error| match error.downcast::<Error>() {
            Ok(refused) => *refused,
            Err(error) => unreachable(format!(
                "the {noun}'s name cannot be resolved; check the host in its connection_string"
            ))
            .caused_by(error),
        })?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect(SocketAddr::new(address.ip(), port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let error = unreachable(format!("the {noun} cannot be connected to"));
    Err(match last {
        Some(cause) => error.caused_by(cause),
        None => error,
    })
}

fn unreachable(message: String) -> Error {
    Error::unavailable(message).retryable()
}
