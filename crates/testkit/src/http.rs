//! A small real HTTP server on loopback that says back what it got, and misbehaves on request.
//!
//! | path | answer |
//! |---|---|
//! | `/status/{n}` | status `n` with a JSON body; `Retry-After` as in `?retry-after=` |
//! | `/slow/{ms}` | the echo, after `ms` milliseconds |
//! | `/flaky/{n}` | 503, or as in `?status=`, for the first `n` requests with the same `?key=`, then the echo |
//! | `/big/{bytes}` | that many bytes of text |
//! | `/redirect?to=` | 302 there, or as in `?status=` |
//! | `/gzip`, `/br`, `/zstd` | the echo, compressed; with `/{bytes}` so many zeros |
//! | `/raw?base64=` | these bytes, with the headers `?type=`, `?disposition=` and `?encoding=` |
//! | `/token/{seconds}` | an access token of so long a life, numbered, after `?delay=` milliseconds |
//! | `/text`, `/binary`, `/empty`, `/bom`, `/latin1`, `/broken-json` | what the name says |
//! | `/drop` | the connection closed without an answer |
//! | anything else | the echo: method, raw path, query, headers and body as JSON |

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The method, in capitals.
    pub method: String,
    /// The path, with its percent escapes.
    pub path: String,
    /// What stood behind the question mark, with its escapes.
    pub query: String,
    /// Names in lower case, in the order of arrival.
    pub headers: Vec<(String, String)>,
    /// The body, as text.
    pub body: String,
    /// The body as it was.
    pub bytes: Bytes,
}

impl Received {
    /// The value of a header; `name` in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body, parsed.
    ///
    /// # Panics
    /// When it is no JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }

    fn to_json(&self) -> Value {
        let headers: serde_json::Map<_, _> =
            self.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let body = serde_json::from_str(&self.body).unwrap_or_else(|_| Value::from(self.body.as_str()));
        json!({
            "method": self.method, "path": self.path, "query": self.query,
            "headers": headers, "body": body
        })
    }
}

#[derive(Debug, Default)]
struct State {
    requests: Mutex<Vec<Received>>,
    failures: Mutex<HashMap<String, usize>>,
    connections: Mutex<usize>,
    tokens: Mutex<usize>,
    at_work: Mutex<AtWork>,
}

/// Requests that are being answered, and the most there were.
#[derive(Debug, Default)]
struct AtWork {
    now: usize,
    most: usize,
}

/// One of them, until it is dropped.
struct Work(Arc<State>);

impl Work {
    fn begin(state: &Arc<State>) -> Self {
        let mut at_work = lock(&state.at_work);
        at_work.now += 1;
        at_work.most = at_work.most.max(at_work.now);
        Self(state.clone())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        lock(&self.0.at_work).now -= 1;
    }
}

impl Server {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start() -> Self {
        Self::start_with(None).await
    }

    /// The same behind TLS, as the certificates want it.
    pub async fn start_tls(config: rustls::ServerConfig) -> Self {
        Self::start_with(Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State::default());
        let task = tokio::spawn(accept(listener, tls, state.clone()));
        Self { address, state, task }
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:port`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything received so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        lock(&self.state.requests).clone()
    }

    /// The request received last.
    ///
    /// # Panics
    /// When there was none.
    #[must_use]
    pub fn last(&self) -> Received {
        lock(&self.state.requests).last().cloned().expect("a request was received")
    }

    /// How many requests were being answered at once, at most.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        lock(&self.state.at_work).most
    }

    /// How many connections were accepted: fewer than requests when they are reused.
    #[must_use]
    pub fn connections(&self) -> usize {
        *lock(&self.state.connections)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An address on loopback where nobody listens.
///
/// # Panics
/// When the machine has no free port.
pub async fn dead_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
    listener.local_addr().expect("a bound socket has an address")
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    // Dropped with this task, which ends the connections too.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        *lock(&state.connections) += 1;
        let (tls, state) = (tls.clone(), state.clone());
        connections.spawn(async move {
            match tls {
                None => serve(stream, state).await,
                Some(tls) => {
                    // A client that is turned away sees that for itself.
                    let Ok(stream) = tls.accept(stream).await else { return };
                    serve(stream, state).await;
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send, state: Arc<State>) {
    let service = hyper::service::service_fn(|request| answer(request, state.clone()));
    // A connection that ends badly is what some tests ask for.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

type Answer = Response<Full<Bytes>>;

async fn answer(request: Request<Incoming>, state: Arc<State>) -> io::Result<Answer> {
    let received = receive(request).await?;
    let _work = Work::begin(&state);
    lock(&state.requests).push(received.clone());
    let mut parts = received.path.split('/').skip(1);
    let name = parts.next().unwrap_or_default();
    let number = parts.next().and_then(|part| part.parse::<usize>().ok()).unwrap_or_default();
    match name {
        "status" => Ok(status(number, &received)),
        "slow" => {
            tokio::time::sleep(Duration::from_millis(number as u64)).await;
            Ok(echo(&received))
        }
        "flaky" if fails_again(&state, &received, number) => {
            let code = query_value(&received, "status").and_then(|code| code.parse().ok());
            Ok(status(code.unwrap_or(503), &received))
        }
        "big" => Ok(plain("text/plain", vec![b'x'; number])),
        "redirect" => Ok(redirect(&received)),
        "gzip" | "br" | "zstd" if number > 0 => Ok(compressed(name, "text/plain", &vec![b'0'; number])),
        "gzip" | "br" | "zstd" => {
            Ok(compressed(name, "application/json", received.to_json().to_string().as_bytes()))
        }
        "raw" => Ok(raw(&received)),
        "token" => Ok(token(&state, &received, number).await),
        "text" => Ok(plain("text/plain; charset=utf-8", "plain text, é".as_bytes().to_vec())),
        "binary" => Ok(plain("image/png", vec![0x89, b'P', b'N', b'G', 0, 255])),
        "empty" => Ok(with_status(StatusCode::NO_CONTENT, plain("text/plain", Vec::new()))),
        "bom" => Ok(plain("application/json", b"\xEF\xBB\xBF{\"a\": 1.0}".to_vec())),
        "latin1" => Ok(plain("text/plain; charset=iso-8859-1", b"caf\xE9".to_vec())),
        "broken-json" => Ok(plain("application/json", b"{\"a\": ".to_vec())),
        "drop" => Err(io::Error::other("closed on request")),
        _ => Ok(echo(&received)),
    }
}

async fn receive(request: Request<Incoming>) -> io::Result<Received> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    Ok(Received {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: header_pairs(&head.headers),
        body: String::from_utf8_lossy(&body).into_owned(),
        bytes: body,
    })
}

fn header_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}

fn echo(received: &Received) -> Answer {
    plain("application/json", received.to_json().to_string().into_bytes())
}

fn status(number: usize, received: &Received) -> Answer {
    let code = u16::try_from(number).ok().and_then(|code| StatusCode::from_u16(code).ok());
    let mut answer = echo(received);
    if let Some(seconds) = query_value(received, "retry-after") {
        let value = seconds.parse().expect("?retry-after= is a legal header value");
        answer.headers_mut().insert("retry-after", value);
    }
    with_status(code.unwrap_or(StatusCode::BAD_REQUEST), answer)
}

fn fails_again(state: &State, received: &Received, times: usize) -> bool {
    let key = query_value(received, "key").unwrap_or_default();
    let mut failures = lock(&state.failures);
    let count = failures.entry(key).or_default();
    *count += 1;
    *count <= times
}

fn redirect(received: &Received) -> Answer {
    let to = query_value(received, "to").unwrap_or_else(|| "/".to_owned());
    let code = query_value(received, "status").and_then(|code| code.parse::<u16>().ok());
    let code = code.and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or(StatusCode::FOUND);
    let mut answer = with_status(code, plain("text/plain", b"elsewhere".to_vec()));
    answer.headers_mut().insert("location", to.parse().expect("?to= is a legal header value"));
    answer
}

fn compressed(encoding: &str, content_type: &str, body: &[u8]) -> Answer {
    const FINE: &str = "writing to memory does not fail";
    let bytes = match encoding {
        "br" => {
            let mut bytes = Vec::new();
            brotli::CompressorWriter::new(&mut bytes, 4096, 1, 22).write_all(body).expect(FINE);
            bytes
        }
        "zstd" => zstd::encode_all(body, 1).expect(FINE),
        _ => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(body).expect(FINE);
            encoder.finish().expect(FINE)
        }
    };
    let mut answer = plain(content_type, bytes);
    answer.headers_mut().insert("content-encoding", encoding.parse().expect("a legal header value"));
    answer
}

fn raw(received: &Received) -> Answer {
    let body =
        STANDARD.decode(query_value(received, "base64").unwrap_or_default()).expect("?base64= is Base64");
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    for (name, header) in
        [("type", "content-type"), ("disposition", "content-disposition"), ("encoding", "content-encoding")]
    {
        if let Some(value) = query_value(received, name) {
            answer.headers_mut().insert(header, value.parse().expect("a legal header value"));
        }
    }
    answer
}

async fn token(state: &State, received: &Received, seconds: usize) -> Answer {
    let delay = query_value(received, "delay").and_then(|delay| delay.parse().ok()).unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(delay)).await;
    let number = {
        let mut tokens = lock(&state.tokens);
        *tokens += 1;
        *tokens
    };
    let token =
        json!({ "access_token": format!("token-{number}"), "token_type": "Bearer", "expires_in": seconds });
    plain("application/json", token.to_string().into_bytes())
}

fn plain(content_type: &str, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    answer.headers_mut().insert("content-type", content_type.parse().expect("a legal content type"));
    answer
}

fn with_status(code: StatusCode, mut answer: Answer) -> Answer {
    *answer.status_mut() = code;
    answer
}

/// A value of the query string, with its percent escapes resolved.
fn query_value(received: &Received, name: &str) -> Option<String> {
    let value = received.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    Some(percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
