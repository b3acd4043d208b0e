//! A TCP proxy on loopback that can be cut, stalled and restored, for servers that go away, hang and come back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// A running proxy; it stops when dropped.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    state: watch::Sender<State>,
    delay: Delay,
    open: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    /// Connections that were there when it began stay open, and nothing passes through them; new ones are forwarded.
    Forgetful,
    /// Connections stay open, and nothing passes through them.
    Stalled,
    Down,
}

/// How many milliseconds an answer is held up.
type Delay = Arc<AtomicU64>;

impl TcpProxy {
    /// Forwards a free port of 127.0.0.1 to `server`, a `host:port`.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(server: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (sender, state) = watch::channel(State::Up);
        let (open, delay) = (Arc::default(), Delay::default());
        let task = tokio::spawn(accept(listener, server.into(), state, delay.clone(), Arc::clone(&open)));
        Self { address, state: sender, delay, open, task }
    }

    /// Where to connect instead of the server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that neither end has closed.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// Holds up what the server says from now on.
    ///
    /// # Panics
    /// When nobody would live to see it.
    pub fn delay(&self, delay: Duration) {
        self.delay.store(u64::try_from(delay.as_millis()).expect("a delay"), Ordering::SeqCst);
    }

    /// Closes every connection, and each new one at once.
    pub fn cut(&self) {
        self.state.send_replace(State::Down);
    }

    /// Lets nothing pass any more, on connections that are open and on new ones.
    pub fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    /// Lets nothing pass any more on connections that are open, which stay so, and forwards new ones: as something on the way
    /// does that has forgotten them.
    pub fn forget(&self) {
        self.state.send_replace(State::Forgetful);
    }

    /// Forwards new connections again.
    pub fn restore(&self) {
        self.state.send_replace(State::Up);
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    server: String,
    state: watch::Receiver<State>,
    delay: Delay,
    open: Arc<AtomicUsize>,
) {
    // Dropped with this task, which ends the connections too.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if *state.borrow() != State::Down {
            let (server, state, delay, open) = (server.clone(), state.clone(), delay.clone(), open.clone());
            connections.spawn(async move {
                open.fetch_add(1, Ordering::SeqCst);
                forward(client, server, state, &delay).await;
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn forward(client: TcpStream, server: String, mut state: watch::Receiver<State>, delay: &AtomicU64) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let ((mut asks, mut hears), (mut answers, mut is_asked)) = (client.into_split(), server.into_split());
    let there = async {
        tokio::io::copy(&mut asks, &mut is_asked).await?;
        is_asked.shutdown().await
    };
    let back = async {
        carry_back(&mut answers, &mut hears, delay).await?;
        hears.shutdown().await
    };
    let first = *state.borrow();
    tokio::select! {
        _ = async { tokio::try_join!(there, back) } => {}
        _ = state.wait_for(|state| *state != first || first == State::Stalled) => {}
    }
    // The end of the sender counts as the end, too.
    let keeps = |state: State| state == State::Stalled || (state == State::Forgetful && first != state);
    let _ = state.wait_for(|state| !keeps(*state)).await;
}

async fn carry_back(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    delay: &AtomicU64,
) -> std::io::Result<()> {
    let mut bytes = vec![0; 65536];
    loop {
        let count = from.read(&mut bytes).await?;
        if count == 0 {
            return Ok(());
        }
        let delay = delay.load(Ordering::SeqCst);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        to.write_all(&bytes[..count]).await?;
    }
}
