//! Connections to Redis: over sockets of ours, to addresses that were checked, with answers that end.

use super::failure;
use crate::mq::address::Address;
use crate::mq::broker::Options;
use crate::mq::unanswered::Unanswered;
use crate::mq::wire;
use crate::shared::wire::{TlsConfig, Wire};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, IntoConnectionInfo as _, RedisConnectionInfo};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;
use tool::{Error, Result};

/// The most bytes of one answer: a hundred large messages, and never all of a hostile one.
const MAX_ANSWER_BYTES: usize = 128 * 1024 * 1024;

/// A connection, and the task that drives it.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) commands: MultiplexedConnection,
    driver: Arc<AbortOnDropHandle<()>>,
}

/// The way to one database.
pub(super) struct Connections {
    address: Address,
    database: i64,
    options: Options,
    tls: TlsConfig,
    /// What calls share; commands of many callers go through one connection.
    shared: Mutex<Option<Connection>>,
    pub(super) unanswered: Unanswered,
}

impl Connections {
    pub(super) fn new(address: Address, database: i64, mut options: Options) -> Self {
        let tls = TlsConfig::new(std::mem::take(&mut options.tls));
        Self { address, database, options, tls, shared: Mutex::default(), unanswered: Unanswered::default() }
    }

    /// The connection of all calls, opened anew where it has ended or answers no more.
    pub(super) async fn shared(&self) -> Result<MultiplexedConnection> {
        Ok(self.shared_connection().await?.commands)
    }

    /// The same, with what keeps it open.
    pub(super) async fn shared_connection(&self) -> Result<Connection> {
        let mut shared = self.shared.lock().await;
        if let Some(connection) = shared.as_ref().filter(|connection| !connection.driver.is_finished()) {
            let answers =
                async { redis::cmd("PING").exec_async(&mut connection.commands.clone()).await.is_ok() };
            if self.unanswered.is_alive(self.options.timeout, answers).await {
                return Ok(connection.clone());
            }
        }
        let budget = self.options.budget();
        let connection = budget.run(|| async { Ok(Box::pin(self.own()).await?) }).await?;
        *shared = Some(connection.clone());
        Ok(connection)
    }

    /// One for a reader, which waits on it.
    pub(super) async fn own(&self) -> Result<Connection> {
        let (info, wire) = self.open().await?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(Some(self.options.timeout.max(Duration::from_secs(5))));
        let wire = Limited { wire, received: 0 };
        let opened = MultiplexedConnection::new_with_config(&info, wire, config);
        let (commands, driver) = opened.await.map_err(|error| failure::of_connecting(&error))?;
        Ok(Connection { commands, driver: Arc::new(AbortOnDropHandle::new(tokio::spawn(driver))) })
    }

    /// One that listens to channels.
    pub(super) async fn pubsub(&self) -> Result<PubSub> {
        let (info, wire) = self.open().await?;
        PubSub::new(&info, wire).await.map_err(|error| failure::of_connecting(&error))
    }

    async fn open(&self) -> Result<(RedisConnectionInfo, Wire)> {
        let wire = wire::connect(&self.address, &self.options.policy, &self.tls).await?;
        Ok((self.info()?, wire))
    }

    fn info(&self) -> Result<RedisConnectionInfo> {
        // The library has no other way to make one; nothing of this address is used.
        let info = "redis://localhost".into_connection_info();
        let info =
            info.map_err(|error| Error::internal("no connection can be described").caused_by(error))?;
        let mut info = info.redis_settings().clone().set_db(self.database).set_skip_set_lib_name();
        if let Some(username) = &self.address.username {
            info = info.set_username(username);
        }
        if let Some(password) = &self.address.password {
            info = info.set_password(password.expose());
        }
        Ok(info)
    }
}

/// Ends a connection whose answer is too large for memory. The count begins anew with each command.
struct Limited {
    wire: Wire,
    received: usize,
}

impl AsyncRead for Limited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.wire).poll_read(cx, buffer))?;
        self.received += buffer.filled().len() - before;
        match self.received > MAX_ANSWER_BYTES {
            true => Poll::Ready(Err(io::Error::other("the answer is too large"))),
            false => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Limited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.received = 0;
        Pin::new(&mut self.wire).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }
}
