//! The bytes between us and a server that speaks something else than HTTP, in TLS where that is wanted.

use fetch::Tls;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tool::{Error, Result};

/// A connection that is open.
pub(crate) type Wire = Box<dyn Stream>;

/// What a connection can do.
pub(crate) trait Stream:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static
{
}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static> Stream for S {}

/// How to speak TLS, read when it is first needed.
pub(crate) struct TlsConfig {
    tls: Arc<Tls>,
    loaded: OnceCell<Arc<ClientConfig>>,
}

/// Why there is no TLS.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    /// The certificates of this machine cannot be read.
    Unprepared(Error),
    /// No certificate can be for such a host.
    NoName,
    Failed(io::Error),
}

impl TlsConfig {
    pub(crate) fn new(tls: Tls) -> Self {
        Self { tls: Arc::new(tls), loaded: OnceCell::new() }
    }

    pub(crate) async fn get(&self) -> Result<Arc<ClientConfig>> {
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

    /// What the certificate of a server must say: the name of the settings, or its host.
    pub(crate) fn name_of<'a>(&'a self, host: &'a str) -> Cow<'a, str> {
        self.tls.server_name.as_ref().map_or(Cow::Borrowed(host), ServerName::to_str)
    }

    /// Shakes hands with the server at this host.
    pub(crate) async fn shake_hands(&self, host: &str, stream: impl Stream) -> Result<Wire, HandshakeError> {
        let name = self.name_of(host).into_owned();
        let name = ServerName::try_from(name).map_err(|_| HandshakeError::NoName)?;
        let config = self.get().await.map_err(HandshakeError::Unprepared)?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        Ok(Box::new(stream.map_err(HandshakeError::Failed)?))
    }
}
