//! A few connections for many messages, handed out in the order in which they are asked for.

use super::connect::{Connection, Server};
use crate::shared::bounds::waiting;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tool::{Error, Result};

/// Servers end connections that rest; one that has rested for longer is most likely gone.
const REST: Duration = Duration::from_secs(60);

/// The connections to one server.
pub(super) struct Pool {
    server: Server,
    turns: Semaphore,
    rested: Mutex<Vec<(Connection, Instant)>>,
}

/// The right to one connection.
pub(super) struct Turn<'a> {
    pool: &'a Pool,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(server: Server, size: usize) -> Self {
        Self { server, turns: Semaphore::new(size), rested: Mutex::default() }
    }

    pub(super) async fn turn(&self) -> Result<Turn<'_>> {
        let permit = waiting(self.turns.acquire()).await;
        let permit = permit.map_err(|_| Error::internal("the connections are gone"))?;
        Ok(Turn { pool: self, _permit: permit })
    }

    pub(super) async fn connect(&self) -> Result<Connection> {
        self.server.connect().await
    }
}

impl Turn<'_> {
    /// A connection that is open already, the one that has rested least.
    pub(super) fn rested(&self) -> Option<Connection> {
        let mut rested = self.pool.rested.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((mut connection, since)) = rested.pop() {
            // Those below have rested even longer.
            if since.elapsed() >= REST {
                rested.clear();
                return None;
            }
            if connection.is_ready() {
                return Some(connection);
            }
        }
        None
    }

    /// Leaves a connection to the next, if it can be used again.
    pub(super) fn give_back(&self, mut connection: Connection) {
        if !connection.is_ready() {
            return;
        }
        let mut rested = self.pool.rested.lock().unwrap_or_else(PoisonError::into_inner);
        rested.push((connection, Instant::now()));
    }
}
