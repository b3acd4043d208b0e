//! The listener: a task for each connection, in which its requests and calls run.

use crate::connections::{ClientLimits, Connections, Place, Refusal};
use crate::edge::edge;
use crate::linger::Lingering;
use crate::pace::{Answer, Pace, Paced, PacedBody};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit};
use axum::response::Response;
use futures::FutureExt;
use futures::task::AtomicWaker;
use http::StatusCode;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;

/// For errors that do not go away at once.
const PAUSE: Duration = Duration::from_secs(1);
/// Such an error is logged so often at the most.
const QUIET: Duration = Duration::from_secs(10);
/// Clients that are told at the same time, and heard out, that there is no room for them; others are only told.
const REFUSALS: usize = 64;
/// How often a connection may go on at once before others get their turn.
const TURNS: usize = 8;

/// Serves until `stop` ends, and then until the requests under way have ended.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    body_limit: DefaultBodyLimit,
    limits: &ClientLimits,
    clients: Arc<Connections>,
    stop: impl Future<Output = ()>,
) {
    let connections = GracefulShutdown::new();
    let builder = Builder::new(TokioExecutor::new());
    let mut acceptor = Acceptor::new(listener, clients);
    let mut stop = pin!(stop);
    loop {
        let (stream, peer, place) = tokio::select! {
            client = acceptor.next() => client,
            () = &mut stop => break,
        };
        // An answer goes out at once, not when the client has confirmed the one before.
        let _ = stream.set_nodelay(true);
        let pace = Pace::new(limits);
        let stream = TokioIo::new(Paced::new(Lingering::new(stream), pace.clone()));
        let router = router.clone();
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            let under_way = pace.begin();
            request.extensions_mut().insert(ConnectInfo(peer));
            body_limit.apply(&mut request);
            request.extensions_mut().insert(pace.clone());
            let request = request.map(|body| Body::new(PacedBody::new(body, pace.clone())));
            let asked = pace.clone();
            let answer = move |response: Response| {
                if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    asked.upgrade();
                }
                response.map(|body| Answer::new(body, under_way))
            };
            // hyper asks for the answer whenever anything happens on the connection.
            InPlace::new(edge(request, router.clone()).map(answer).map(Ok::<_, Infallible>))
        });
        let connection = builder.serve_connection_with_upgrades(stream, service).into_owned();
        let connection = InPlace::new(connections.watch(connection));
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                tracing::trace!("a connection ended early: {error}");
            }
        });
    }
    drop(acceptor);
    connections.shutdown().await;
}

/// Where clients come in, and are told when they cannot.
struct Acceptor {
    listener: TcpListener,
    clients: Arc<Connections>,
    /// A descriptor that is given up for a moment when there are no others: a client can then be told so, instead of
    /// waiting in the kernel's queue for what may never come.
    spare: Option<TcpSocket>,
    refusals: Arc<Semaphore>,
    logged: Option<Instant>,
}

impl Acceptor {
    fn new(listener: TcpListener, clients: Arc<Connections>) -> Self {
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        Self { listener, clients, spare: TcpSocket::new_v4().ok(), refusals, logged: None }
    }

    /// The next client for whom there is room.
    async fn next(&mut self) -> (TcpStream, SocketAddr, Place) {
        loop {
            let (stream, peer) = self.accept().await;
            match self.clients.admit(peer.ip()) {
                Ok(place) => return (stream, peer, place),
                Err(refusal) => self.refuse(stream, refusal),
            }
        }
    }

    /// The next client.
    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => match error.kind() {
                    // Gone before we came.
                    ErrorKind::ConnectionRefused
                    | ErrorKind::ConnectionAborted
                    | ErrorKind::ConnectionReset => {}
                    _ => {
                        if self.logged.is_none_or(|logged| logged.elapsed() > QUIET) {
                            self.logged = Some(Instant::now());
                            tracing::error!(%error, "no connection can be accepted, clients are sent away: {error}");
                        }
                        self.turn_away().await;
                    }
                },
            }
        }
    }

    /// Sends one client away that cannot be let in, or waits a moment where not even that can be done.
    async fn turn_away(&mut self) {
        if self.spare.take().is_some()
            && let Ok(Ok((stream, _))) = tokio::time::timeout(PAUSE, self.listener.accept()).await
        {
            self.clients.count_refused();
            tell(&stream, Refusal::NoDescriptors);
        } else {
            tokio::time::sleep(PAUSE).await;
        }
        self.spare = TcpSocket::new_v4().ok();
    }

    /// Tells a client why it is not let in.
    fn refuse(&self, stream: TcpStream, refusal: Refusal) {
        tell(&stream, refusal);
        if let Ok(turn) = self.refusals.clone().try_acquire_owned() {
            tokio::spawn(async move {
                let _turn = turn;
                let _ = Lingering::new(stream).shutdown().await;
            });
        }
    }
}

/// A fresh socket has room for so little. What has come already is read, as it would turn our end into a reset.
fn tell(stream: &TcpStream, refusal: Refusal) {
    let _ = stream.try_write(&refusal.answer());
    let _ = stream.try_read(&mut [0; 16 * 1024]);
}

/// A future that goes on at once when it wakes itself, and is left alone unless it was woken.
///
/// hyper's connection wakes itself for every request with a body. Left to the scheduler, which calls in another
/// thread for a task that is ready to go on, that costs more than much of the request.
struct InPlace<F> {
    future: Pin<Box<F>>,
    wake_flag: Arc<WakeFlag>,
    waker: Waker,
}

struct WakeFlag {
    state: AtomicU8,
    task: AtomicWaker,
}

/// The future waits for a ring, which must wake its task.
const WAITING: u8 = 0;
/// The future is being polled.
const INSIDE: u8 = 1;
/// It was rung for since it was last polled, or while it is.
const RUNG: u8 = 2;

impl<F> InPlace<F> {
    fn new(future: F) -> Self {
        let wake_flag = Arc::new(WakeFlag { state: AtomicU8::new(RUNG), task: AtomicWaker::new() });
        Self { future: Box::pin(future), waker: Waker::from(wake_flag.clone()), wake_flag }
    }
}

impl WakeFlag {
    /// Goes from one state to the other, if it is in the one.
    fn turn(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

impl<F: Future> Future for InPlace<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, wake_flag, waker } = &mut *self;
        wake_flag.task.register(cx.waker());
        for _ in 0..TURNS {
            if !wake_flag.turn(RUNG, INSIDE) {
                return Poll::Pending;
            }
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            if wake_flag.turn(INSIDE, WAITING) {
                return Poll::Pending;
            }
            if !tokio::task::coop::has_budget_remaining() {
                break;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(RUNG, Ordering::SeqCst) == WAITING {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Wakes itself from within `times`, then once from another thread, then ends.
    fn restless(times: usize, polls: Arc<AtomicUsize>) -> impl Future<Output = ()> {
        std::future::poll_fn(move |cx| {
            let poll = polls.fetch_add(1, Ordering::SeqCst);
            if poll < times {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if poll == times {
                let waker = cx.waker().clone();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(10));
                    waker.wake();
                });
                return Poll::Pending;
            }
            Poll::Ready(())
        })
    }

    #[tokio::test]
    async fn goes_on_at_once_when_it_wakes_itself_and_waits_for_others() {
        for times in [0, 1, TURNS - 1, TURNS, 10 * TURNS + 3] {
            let polls = Arc::new(AtomicUsize::new(0));
            let ended =
                tokio::time::timeout(Duration::from_secs(10), InPlace::new(restless(times, polls.clone())));
            ended.await.unwrap();
            assert_eq!(polls.load(Ordering::SeqCst), times + 2);
        }
    }

    #[tokio::test]
    async fn is_left_alone_unless_it_was_woken() {
        let polls = Arc::new(AtomicUsize::new(0));
        let mut restless = InPlace::new(restless(0, polls.clone()));
        for _ in 0..3 {
            let polled =
                std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut restless).poll(cx).is_pending()));
            assert!(polled.await);
        }
        assert_eq!(polls.load(Ordering::SeqCst), 1);
        restless.await;
        assert_eq!(polls.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn lets_others_have_their_turn() {
        let polls = Arc::new(AtomicUsize::new(0));
        let mut restless = InPlace::new(restless(usize::MAX, polls.clone()));
        let polled = std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut restless).poll(cx).is_pending()));
        assert!(polled.await);
        assert_eq!(polls.load(Ordering::SeqCst), TURNS);
    }

    /// A ring that comes while the future is being left must not be lost.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn hears_every_ring() {
        for _ in 0..2000 {
            let (tx, mut rx) = tokio::sync::mpsc::channel(1);
            let heard = InPlace::new(async move {
                for _ in 0..10 {
                    rx.recv().await.unwrap();
                }
            });
            let ringing = tokio::spawn(async move {
                for _ in 0..10 {
                    tx.send(()).await.unwrap();
                }
            });
            tokio::time::timeout(Duration::from_secs(10), heard).await.unwrap();
            ringing.await.unwrap();
        }
    }
}
