//! The way to an SMTP server: a few connections, each used by one message at a time.

mod auth;
mod connect;
mod deliver;
mod dialogue;
mod pool;
mod reply;

use super::mime::Message;
use super::settings::{Notify, Security};
use crate::shared::attempts::Backoff;
use crate::shared::network::Policy;
use crate::shared::sending::Fate;
use crate::shared::wire::TlsConfig;
use connect::Server;
use deliver::{Envelope, Trouble};
use fetch::Tls;
use pool::Pool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool::{Result, Secret};

/// Where the server is, and how to speak with it.
pub(super) struct Options {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    /// Who we are, where the server wants to know.
    pub(super) credentials: Option<(String, Secret)>,
    pub(super) policy: Arc<Policy>,
    pub(super) tls: Tls,
    /// How often it is tried to connect.
    pub(super) attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) timeout: Duration,
    pub(super) pool_size: usize,
    pub(super) notify: Vec<Notify>,
}

/// One server.
pub(super) struct Smtp {
    pool: Pool,
    notify: Vec<Notify>,
    /// Reports were wanted, and the server has none.
    lacks_reports: AtomicBool,
}

impl Smtp {
    pub(super) fn new(options: Options) -> Self {
        let Options {
            host,
            port,
            security,
            credentials,
            policy,
            tls,
            attempts,
            backoff,
            timeout,
            pool_size,
            notify,
        } = options;
        let server = Server {
            host,
            port,
            security,
            credentials,
            policy,
            tls: TlsConfig::new(tls),
            attempts,
            backoff,
            timeout,
        };
        Self { pool: Pool::new(server, pool_size), notify, lacks_reports: AtomicBool::new(false) }
    }

    /// Hands one message over. `is_doubtful` is set from when on nobody knows whether the server has it.
    pub(super) async fn deliver(&self, message: &Message, is_doubtful: &AtomicBool) -> Result<Vec<Fate>> {
        let envelope = Envelope { message, notify: &self.notify, is_doubtful };
        let turn = self.pool.turn().await?;
        let mut last = None;
        // A connection that has rested may be gone, and a server may want no more of it: once more on a new one.
        for _ in 0..2 {
            let mut connection = match (&last, turn.rested()) {
                (None, Some(rested)) => rested,
                _ => self.pool.connect().await?,
            };
            match connection.deliver(&envelope).await {
                Ok(fates) => {
                    let lacks_reports = !self.notify.is_empty() && !connection.offers.has_reports;
                    self.lacks_reports.store(lacks_reports, Ordering::Relaxed);
                    turn.give_back(connection);
                    return Ok(fates);
                }
                Err(Trouble::Gone(error)) => last = Some(error),
                Err(Trouble::Failed(error)) => return Err(error),
                Err(Trouble::Doubtful) => return Ok(vec![Fate::unknown(); message.recipients.len()]),
            }
        }
        Err(last.unwrap_or_else(|| tool::Error::internal("a message was not tried")))
    }

    pub(super) fn lacks_reports(&self) -> bool {
        self.lacks_reports.load(Ordering::Relaxed)
    }

    /// Connects, signs in, and asks for nothing.
    pub(super) async fn probe(&self) -> Result<()> {
        let mut connection = self.pool.connect().await?;
        connection.say_nothing().await
    }
}
