//! The bytes between us and a broker: to an address that was checked, in TLS where its address says so.

use super::address::Address;
use crate::shared::network::{Policy, dial};
use fetch::Tls;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tool::{Error, Result};

/// A connection that is open.
pub(super) type Wire = Box<dyn Stream>;

/// What a connection can do.
pub(super) trait Stream:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static
{
}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static> Stream for S {}

/// How to speak TLS, read when it is first needed.
pub(super) struct TlsConfig {
    tls: Arc<Tls>,
    loaded: OnceCell<Arc<ClientConfig>>,
}

impl TlsConfig {
    pub(super) fn new(tls: Tls) -> Self {
        Self { tls: Arc::new(tls), loaded: OnceCell::new() }
    }

    pub(super) async fn get(&self) -> Result<Arc<ClientConfig>> {
        let load = || async {
            let tls = self.tls.clone();
            let failed = || Error::unavailable("the certificates of this machine cannot be read");
            let loaded = tokio::task::spawn_blocking(move || tls.to_config()).await;
            loaded
                .map_err(|error| failed().caused_by(error))?
                .map(Arc::new)
                .map_err(|error| failed().caused_by(error))
        };
        self.loaded.get_or_try_init(load).await.cloned()
    }
}

/// Connects, and shakes hands where that is wanted.
pub(super) async fn connect(address: &Address, policy: &Arc<Policy>, tls: &TlsConfig) -> Result<Wire> {
    let stream = dial(&address.host, address.port, policy).await;
    let stream = stream.map_err(|error| error.about("broker"))?;
    // Answers to small questions must not wait for more.
    let _ = stream.set_nodelay(true);
    if !address.is_secure {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(address.host.clone())
        .map_err(|_| Error::invalid_config("the host in the connection_string is no name that TLS knows"))?;
    let stream = TlsConnector::from(tls.get().await?).connect(name, stream).await.map_err(|error| {
        let message = "the broker does not speak TLS as it should; check 'tls.ca' and the port";
        Error::unavailable(message).caused_by(error).retryable()
    })?;
    Ok(Box::new(stream))
}
