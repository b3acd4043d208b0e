//! One connection and its user, in the same task: one request at a time, and its answer.

use crate::body::Body;
use crate::error::Error;
use crate::framing::{self, Framing};
use crate::head::Head;
use crate::incoming::Incoming;
use crate::message::Message;
use crate::outgoing::Outgoing;
use crate::pool::Origin;
use bytes::Bytes;
use http::StatusCode;
use http::header::CONNECTION;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

/// How many answers such as `100 Continue` may come before the one that counts.
const MAX_INTERIM: usize = 8;

type Io = MaybeHttpsStream<TokioIo<TcpStream>>;

/// The bytes of a connection that has changed its protocol.
pub type Stream = TokioIo<Io>;

/// A connection, and how far its exchange has come.
pub(crate) struct Connection {
    pub(crate) origin: Origin,
    stream: Stream,
    outgoing: Outgoing,
    incoming: Incoming,
    /// What is still to come of the answer.
    body: Body,
    /// The request is written as a whole, and both sides are willing to have another exchange after this one.
    stays_open: bool,
}

/// Why a request got no answer.
pub(crate) enum Failure {
    /// Nothing of it was written: another connection may take it.
    Unsent(Error),
    /// Some of it may have arrived.
    Broken(Error),
}

/// What has to be known until the answer is there.
#[derive(Default)]
struct Waiting {
    interim: usize,
    /// Why the request could not be written to its end.
    unwritable: Option<io::Error>,
}

impl Connection {
    pub(crate) fn new(io: Io, origin: Origin) -> Box<Self> {
        Box::new(Self {
            origin,
            stream: TokioIo::new(io),
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            body: Body::Ended,
            stays_open: true,
        })
    }

    /// Sends a request and waits for the head of the answer. The message is whole again if it is unsent.
    pub(crate) async fn send(
        mut self: Box<Self>,
        message: &mut Message,
    ) -> Result<(Head, Box<Self>), Failure> {
        // Whoever has used up its turn is told nothing by a socket.
        tokio::task::coop::consume_budget().await;
        // The other side may have closed while the connection rested.
        self.check_idle().map_err(Failure::Unsent)?;
        self.outgoing.load(message);
        let mut waiting = Waiting::default();
        let head = match poll_fn(|cx| self.poll_head(cx, &mut waiting)).await {
            Ok(head) => head,
            Err(failure) => {
                if matches!(failure, Failure::Unsent(_)) {
                    self.outgoing.unload(message);
                }
                return Err(failure);
            }
        };
        self.begin_body(message, &head).map_err(Failure::Broken)?;
        Ok((head, self))
    }

    /// Writes the request and looks for the answer, which may come before all is written.
    fn poll_head(&mut self, cx: &mut Context<'_>, waiting: &mut Waiting) -> Poll<Result<Head, Failure>> {
        if let Poll::Ready(Err(error)) = self.outgoing.poll_write(cx, &mut self.stream) {
            // TLS does not say what it has written before it failed.
            if !self.outgoing.has_begun() && !self.origin.is_secure() {
                return Poll::Ready(Err(Failure::Unsent(Error::broken(error))));
            }
            // A server that has closed may have answered before. Then the socket will say so.
            self.outgoing.give_up();
            if !is_closed(&error) {
                return Poll::Ready(Err(Failure::Broken(Error::broken(error))));
            }
            waiting.unwritable = Some(error);
        }
        self.poll_answer(cx, waiting).map_err(|error| {
            // TLS may say why; a socket that was closed says no more than the first failure.
            let first = waiting.unwritable.take().filter(|_| !is_of_tls(&error));
            Failure::Broken(first.map_or(error, Error::broken))
        })
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>, waiting: &mut Waiting) -> Poll<Result<Head, Error>> {
        loop {
            while let Some(head) = self.incoming.take_head()? {
                if !head.status.is_informational() || head.status == StatusCode::SWITCHING_PROTOCOLS {
                    return Poll::Ready(Ok(head));
                }
                waiting.interim += 1;
                if waiting.interim > MAX_INTERIM {
                    return Poll::Ready(Err(Error::malformed(
                        "the server sent too many interim responses (HTTP status 1xx)",
                    )));
                }
            }
            if ready!(self.incoming.poll_fill(cx, &mut self.stream, 0)).map_err(Error::broken)? == 0 {
                return Poll::Ready(Err(Error::broken("it ended before the answer")));
            }
        }
    }

    /// Finds out what follows the head of the answer.
    fn begin_body(&mut self, message: &Message, head: &Head) -> Result<(), Error> {
        let framing = Framing::of(&message.method, head)?;
        self.body = framing.body;
        self.stays_open = framing.stays_open
            && self.outgoing.is_written()
            && !framing::has_token(&message.headers, &CONNECTION, "close");
        if self.outgoing.is_written() {
            return Ok(());
        }
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::broken("it switched protocols within a request"));
        }
        // A server that likes the request may want the rest of it; another does not.
        if !head.status.is_success() {
            self.outgoing.give_up();
        }
        Ok(())
    }

    pub(crate) fn is_body_ended(&self) -> bool {
        self.body.is_ended()
    }

    /// The next part of a body, or its end.
    pub(crate) fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if let Poll::Ready(Err(_)) = self.outgoing.poll_write(cx, &mut self.stream) {
            // The answer is there; only its end counts.
            self.outgoing.give_up();
        }
        self.poll_part(cx).map(Result::transpose)
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Error>> {
        loop {
            let part = self.body.take(&mut self.incoming.bytes)?;
            if part.is_some() || self.body.is_ended() {
                return Poll::Ready(Ok(part));
            }
            let filled = ready!(self.incoming.poll_fill(cx, &mut self.stream, self.body.expected()));
            if filled.map_err(Error::broken)? == 0 {
                return Poll::Ready(self.body.close().map(|()| None));
            }
        }
    }

    /// Gives back what memory is not needed, and says whether the connection can take another request.
    pub(crate) fn rest(&mut self) -> bool {
        self.incoming.shrink();
        self.check_idle().is_ok()
    }

    /// The last exchange is over, and the other side has neither ended nor said anything since.
    /// Nobody is to be woken for it. What it has said in TLS, e.g. that it wants a certificate, is the reason.
    fn check_idle(&mut self) -> Result<(), Error> {
        if !self.stays_open || !self.body.is_ended() || !self.incoming.bytes.is_empty() {
            return Err(Error::broken("it is not ready for another request"));
        }
        let mut byte = [0];
        let mut cx = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.stream).poll_read(&mut cx, &mut ReadBuf::new(&mut byte)) {
            Poll::Pending => Ok(()),
            Poll::Ready(Ok(())) => Err(Error::broken("it was closed")),
            Poll::Ready(Err(error)) => Err(Error::broken(error)),
        }
    }

    /// The bytes of a connection that both sides have agreed to use for something else, and what
    /// has arrived of them already.
    pub(crate) fn into_stream(self: Box<Self>) -> (Stream, Bytes) {
        (self.stream, self.incoming.into_bytes())
    }
}

/// TLS has found something wrong, or was told so.
fn is_of_tls(error: &Error) -> bool {
    let inner = error.find::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<rustls::Error>())
}

/// The other side takes no more.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}
