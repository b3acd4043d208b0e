//! The HTTP client of everything that goes out: pooled connections, driven by the task that waits for them.
//!
//! Nothing is spawned for a request: whoever waits for an answer also reads it from the socket, so
//! that no other thread has to be woken. A connection rests in the pool between two requests.

mod body;
mod chunked;
mod connect;
mod connection;
mod decode;
mod error;
mod framing;
#[cfg(test)]
mod fuzz_answers;
mod head;
mod incoming;
mod message;
mod outgoing;
mod pool;
mod response;
mod sse_events;
mod words;

pub use connect::{Resolve, Resolving, Tls};
pub use connection::Stream;
pub use error::Error;
pub use http;
pub use response::Response;
pub use sse_events::{SseEvent, SseEvents, TooLong};
pub use url::Url;

use bytes::Bytes;
use connect::Connector;
use connection::{Connection, Failure};
use head::Head;
use http::header::{ACCEPT, ACCEPT_ENCODING, HOST, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use message::Message;
use pool::{Origin, Pool};
use std::fmt;
use std::sync::Arc;

/// What a client says about itself, unless a request says something else.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("mcp-all-in-one/", env!("CARGO_PKG_VERSION")));
const ENCODINGS: HeaderValue = HeaderValue::from_static("gzip, br, zstd");
const ANYTHING: HeaderValue = HeaderValue::from_static("*/*");

/// A request whose body is at hand.
#[derive(Clone)]
pub struct Request {
    /// What is to be done.
    pub method: Method,
    /// At an address with the scheme `http` or `https`.
    pub url: Url,
    /// `Host`, `User-Agent`, `Accept` and `Accept-Encoding` are added where they are missing.
    pub headers: HeaderMap,
    /// What is sent; an empty body is none.
    pub body: Bytes,
}

impl Request {
    /// A request without headers and without a body.
    #[must_use]
    pub fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Bytes::new() }
    }
}

impl fmt::Debug for Request {
    /// Neither the address nor the headers nor the body, which may all hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({}, {} bytes)", self.method, self.body.len())
    }
}

/// A client with its own pool. Clones share it.
#[derive(Debug, Clone)]
pub struct Client(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    connector: Connector,
    pool: Arc<Pool>,
}

impl Client {
    /// A client that trusts whom this machine trusts, and whom `tls` names beside.
    #[must_use]
    pub fn new(resolve: Arc<dyn Resolve>, tls: Tls) -> Self {
        Self(Arc::new(Shared { connector: Connector::new(resolve, tls), pool: Arc::default() }))
    }

    /// Sends a request and waits for the head of its answer. Redirects are the caller's affair, and
    /// so is the time: only connecting has its own limit. Dropping the future, or the response
    /// before its end, closes the connection.
    ///
    /// # Errors
    /// When nobody can be reached, or the connection breaks.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        let origin = Origin::of(&request.url)?;
        let mut message = to_message(request, &origin)?;
        // A rested connection may have been closed meanwhile: then another is taken, as long as
        // nothing of the request was written.
        while let Some(connection) = self.0.pool.take(&origin) {
            match connection.send(&mut message).await {
                Ok((head, connection)) => return Ok(self.respond(head, connection)),
                Err(Failure::Unsent(_)) => {}
                Err(Failure::Broken(error)) => return Err(error),
            }
        }
        // Boxed, as what is rare must not make the future of every request large.
        let connection = Box::pin(self.0.connector.connect(origin)).await?;
        match connection.send(&mut message).await {
            Ok((head, connection)) => Ok(self.respond(head, connection)),
            Err(Failure::Unsent(error)) => Err(Error::connect(error.into())),
            Err(Failure::Broken(error)) => Err(error),
        }
    }

    fn respond(&self, head: Head, connection: Box<Connection>) -> Response {
        Response::new(head, connection, self.0.pool.clone())
    }
}

fn to_message(request: Request, origin: &Origin) -> Result<Message, Error> {
    let Request { method, url, mut headers, body } = request;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let target = PathAndQuery::from_maybe_shared(Bytes::copy_from_slice(target.as_bytes()));
    let target = target.map_err(Error::unusable)?;
    complete(&mut headers, origin)?;
    Ok(Message { method, target, headers, body })
}

/// Adds what every request to `url` has, so that it need not be added to each: for headers that are kept.
///
/// # Errors
/// When nobody can be asked at that address.
pub fn complete_headers(headers: &mut HeaderMap, url: &Url) -> Result<(), Error> {
    complete(headers, &Origin::of(url)?)
}

fn complete(headers: &mut HeaderMap, origin: &Origin) -> Result<(), Error> {
    if !headers.contains_key(HOST) {
        headers.insert(HOST, origin.host_header()?);
    }
    for (name, value) in [(USER_AGENT, AGENT), (ACCEPT, ANYTHING), (ACCEPT_ENCODING, ENCODINGS)] {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_what_it_carries_to_itself() {
        let mut request =
            Request::new(Method::POST, "https://me:hunter2@a.test/?key=hunter2".parse().unwrap());
        request.headers.insert(ACCEPT, HeaderValue::from_static("hunter2"));
        request.body = "client_secret=hunter2".into();
        assert_eq!(format!("{request:?}"), "Request(POST, 21 bytes)");
    }
}
