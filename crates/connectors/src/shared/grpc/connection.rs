//! HTTP/2 connections to instances: one for each, made when it is needed, shared by all calls.

use super::failure::Failure;
use super::frame::Outgoing;
use crate::shared::instance::Instance;
use crate::shared::network::{Policy, dial};
use fetch::Tls;
use fetch::http::uri::{Authority, Scheme};
use fetch::http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::{Env, Error, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that nobody used for so long are closed when the next one is made.
const IDLE: Duration = Duration::from_secs(300);
/// Servers have more to say in headers than this only if they mean harm.
const MAX_HEADER_BYTES: u32 = 64 * 1024;
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// How instances are spoken to.
#[derive(Debug)]
pub(crate) enum Security {
    /// HTTP/2 without TLS.
    Plain,
    /// With TLS, to servers with the name of the settings in their certificate, or with that of their instance.
    Tls(Arc<Tls>),
}

/// A connection that calls are sent over.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    sender: SendRequest<Outgoing>,
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
}

impl Connection {
    /// Sends a request and waits for the head of the answer. Dropping the future, or the answer before its end,
    /// resets the stream, which ends the call at the server.
    pub(crate) async fn send(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, Failure> {
        self.sender.try_send_request(request).await.map_err(|mut error| match error.take_message() {
            Some(_) => Failure::Unsent(error.into_error()),
            None => Failure::of_stream(error.into_error()),
        })
    }
}

type Key = (String, u16);

/// A place for a connection; whoever makes it holds the lock, the others wait for it.
#[derive(Debug, Default)]
struct Slot {
    connection: tokio::sync::Mutex<Option<Connection>>,
    used: Mutex<Option<Instant>>,
}

/// The connections of one service. They end with it, each when its last call has.
#[derive(Debug)]
pub(crate) struct Connections {
    policy: Arc<Policy>,
    security: Security,
    config: OnceCell<Arc<rustls::ClientConfig>>,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Connections {
    pub(crate) fn new(policy: Arc<Policy>, security: Security, env: &Env) -> Self {
        Self {
            policy,
            security,
            config: OnceCell::new(),
            slots: Mutex::default(),
            tasks: env.tasks.clone(),
            shutdown: env.shutdown.clone(),
        }
    }

    /// A connection to an instance, the one there is where there is one.
    ///
    /// # Errors
    /// `Denied` where the guard allows no address of it, `Unavailable` where it cannot be reached.
    pub(crate) async fn get(&self, instance: &Instance) -> Result<Connection, Failure> {
        let slot = self.slot(instance);
        let mut connection = slot.connection.lock().await;
        if let Some(connection) = connection.as_ref().filter(|found| !found.sender.is_closed()) {
            return Ok(connection.clone());
        }
        // In a box: calls that find a connection need not carry the room for making one.
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, Box::pin(self.connect(instance)));
        let made = connecting.await.unwrap_or_else(|late| {
            Err(unreachable("the instance cannot be connected to in time").caused_by(late))
        });
        let made = made.map_err(|error| Failure::Unconnected(error.with("instance", instance)))?;
        *connection = Some(made.clone());
        Ok(made)
    }

    /// The instance did not answer in time: whether it or the way to it is dead, the next call goes another way.
    pub(crate) fn forget(&self, instance: &Instance) {
        self.slots().remove(&key(instance));
    }

    fn slot(&self, instance: &Instance) -> Arc<Slot> {
        let now = Instant::now();
        let mut slots = self.slots();
        let slot = match slots.get(&key(instance)) {
            Some(slot) => slot.clone(),
            None => {
                slots.retain(|_, slot| {
                    let used = *slot.used.lock().unwrap_or_else(PoisonError::into_inner);
                    used.is_some_and(|used| now.duration_since(used) < IDLE)
                });
                slots.entry(key(instance)).or_default().clone()
            }
        };
        *slot.used.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        slot
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self, instance: &Instance) -> Result<Connection> {
        let stream = dial_instance(instance, &self.policy).await?;
        let Security::Tls(tls) = &self.security else {
            return self.shake_hands(stream, Scheme::HTTP, authority(&instance.to_string())?).await;
        };
        let config = self.config.get_or_try_init(|| load(tls.clone())).await?.clone();
        let server = match &tls.server_name {
            Some(name) => name.clone(),
            None => ServerName::try_from(instance.host.clone()).map_err(|_| {
                Error::invalid_config("no certificate can have the instance's name; set 'tls.server_name'")
            })?,
        };
        let stream = TlsConnector::from(config).connect(server, stream).await.map_err(|error| {
            unreachable("TLS with the instance failed; check its certificate, the name that it is known by, and 'tls.ca'")
                .caused_by(error)
        })?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(unreachable("the instance does not speak HTTP/2 over TLS, which gRPC needs"));
        }
        let named = match &tls.server_name {
            Some(name) => format!("{}:{}", name.to_str(), instance.port),
            None => instance.to_string(),
        };
        self.shake_hands(stream, Scheme::HTTPS, authority(&named)?).await
    }

    async fn shake_hands<S>(&self, stream: S, scheme: Scheme, authority: Authority) -> Result<Connection>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEADER_BYTES);
        let (sender, driver) = builder.handshake(TokioIo::new(stream)).await.map_err(|error| {
            unreachable("the instance does not speak HTTP/2, which gRPC needs").caused_by(error)
        })?;
        // It ends when nobody holds a sender any more, and all streams have ended.
        self.tasks.spawn(self.shutdown.clone().run_until_cancelled_owned(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "a connection to a gRPC instance ended: {error}");
            }
        }));
        Ok(Connection { sender, scheme, authority })
    }
}

fn key(instance: &Instance) -> Key {
    (instance.host.clone(), instance.port)
}

fn authority(text: &str) -> Result<Authority> {
    text.parse().map_err(|_| Error::internal("an instance has no usable address"))
}

async fn dial_instance(instance: &Instance, policy: &Arc<Policy>) -> Result<TcpStream> {
    let stream = dial(&instance.host, instance.port, policy).await;
    let stream = stream.map_err(|error| error.about("instance"))?;
    // Small messages must not wait for more.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Reads files.
async fn load(tls: Arc<Tls>) -> Result<Arc<rustls::ClientConfig>> {
    let failed = || Error::internal("TLS cannot be set up");
    let loading = tokio::task::spawn_blocking(move || tls.to_config());
    let config = loading.await.map_err(|error| failed().caused_by(error))?;
    let mut config = config.map_err(|error| failed().caused_by(error))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn unreachable(message: &str) -> Error {
    Error::unavailable(message).retryable()
}
