//! The way to brokers that name each other: a cluster says itself where its brokers are, and a hostile one could point
//! anywhere. The library takes no dialler of ours, but it knows proxies: this one, on loopback and for it alone, dials
//! only what the policy allows.

use crate::shared::network::{self, DialError, Policy, dial};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use krafka::ProxyConfig;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use tool::{Error, Result};

/// SOCKS, as RFC 1928 and RFC 1929 write it.
const VERSION: u8 = 5;
const CONNECT: u8 = 1;
const BY_PASSWORD: u8 = 2;
const PASSWORD_VERSION: u8 = 1;
const GRANTED: u8 = 0;
const NOT_ALLOWED: u8 = 2;
const UNREACHABLE: u8 = 4;
const OTHERWISE: u8 = 1;

/// How long the library may take to say where it wants to go.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The pause after a connection could not be taken.
const PAUSE: Duration = Duration::from_millis(100);
/// So long a refusal explains what fails.
const EXPLAINS: Duration = Duration::from_secs(30);
/// The most connections at once: three to each broker of a large cluster.
const MAX_CONNECTIONS: usize = 512;

/// The proxy of one client; it ends with it.
pub(super) struct Guard {
    address: SocketAddr,
    password: String,
    policy: Arc<Policy>,
    refusal: Refusal,
    _task: AbortOnDropHandle<()>,
}

/// What the policy said last, since the library only hears that it was refused.
#[derive(Clone, Default)]
struct Refusal(Arc<Mutex<Option<(Instant, String)>>>);

impl Guard {
    pub(super) async fn start(policy: Arc<Policy>) -> Result<Self> {
        let failed = |error: io::Error| Error::internal("no port can be opened on loopback").caused_by(error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let password: String = tool::new_id();
        let refusal = Refusal::default();
        let task = tokio::spawn(serve(listener, password.clone(), policy.clone(), refusal.clone()));
        Ok(Self { address, password, policy, refusal, _task: AbortOnDropHandle::new(task) })
    }

    pub(super) fn proxy(&self) -> ProxyConfig {
        ProxyConfig::with_credentials(self.address.to_string(), USER, &self.password)
    }

    /// Why a broker there would not be reached, where that is the policy.
    pub(super) async fn refuses(&self, host: &str) -> Option<Error> {
        network::refusal(host, &self.policy).await
    }

    /// Why a broker could not be reached, where it was the policy; asked once.
    pub(super) fn refusal(&self) -> Option<Error> {
        let (at, message) = self.refusal.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        (at.elapsed() < EXPLAINS).then(|| Error::denied(message))
    }
}

const USER: &str = "mcp-all-in-one";

async fn serve(listener: TcpListener, password: String, policy: Arc<Policy>, refusal: Refusal) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((client, _)) = listener.accept().await else {
            // Out of sockets, most likely: asking at once would only burn time.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if connections.len() >= MAX_CONNECTIONS {
            continue;
        }
        let (password, policy, refusal) = (password.clone(), policy.clone(), refusal.clone());
        connections.spawn(async move {
            // Whatever goes wrong, the library sees a connection that ends.
            let _ = carry(client, &password, &policy, &refusal).await;
        });
    }
}

async fn carry(
    mut client: TcpStream,
    password: &str,
    policy: &Arc<Policy>,
    refusal: &Refusal,
) -> io::Result<()> {
    let asked = tokio::time::timeout(HANDSHAKE, asked(&mut client, password)).await;
    let (host, port) = asked.map_err(|_| io::ErrorKind::TimedOut)??;
    let (answer, broker) = match dial(&host, port, policy).await {
        Ok(broker) => (GRANTED, Some(broker)),
        Err(DialError::Refused(error)) => {
            let said = (Instant::now(), error.message().to_owned());
            *refusal.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
            (NOT_ALLOWED, None)
        }
        Err(DialError::Unresolved(_) | DialError::Unconnected(_)) => (UNREACHABLE, None),
    };
    client.write_all(&[VERSION, answer, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let Some(mut broker) = broker else { return Ok(()) };
    // Answers to small questions must not wait for more.
    let _ = (broker.set_nodelay(true), client.set_nodelay(true));
    copy_bidirectional(&mut client, &mut broker).await.map(drop)
}

/// Where the library wants to go, once it has shown that it is ours.
async fn asked(client: &mut TcpStream, password: &str) -> io::Result<(String, u16)> {
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    let [version, count] = read(client).await?;
    let mut methods = vec![0; usize::from(count)];
    client.read_exact(&mut methods).await?;
    if version != VERSION || !methods.contains(&BY_PASSWORD) {
        return Err(refused());
    }
    client.write_all(&[VERSION, BY_PASSWORD]).await?;
    let [version] = read(client).await?;
    let (user, given) = (text(client).await?, text(client).await?);
    let is_ours = verify_slices_are_equal(given.as_bytes(), password.as_bytes()).is_ok();
    if version != PASSWORD_VERSION || user != USER || !is_ours {
        client.write_all(&[PASSWORD_VERSION, OTHERWISE]).await?;
        return Err(refused());
    }
    client.write_all(&[PASSWORD_VERSION, GRANTED]).await?;
    let [version, command, _, kind] = read(client).await?;
    if version != VERSION || command != CONNECT {
        return Err(refused());
    }
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(client).await?).to_string(),
        3 => text(client).await?,
        4 => Ipv6Addr::from(read::<16>(client).await?).to_string(),
        _ => return Err(refused()),
    };
    Ok((host, u16::from_be_bytes(read(client).await?)))
}

async fn read<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// A text with its length before it.
async fn text(client: &mut TcpStream) -> io::Result<String> {
    let [length] = read(client).await?;
    let mut bytes = vec![0; usize::from(length)];
    client.read_exact(&mut bytes).await?;
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}
