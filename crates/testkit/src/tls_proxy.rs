//! TLS on loopback in front of a server that speaks plainly.

use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// A running proxy; it stops when dropped.
#[derive(Debug)]
pub struct TlsProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl TlsProxy {
    /// Forwards a free port of 127.0.0.1, behind TLS as the certificates want it, to `server`, a `host:port`.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(server: impl Into<String>, config: rustls::ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let task = tokio::spawn(accept(listener, server.into(), acceptor));
        Self { address, task }
    }

    /// Where to connect instead of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, server: String, acceptor: TlsAcceptor) {
    // Dropped with this task, which ends the connections too.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(forward(client, server.clone(), acceptor.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn forward(client: TcpStream, server: String, acceptor: TlsAcceptor) {
    let Ok(mut client) = acceptor.accept(client).await else { return };
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    // How it ends is for those at both ends.
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}
