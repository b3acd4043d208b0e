//! One connection and its user, in the same task.

use crate::Message;
use crate::error::Error;
use crate::pool::Origin;
use bytes::Bytes;
use futures::FutureExt;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::{TrySendError, http1};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use tokio::net::TcpStream;

type Io = MaybeHttpsStream<TokioIo<TcpStream>>;

/// The bytes of a connection that has changed its protocol.
pub type Stream = TokioIo<Io>;

/// Both ends of hyper's connection: the one that asks, and the one that does the work.
pub(crate) struct Connection {
    pub(crate) origin: Origin,
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
}

struct Driver {
    inner: http1::Connection<Io, Full<Bytes>>,
    is_over: bool,
    /// Why it is over, if that was a mistake.
    why: Option<hyper::Error>,
}

/// Why a request failed, and the request itself if nothing of it was written.
type SendError = (Error, Option<Box<Message>>);

impl Connection {
    pub(crate) async fn open(io: Io, origin: Origin) -> Result<Box<Self>, Error> {
        let (sender, inner) = http1::handshake(io).await.map_err(|error| Error::connect(error.into()))?;
        Ok(Box::new(Self { origin, sender, driver: Driver { inner, is_over: false, why: None } }))
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(
        mut self: Box<Self>,
        message: Message,
    ) -> Result<(http::Response<Incoming>, Box<Self>), SendError> {
        // The other side may have closed while the connection rested.
        if !self.rest() {
            let error = match self.driver.why.take() {
                Some(why) => Error::broken(why),
                None => Error::broken("it was closed"),
            };
            return Err((error, Some(Box::new(message))));
        }
        let mut answer = Box::pin(self.sender.try_send_request(message));
        let driver = &mut self.driver;
        let answered = poll_fn(|cx| driver.work_until(cx, |quiet| answer.as_mut().poll(quiet))).await;
        let Some(answered) = answered else {
            // With the driver goes what it has not taken up: the request is given back.
            drop(self);
            return Err(match answer.as_mut().now_or_never() {
                Some(Err(error)) => parts_of(error),
                _ => (Error::broken("it ended without a word"), None),
            });
        };
        match answered {
            Ok(response) => Ok((response, self)),
            Err(error) => Err(parts_of(error)),
        }
    }

    /// The next part of a body, or its end.
    pub(crate) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        body: &mut Incoming,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            let next = |quiet: &mut Context<'_>| Pin::new(&mut *body).poll_frame(quiet);
            return Poll::Ready(match ready!(self.driver.work_until(cx, next)) {
                Some(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => Some(Ok(data)),
                    Err(_trailers) => continue,
                },
                Some(Some(Err(error))) => Some(Err(Error::broken(error))),
                Some(None) => None,
                None => Some(Err(Error::broken("it ended within a body"))),
            });
        }
    }

    /// Does what is left to do, and says whether the connection can take another request.
    /// Nobody is to be woken for it any more.
    pub(crate) fn rest(&mut self) -> bool {
        self.driver.work(&mut Context::from_waker(Waker::noop()));
        !self.driver.is_over && self.sender.is_ready()
    }

    /// The bytes of a connection that both sides have agreed to use for something else, and what
    /// has arrived of them already.
    pub(crate) async fn into_stream(mut self: Box<Self>) -> (Stream, Bytes) {
        poll_fn(|cx| {
            self.driver.work(cx);
            if self.driver.is_over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let parts = self.driver.inner.into_parts();
        (TokioIo::new(parts.io), parts.read_buf)
    }
}

fn parts_of(mut error: TrySendError<Message>) -> SendError {
    let unsent = error.take_message().map(Box::new);
    (Error::broken(error.into_error()), unsent)
}

impl Driver {
    fn work(&mut self, cx: &mut Context<'_>) {
        if !self.is_over {
            // Errors also reach whoever waits for an answer or a body.
            if let Poll::Ready(ended) = self.inner.poll_without_shutdown(cx) {
                self.is_over = true;
                self.why = ended.err();
            }
        }
    }

    /// Works until `ask` has an answer; none when the connection has ended before.
    ///
    /// What `ask` looks at changes only while the connection is driven, right here. So it need not
    /// wake anybody; only the socket does.
    fn work_until<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut ask: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Option<T>> {
        let mut quiet = Context::from_waker(Waker::noop());
        if let Poll::Ready(answer) = ask(&mut quiet) {
            return Poll::Ready(Some(answer));
        }
        self.work(cx);
        match ask(&mut quiet) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if self.is_over => Poll::Ready(None),
            Poll::Pending => {
                // A task that has used up its turn is told "pending" by everything it asks.
                if !tokio::task::coop::has_budget_remaining() {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    }
}
