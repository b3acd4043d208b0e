//! A TLS server on loopback that hands on what it hears to a server that speaks plainly.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A running proxy; it stops when dropped.
#[derive(Debug)]
pub struct TlsProxy {
    address: SocketAddr,
    handshakes: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl TlsProxy {
    /// Listens on a free port of 127.0.0.1 for `server`, a `host:port`.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(config: rustls::ServerConfig, server: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (acceptor, server) = (TlsAcceptor::from(Arc::new(config)), server.into());
        let handshakes = Arc::<AtomicUsize>::default();
        let counted = handshakes.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, server, counted) = (acceptor.clone(), server.clone(), counted.clone());
                tokio::spawn(async move {
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    counted.fetch_add(1, Ordering::SeqCst);
                    let Ok(mut server) = TcpStream::connect(server).await else { return };
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { address, handshakes, task }
    }

    /// Where to connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many clients have believed the certificate.
    #[must_use]
    pub fn handshakes(&self) -> usize {
        self.handshakes.load(Ordering::SeqCst)
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}
