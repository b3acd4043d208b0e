//! A reverse proxy that adds a key to each request, for clients that cannot be given one.

use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A running proxy; it stops when dropped. Everything but the key goes through as it came: the
/// path, `Host`, `Origin`, bodies as they flow, and also that one side hangs up.
#[derive(Debug)]
pub struct KeyProxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl KeyProxy {
    /// Starts on a free port in front of `target`.
    ///
    /// # Panics
    /// When the machine has no free port, or the key cannot stand in a header.
    pub async fn start(target: SocketAddr, key: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let key = HeaderValue::from_str(&format!("Bearer {key}")).expect("a key of visible characters");
        Self { address, task: tokio::spawn(accept(listener, target, key)) }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for KeyProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, key: HeaderValue) {
    while let Ok((stream, _)) = listener.accept().await {
        let key = key.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| pass(request, target, key.clone()));
            // Who hangs up is none of our business.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// One connection per request: a client that hangs up then takes its connection down, as without us.
async fn pass(
    mut request: Request<Incoming>,
    target: SocketAddr,
    key: HeaderValue,
) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(target).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    request.headers_mut().insert(AUTHORIZATION, key);
    Ok(sender.send_request(request).await?)
}
