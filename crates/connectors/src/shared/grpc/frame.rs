//! Messages on an HTTP/2 stream: each behind a flag and its length.

use super::failure::Failure;
use super::status::{Code, Status};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use fetch::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use fetch::http::{Response, StatusCode};
use flate2::read::MultiGzDecoder;
use futures::Stream;
use futures::channel::mpsc;
use hyper::body::{Body, Frame, Incoming};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};

const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// A flag, and four bytes of length.
const HEAD_BYTES: usize = 5;

/// A message as it goes over the wire, not compressed.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEAD_BYTES + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.put_slice(message);
    frame.freeze()
}

/// What is sent: one message, or as many as somebody will send.
#[derive(Debug)]
pub(crate) enum Outgoing {
    One(Option<Bytes>),
    Many(mpsc::UnboundedReceiver<Bytes>),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::One(message) => Poll::Ready(message.take()),
            Self::Many(messages) => Pin::new(messages).poll_next(cx),
        };
        next.map(|message| message.map(|message| Ok(Frame::data(message))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::One(None))
    }
}

/// What comes back, message by message.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Incoming,
    buffer: BytesMut,
    max_bytes: usize,
    coding: Coding,
    http_status: StatusCode,
    /// The status came with the headers: nothing follows.
    early: Option<Status>,
    /// Messages that came so far.
    pub(crate) count: usize,
}

impl Answer {
    pub(crate) fn new(response: Response<Incoming>, max_bytes: usize) -> Self {
        let (head, body) = response.into_parts();
        let is_grpc = head
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
        let coding = Coding::of(&head.headers);
        let early = Status::read(&head.headers);
        let early = early.or_else(|| (!is_grpc).then(|| Status::of_http(head.status)));
        let buffer = BytesMut::new();
        Self { body, buffer, max_bytes, coding, http_status: head.status, early, count: 0 }
    }

    /// The next message, or the end of those that came with a good status.
    ///
    /// # Errors
    /// The status that the server ended with, or how the stream broke.
    pub(crate) async fn message(&mut self) -> Result<Option<Bytes>, Failure> {
        if let Some(status) = self.early.take() {
            return self.end(status);
        }
        loop {
            if let Some(message) = self.take()? {
                self.count += 1;
                return Ok(Some(message));
            }
            match poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.buffer.put(data),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        return self.finish(&trailers);
                    }
                },
                Some(Err(error)) => return Err(Failure::of_stream(error)),
                None => return self.finish(&HeaderMap::new()),
            }
        }
    }

    /// The only message of an answer. It counts when the status is there, too.
    pub(crate) async fn only(&mut self) -> Result<Bytes, Failure> {
        let Some(message) = self.message().await? else {
            return Err(Failure::Protocol("it is empty"));
        };
        match self.message().await? {
            None => Ok(message),
            Some(_) => Err(Failure::Protocol("it has more than one message")),
        }
    }

    fn finish(&mut self, trailers: &HeaderMap) -> Result<Option<Bytes>, Failure> {
        match Status::read(trailers) {
            Some(status) => self.end(status),
            None if self.http_status != StatusCode::OK => self.end(Status::of_http(self.http_status)),
            // Resets without a reason look like this, too.
            None => Err(Failure::Cut),
        }
    }

    fn end(&mut self, status: Status) -> Result<Option<Bytes>, Failure> {
        match status.code {
            Code::Ok if self.buffer.is_empty() => Ok(None),
            Code::Ok => Err(Failure::Cut),
            _ => Err(Failure::Status(Box::new(status))),
        }
    }

    /// A message that is there as a whole.
    fn take(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some(head) = self.buffer.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let [flag, length @ ..] = *head;
        if flag > 1 {
            return Err(Failure::Protocol("it is no gRPC at all"));
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > self.max_bytes {
            return Err(Failure::TooLarge { bytes: length, limit: self.max_bytes });
        }
        if self.buffer.len() < HEAD_BYTES + length {
            return Ok(None);
        }
        self.buffer.advance(HEAD_BYTES);
        let message = self.buffer.split_to(length).freeze();
        if flag == 0 { Ok(Some(message)) } else { self.coding.read(&message, self.max_bytes).map(Some) }
    }
}

/// How messages are compressed whose flag says that they are: some servers compress whatever they send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    /// Nobody said how.
    Unnamed,
    Gzip,
    /// One that we said nothing of.
    Other,
}

impl Coding {
    fn of(headers: &HeaderMap) -> Self {
        match headers.get(ENCODING).map(HeaderValue::as_bytes) {
            None | Some(b"identity") => Self::Unnamed,
            Some(b"gzip") => Self::Gzip,
            Some(_) => Self::Other,
        }
    }

    /// The message itself, which is as bounded as one that came as it is.
    fn read(self, message: &[u8], max_bytes: usize) -> Result<Bytes, Failure> {
        match self {
            Self::Unnamed => {
                return Err(Failure::Protocol("a message is compressed, and no grpc-encoding says how"));
            }
            Self::Other => {
                let why = "its messages are compressed in another way (grpc-encoding) than gzip, which alone is read";
                return Err(Failure::Protocol(why));
            }
            Self::Gzip => {}
        }
        let mut plain = Vec::new();
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let read = MultiGzDecoder::new(message).take(limit).read_to_end(&mut plain);
        read.map_err(|_| Failure::Protocol("a message is no gzip, and was said to be"))?;
        match plain.len() <= max_bytes {
            true => Ok(plain.into()),
            false => Err(Failure::TooLarge { bytes: plain.len(), limit: max_bytes }),
        }
    }
}
