//! An answer, read as it comes.

use crate::connection::{Connection, Stream};
use crate::decode::{self, Decoder};
use crate::error::Error;
use crate::head::Head;
use crate::pool::Pool;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The head of an answer; its body comes in parts.
#[derive(Debug)]
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

enum Body {
    Ended,
    Plain(Flow),
    Packed(Decoder),
    Switched(Box<Connection>),
}

impl Response {
    pub(crate) fn new(head: Head, connection: Box<Connection>, pool: Arc<Pool>) -> Self {
        let Head { status, mut headers, .. } = head;
        let body = if status == StatusCode::SWITCHING_PROTOCOLS {
            Body::Switched(connection)
        } else if connection.is_body_ended() {
            pool.put(connection);
            Body::Ended
        } else {
            let flow = Flow { connection: Some(connection), pool };
            match decode::encoding(&mut headers) {
                Some(encoding) => Body::Packed(Decoder::Waiting(encoding, flow)),
                None => Body::Plain(flow),
            }
        };
        Self { status, headers, body }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers; those that spoke of a packed body are gone.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The next part of the body, unpacked; nothing at its end.
    ///
    /// # Errors
    /// When the connection breaks, or the body cannot be unpacked.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let chunk = match &mut self.body {
            Body::Ended | Body::Switched(_) => return Ok(None),
            Body::Plain(flow) => poll_fn(|cx| flow.poll_next(cx)).await.transpose()?,
            Body::Packed(decoder) => decoder.next().await?,
        };
        if chunk.is_none() {
            self.body = Body::Ended;
        }
        Ok(chunk)
    }

    /// The connection itself, after `101 Switching Protocols`, and what has arrived on it already.
    ///
    /// # Errors
    /// When nobody has switched.
    pub async fn upgrade(self) -> Result<(Stream, Bytes), Error> {
        match self.body {
            Body::Switched(connection) => Ok(connection.into_stream()),
            Body::Ended | Body::Plain(_) | Body::Packed(_) => {
                Err(Error::unusable("the server did not switch protocols"))
            }
        }
    }
}

/// A body on its way, and the connection it comes on.
pub(crate) struct Flow {
    /// Until the body has ended.
    connection: Option<Box<Connection>>,
    pool: Arc<Pool>,
}

impl Flow {
    /// The rest of the body, for another reader.
    pub(crate) fn take(&mut self) -> Self {
        Self { connection: self.connection.take(), pool: self.pool.clone() }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
        let part = ready!(connection.poll_body(cx));
        let is_over = !matches!(part, Some(Ok(_))) || connection.is_body_ended();
        if is_over && let Some(connection) = self.connection.take() {
            self.pool.put(connection);
        }
        Poll::Ready(part)
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ended => "Ended",
            Self::Plain(_) => "Plain",
            Self::Packed(_) => "Packed",
            Self::Switched(_) => "Switched",
        })
    }
}
