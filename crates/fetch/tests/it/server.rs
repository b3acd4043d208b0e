//! A server that says exactly what a test wants, byte for byte.

use fetch::http::Method;
use fetch::{Client, Request, Resolve, Resolving, Response, Tls, Url};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// What the server does when a request has come.
#[derive(Clone, Copy)]
pub enum Then {
    /// Goes on to the next request.
    Stay,
    /// Closes the connection.
    Close,
    /// Closes the connection when it has rested for a moment.
    CloseLater,
}

/// A server on a port of its own.
pub struct Server {
    pub port: u16,
    pub connections: Arc<AtomicUsize>,
    pub requests: Arc<AtomicUsize>,
}

impl Server {
    /// Answers each request, given by its head and body, with what `answer` makes of it.
    pub async fn start(answer: impl Fn(&str) -> (Vec<u8>, Then) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (connections, requests, answer) =
            (server.connections.clone(), server.requests.clone(), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, answer) = (requests.clone(), answer.clone());
                tokio::spawn(async move { talk(stream, &requests, &*answer).await });
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> Url {
        format!("http://127.0.0.1:{}{path}", self.port).parse().unwrap()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

pub async fn talk(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    requests: &AtomicUsize,
    answer: &impl Fn(&str) -> (Vec<u8>, Then),
) {
    let mut seen = Vec::new();
    loop {
        let length = loop {
            if let Some(length) = message_length(&seen) {
                break length;
            }
            if matches!(stream.read_buf(&mut seen).await, Ok(0) | Err(_)) {
                return;
            }
        };
        requests.fetch_add(1, Ordering::SeqCst);
        let request: Vec<u8> = seen.drain(..length).collect();
        let (bytes, then) = answer(std::str::from_utf8(&request).unwrap());
        let is_broken = stream.write_all(&bytes).await.is_err();
        if matches!(then, Then::CloseLater) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if is_broken || !matches!(then, Then::Stay) {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// Reads a head and nothing behind it.
pub async fn read_head(stream: &mut (impl AsyncRead + Unpin)) {
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        seen.push(stream.read_u8().await.unwrap());
    }
}

fn message_length(seen: &[u8]) -> Option<usize> {
    let head = seen.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&seen[..head]).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let whole = head + length.map_or(0, |length| length.parse::<usize>().unwrap());
    (seen.len() >= whole).then_some(whole)
}

/// An answer with a body of known length.
pub fn ok(body: &[u8], headers: &str) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends every name to loopback.
#[derive(Debug)]
pub struct ToLoopback;

impl Resolve for ToLoopback {
    fn resolve(&self, _: &str) -> Resolving {
        Box::pin(async { Ok(vec![([127, 0, 0, 1], 0).into()]) })
    }
}

pub fn client() -> Client {
    Client::new(Arc::new(ToLoopback), Tls::default())
}

pub fn request(method: &str, url: &Url, body: &'static str) -> Request {
    Request { body: body.into(), ..Request::new(method.parse().unwrap(), url.clone()) }
}

pub async fn text(mut response: Response) -> Result<String, fetch::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(bytes).unwrap())
}

pub async fn get(client: &Client, url: &Url) -> Result<String, fetch::Error> {
    text(client.send(request("GET", url, "")).await?).await
}

pub fn body_of(length: usize) -> String {
    "0123456789abcdefghijk".chars().cycle().take(length).collect()
}

pub async fn post(client: &Client, url: &Url, body: String) -> Result<String, fetch::Error> {
    text(client.send(Request { body: body.into(), ..Request::new(Method::POST, url.clone()) }).await?).await
}
