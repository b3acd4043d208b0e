//! How slow a client may be: it asks, sends and takes in time, or its connection ends.

use crate::connections::ClientLimits;
use crate::linger::Lingering;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// What the two ends of one connection know of each other: where bytes come in, and where requests are answered.
pub(crate) struct Pace {
    head: Duration,
    body: Duration,
    keep_alive: Duration,
    accepted: Instant,
    /// Requests that were ever begun.
    begun: AtomicUsize,
    /// Requests that are not yet answered to the end.
    under_way: AtomicUsize,
    /// When the last of them was, in milliseconds since the connection was accepted.
    idle_since_ms: AtomicU64,
    /// Bodies of which nothing has come that somebody waits for.
    awaited: AtomicUsize,
    /// HTTP is over here, and whoever speaks something else looks after its client.
    is_upgraded: AtomicBool,
}

impl Pace {
    pub(crate) fn new(limits: &ClientLimits) -> Arc<Self> {
        Arc::new(Self {
            head: limits.head_timeout,
            body: limits.body_timeout,
            keep_alive: limits.keep_alive,
            accepted: Instant::now(),
            begun: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            idle_since_ms: AtomicU64::new(0),
            awaited: AtomicUsize::new(0),
            is_upgraded: AtomicBool::new(false),
        })
    }

    /// A request's head has arrived.
    pub(crate) fn begin(self: &Arc<Self>) -> RequestGuard {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.begun.fetch_add(1, Ordering::AcqRel);
        RequestGuard(self.clone())
    }

    /// What comes from now on is no request.
    pub(crate) fn upgrade(&self) {
        self.is_upgraded.store(true, Ordering::Release);
    }

    /// It is the client that we wait for, and nobody else.
    pub(crate) fn is_awaiting_body(&self) -> bool {
        self.awaited.load(Ordering::Acquire) > 0
    }

    fn rest(&self) {
        let ms = u64::try_from(self.accepted.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.idle_since_ms.store(ms, Ordering::Release);
    }

    fn idle_since(&self) -> Instant {
        self.accepted + Duration::from_millis(self.idle_since_ms.load(Ordering::Acquire))
    }
}

/// A request under way, until its answer has been given to the end or nobody wants it any more.
pub(crate) struct RequestGuard(Arc<Pace>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.rest();
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer; while it lasts, its request is under way.
pub(crate) struct Answer {
    body: axum::body::Body,
    _under_way: RequestGuard,
}

impl Answer {
    pub(crate) fn new(body: axum::body::Body, under_way: RequestGuard) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a request, of which something must come now and then.
pub(crate) struct PacedBody {
    body: Incoming,
    pace: Arc<Pace>,
    /// While nothing comes.
    waiting: Option<Pin<Box<Sleep>>>,
}

/// Nothing more came of a request's body.
#[derive(Debug)]
pub(crate) struct TooSlow;

impl std::fmt::Display for TooSlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the body came too slowly")
    }
}

impl std::error::Error for TooSlow {}

impl TooSlow {
    /// Whether that is why a body could not be read.
    pub(crate) fn is_why(error: &(dyn std::error::Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<Self>())
    }
}

impl PacedBody {
    pub(crate) fn new(body: Incoming, pace: Arc<Pace>) -> Self {
        Self { body, pace, waiting: None }
    }

    fn wait_no_more(&mut self) {
        if self.waiting.take().is_some() {
            self.pace.awaited.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Drop for PacedBody {
    fn drop(&mut self) {
        self.wait_no_more();
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.wait_no_more();
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Self { pace, waiting, .. } = &mut *self;
        let waiting = waiting.get_or_insert_with(|| {
            pace.awaited.fetch_add(1, Ordering::AcqRel);
            Box::pin(tokio::time::sleep(pace.body))
        });
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(TooSlow.into()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that ends when its client is too slow to ask or to take its answer.
pub(crate) struct Paced {
    stream: Lingering,
    pace: Arc<Pace>,
    /// Of HTTP/2, whose frames come without a request, too.
    is_multiplexed: Option<bool>,
    /// The head of the request with this number has begun to arrive, and since when we wait for its rest.
    head: Option<(usize, Option<Instant>)>,
    /// Goes off no later than the client is late; what it means is found out then, so that a request costs no timer.
    timer: Option<Pin<Box<Sleep>>>,
    /// While the client takes nothing of what we have for it.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(crate) fn new(stream: Lingering, pace: Arc<Pace>) -> Self {
        Self { stream, pace, is_multiplexed: None, head: None, timer: None, stalled: None }
    }

    /// Bytes have come: of a head, unless a request is under way.
    fn note_arrival(&mut self, bytes: &[u8]) {
        if self.is_multiplexed.is_none() {
            self.is_multiplexed = Some(bytes.starts_with(b"PRI"));
        }
        let begun = self.pace.begun.load(Ordering::Acquire);
        let is_known = self.head.is_some_and(|(of, _)| of == begun);
        if !is_known && self.pace.under_way.load(Ordering::Acquire) == 0 {
            self.head = Some((begun, None));
        }
    }

    /// When the client is late, as things are; far away while we owe it something.
    fn due(&mut self, now: Instant) -> Instant {
        let pace = &self.pace;
        let is_upgraded = pace.is_upgraded.load(Ordering::Acquire);
        if is_upgraded || pace.under_way.load(Ordering::Acquire) > 0 || self.stalled.is_some() {
            return now + pace.keep_alive;
        }
        let begun = pace.begun.load(Ordering::Acquire);
        match &mut self.head {
            _ if begun == 0 => pace.accepted + pace.head,
            Some((of, since)) if *of == begun && self.is_multiplexed != Some(true) => {
                *since.get_or_insert(now) + pace.head
            }
            _ => pace.idle_since() + pace.keep_alive,
        }
    }

    /// Whether the client is late; if not, we are woken when it may be.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            let now = Instant::now();
            let due = self.due(now);
            if due <= now {
                return true;
            }
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if timer.deadline() > due || timer.is_elapsed() {
                timer.as_mut().reset(due);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return false;
            }
        }
    }

    /// What became of writing: an error when the client has taken nothing for too long.
    fn poll_taken<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.stalled.take().is_some() {
                self.pace.rest();
            }
            return written;
        }
        let time = self.pace.body;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(time)));
        match stalled.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        match &read {
            // To HTTP that is a client that has gone away.
            Poll::Pending if self.is_late(cx) => return Poll::Ready(Ok(())),
            Poll::Ready(Ok(())) => self.note_arrival(&buffer.filled()[before..]),
            Poll::Pending | Poll::Ready(Err(_)) => {}
        }
        read
    }
}

impl AsyncWrite for Paced {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.poll_taken(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.poll_taken(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
