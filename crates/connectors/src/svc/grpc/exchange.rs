//! One call of one method over one connection.

use super::connection::Connection;
use super::failure::Failure;
use super::frame::{Answer, Outgoing, framed};
use super::metadata::set_timeout;
use bytes::Bytes;
use fetch::http::header::HeaderMap;
use fetch::http::uri::{PathAndQuery, Uri};
use fetch::http::{Method, Request};
use futures::channel::mpsc;
use std::time::{Duration, Instant};

/// A call that is ready to be sent, once or more often.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) path: PathAndQuery,
    pub(super) headers: HeaderMap,
    /// With its head.
    pub(super) frame: Bytes,
    /// The most bytes that a message of the answer may have.
    pub(super) max_bytes: usize,
}

impl Message {
    pub(super) fn new(path: PathAndQuery, headers: HeaderMap, message: &[u8], max_bytes: usize) -> Self {
        Self { path, headers, frame: framed(message), max_bytes }
    }

    /// Sends it and reads the one message that comes back.
    pub(super) async fn unary(&self, connection: Connection, left: Duration) -> Result<Bytes, Failure> {
        self.stream(connection, left).await?.only().await
    }

    /// Sends it; messages are read from what this gives. The server is told how much time is left.
    pub(super) async fn stream(&self, connection: Connection, left: Duration) -> Result<Answer, Failure> {
        self.send(connection, Outgoing::One(Some(self.frame.clone())), left).await
    }

    /// Opens a stream in both directions, beginning with this message; more go into what comes with the answer.
    pub(super) async fn converse(
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
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
