//! The proxy cuts what goes through it, and lets it through again.

use testkit::http;
use testkit::tcp_proxy::TcpProxy;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

async fn asks(proxy: &TcpProxy) -> bool {
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    stream.read_to_string(&mut answer).await.is_ok() && answer.starts_with("HTTP/1.1 200")
}

#[tokio::test]
async fn cuts_connections_and_restores_them() {
    let server = http::Server::start().await;
    let proxy = TcpProxy::start(server.address().to_string()).await;
    assert!(asks(&proxy).await);
    let mut open = TcpStream::connect(proxy.address()).await.unwrap();
    proxy.cut();
    assert!(!matches!(open.read(&mut [0; 1]).await, Ok(1..)), "open connections end");
    assert!(!asks(&proxy).await);
    proxy.restore();
    assert!(asks(&proxy).await);
}
