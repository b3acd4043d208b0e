//! Connections at rest, the one used last on top.

use crate::connection::Connection;
use crate::error::Error;
use http::header::HeaderValue;
use http::uri::{Authority, Scheme, Uri};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use url::Url;

/// How many connections may rest; more are closed.
const MAX_IDLE: usize = 512;
/// How long a connection may rest.
const MAX_IDLE_TIME: Duration = Duration::from_secs(60);

/// Whom a connection leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    is_secure: bool,
    /// As the URL writes it, with the port unless it is the usual one.
    authority: Box<str>,
}

impl Origin {
    pub(crate) fn of(url: &Url) -> Result<Self, Error> {
        let is_secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(Error::unusable("only http and https can be fetched")),
        };
        // Without the name and the password that may stand before the host.
        let authority = url[url::Position::BeforeHost..url::Position::AfterPort].into();
        Ok(Self { is_secure, authority })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }

    pub(crate) fn host_header(&self) -> Result<HeaderValue, Error> {
        HeaderValue::from_str(&self.authority).map_err(Error::unusable)
    }

    pub(crate) fn to_uri(&self) -> Result<Uri, Error> {
        let scheme = if self.is_secure { Scheme::HTTPS } else { Scheme::HTTP };
        let authority = Authority::try_from(&*self.authority).map_err(Error::unusable)?;
        Uri::builder()
            .scheme(scheme)
            .authority(authority)
            .path_and_query("/")
            .build()
            .map_err(Error::unusable)
    }
}

/// The connections of one client that nobody uses just now.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<IdleConnections>,
}

#[derive(Default)]
struct IdleConnections {
    /// Those that have rested longest come first.
    connections: Vec<(Instant, Box<Connection>)>,
    /// Somebody sees to it that no connection rests too long.
    is_watched: bool,
}

impl Pool {
    /// The connection to `origin` that has rested the least.
    pub(crate) fn take(&self, origin: &Origin) -> Option<Box<Connection>> {
        let mut idle = self.idle();
        let at = idle.connections.iter().rposition(|(_, connection)| connection.origin == *origin)?;
        Some(idle.connections.remove(at).1)
    }

    /// Lets a connection rest that can take another request.
    pub(crate) fn put(self: &Arc<Self>, mut connection: Box<Connection>) {
        if !connection.rest() {
            return;
        }
        let mut idle = self.idle();
        if idle.connections.len() < MAX_IDLE {
            idle.connections.push((Instant::now(), connection));
        }
        let is_watched = std::mem::replace(&mut idle.is_watched, true);
        drop(idle);
        if !is_watched {
            // It ends by itself, at the latest a while after the last use, and holds nothing.
            tokio::spawn(watch(Arc::downgrade(self)));
        }
    }

    /// Closes connections that the other side has closed or that have rested too long; says whether any are left.
    fn sweep(&self) -> bool {
        let mut idle = self.idle();
        idle.connections
            .retain_mut(|(since, connection)| since.elapsed() < MAX_IDLE_TIME && connection.rest());
        idle.is_watched = !idle.connections.is_empty();
        idle.is_watched
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn watch(pool: std::sync::Weak<Pool>) {
    loop {
        tokio::time::sleep(MAX_IDLE_TIME / 4).await;
        match pool.upgrade() {
            Some(pool) if pool.sweep() => {}
            _ => return,
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("idle", &self.idle().connections.len()).finish()
    }
}
