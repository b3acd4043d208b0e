//! The HTTP server answers as its table says.

use std::time::{Duration, Instant};
use testkit::http::{Server, dead_address};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a GET and gives back everything that came.
async fn get(server: &Server, target: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: 1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn echoes_and_records_what_it_received() {
    let server = Server::start().await;
    let answer = get(&server, "/a%2Fb/../c?x=%20y").await;
    assert!(answer.contains(r#""path":"/a%2Fb/../c","query":"x=%20y""#), "{answer}");
    let received = server.last();
    assert_eq!((received.method.as_str(), received.path.as_str()), ("GET", "/a%2Fb/../c"));
    assert_eq!(received.header("x-a"), Some("1"));
    assert_eq!((server.requests().len(), server.connections()), (1, 1));
}

#[tokio::test]
async fn misbehaves_on_request() {
    let server = Server::start().await;
    assert!(get(&server, "/status/418").await.starts_with("HTTP/1.1 418 "));
    assert!(get(&server, "/status/429?retry-after=7").await.contains("retry-after: 7"));
    let statuses = [get(&server, "/flaky/1?key=a").await, get(&server, "/flaky/1?key=a").await];
    assert!(statuses[0].starts_with("HTTP/1.1 503 ") && statuses[1].starts_with("HTTP/1.1 200 "));
    assert!(get(&server, "/big/1000").await.ends_with(&"x".repeat(1000)));
    assert!(get(&server, "/redirect?to=/x%3Fy").await.contains("location: /x?y"));
    assert!(get(&server, "/gzip").await.contains("content-encoding: gzip"));
    assert_eq!(get(&server, "/drop").await, "");
    let begin = Instant::now();
    get(&server, "/slow/100").await;
    assert!(begin.elapsed() >= Duration::from_millis(100));
}

#[tokio::test]
async fn nobody_listens_at_a_dead_address_or_once_the_server_is_dropped() {
    assert!(TcpStream::connect(dead_address().await).await.is_err());
    let server = Server::start().await;
    let address = server.address();
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(TcpStream::connect(address).await.is_err());
}
