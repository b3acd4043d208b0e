//! One call of one method over one connection.

use super::connection::Connection;
use super::failure::Failure;
use super::frame::{Answer, Outgoing, framed};
use bytes::Bytes;
use fetch::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE, USER_AGENT};
use fetch::http::uri::{PathAndQuery, Uri};
use fetch::http::{Method, Request};
use futures::channel::mpsc;
use std::time::{Duration, Instant};

const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const CODINGS: HeaderValue = HeaderValue::from_static("identity,gzip");
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("grpc-rust-mcp-all-in-one/", env!("CARGO_PKG_VERSION")));
/// The largest number that the protocol has room for, with any unit.
const MAX_TIMEOUT: u128 = 99_999_999;

/// A call that is ready to be sent, once or more often.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) path: PathAndQuery,
    pub(crate) headers: HeaderMap,
    /// With its head.
    pub(crate) frame: Bytes,
    /// The most bytes that a message of the answer may have.
    pub(crate) max_bytes: usize,
}

impl Message {
    pub(crate) fn new(path: PathAndQuery, headers: HeaderMap, message: &[u8], max_bytes: usize) -> Self {
        Self { path, headers, frame: framed(message), max_bytes }
    }

    /// Sends it and reads the one message that comes back.
    pub(crate) async fn unary(&self, connection: Connection, left: Duration) -> Result<Bytes, Failure> {
        self.stream(connection, left).await?.only().await
    }

    /// Sends it; messages are read from what this gives. The server is told how much time is left.
    pub(crate) async fn stream(&self, connection: Connection, left: Duration) -> Result<Answer, Failure> {
        self.send(connection, Outgoing::One(Some(self.frame.clone())), left).await
    }

    /// Opens a stream in both directions, beginning with this message; more go into what comes with the answer.
    pub(crate) async fn converse(
        &self,
        connection: Connection,
        left: Duration,
    ) -> Result<(mpsc::UnboundedSender<Bytes>, Answer), Failure> {
        let (sender, receiver) = mpsc::unbounded();
        // Some servers answer only when they have heard something. Nobody has closed the other end yet.
        let _ = sender.unbounded_send(self.frame.clone());
        let answer = self.send(connection, Outgoing::Many(receiver), left).await?;
        Ok((sender, answer))
    }

    async fn send(
        &self,
        mut connection: Connection,
        body: Outgoing,
        left: Duration,
    ) -> Result<Answer, Failure> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        let uri = Uri::builder()
            .scheme(connection.scheme.clone())
            .authority(connection.authority.clone())
            .path_and_query(self.path.clone());
        *request.uri_mut() = uri.build().map_err(|_| Failure::Protocol("the address is none"))?;
        *request.headers_mut() = self.headers.clone();
        set_timeout(request.headers_mut(), left);
        let response = connection.send(request).await?;
        Ok(Answer::new(response, self.max_bytes))
    }
}

/// How much of the time is left.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Adds what gRPC itself sends with every call.
pub(crate) fn add_own(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, GRPC);
    headers.insert(TE, TRAILERS);
    headers.insert(ACCEPT_ENCODING, CODINGS);
    headers.entry(USER_AGENT).or_insert(AGENT);
}

/// Tells the server how much time is left.
fn set_timeout(headers: &mut HeaderMap, left: Duration) {
    let units = [(left.as_micros(), 'u'), (left.as_millis(), 'm'), (u128::from(left.as_secs()), 'S')];
    let fitting = units.into_iter().find(|(number, _)| *number <= MAX_TIMEOUT);
    let (number, unit) = fitting.unwrap_or((MAX_TIMEOUT, 'S'));
    if let Ok(value) = HeaderValue::try_from(format!("{number}{unit}")) {
        headers.insert(TIMEOUT, value);
    }
}
