//! The bytes between us and a broker: to an address that was checked, in TLS where its address says so.

use super::address::Address;
use crate::shared::network::{Policy, dial};
use crate::shared::wire::{HandshakeError, TlsConfig, Wire};
use std::sync::Arc;
use tool::{Error, Result};

/// Connects, and shakes hands where that is wanted.
pub(super) async fn connect(address: &Address, policy: &Arc<Policy>, tls: &TlsConfig) -> Result<Wire> {
    let stream = dial(&address.host, address.port, policy).await;
    let stream = stream.map_err(|error| error.about("broker"))?;
    // Answers to small questions must not wait for more.
    let _ = stream.set_nodelay(true);
    if !address.is_secure {
        return Ok(Box::new(stream));
    }
    tls.shake_hands(&address.host, stream).await.map_err(|error| match error {
        HandshakeError::Unprepared(error) => error,
        HandshakeError::NoName => {
            Error::invalid_config("the host in the connection_string is no name that TLS knows")
        }
        HandshakeError::Failed(error) => {
            let message =
                "the broker does not speak TLS as it should; check 'tls.ca', 'tls.server_name' and the port";
            Error::unavailable(message).caused_by(error).retryable()
        }
    })
}
