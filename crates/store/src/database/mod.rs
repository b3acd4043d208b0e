//! The open database: how it is opened, and what its connections share.

mod resources;
mod transactions;

pub(crate) use transactions::Write;

use crate::vault::Vault;
use crate::{Error, Result, meta, migrate, occupancy, sqlite};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, ConnectOptions as _};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tool::{RunKind, Secret, TenantId};

/// Which database, and how patient to be with it.
#[derive(Debug, Clone)]
pub struct Options {
    /// `sqlite:/path/file.db` or `postgres://user:password@host/database`.
    pub url: Secret,
    /// How long to wait for a connection before the database counts as unavailable.
    pub connect_timeout: Duration,
    /// How long SQLite waits for a lock that another process holds.
    pub busy_timeout: Duration,
    /// The most connections to hold; with SQLite one more, which writes.
    pub max_connections: u32,
}

impl Options {
    /// The usual patience: five seconds for everything. A connection to SQLite is a thread with a copy of
    /// the schema.
    pub fn new(url: impl Into<String>) -> Self {
        let url = Secret::new(url);
        let max_connections = if url.expose().starts_with("sqlite:") { 3 } else { 8 };
        Self {
            url,
            connect_timeout: Duration::from_secs(5),
            busy_timeout: Duration::from_secs(5),
            max_connections,
        }
    }
}

/// Which SQL dialect is spoken in the few places where one text does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// The store. Copies share their connections.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    pool: AnyPool,
    /// The same, except with SQLite.
    writers: AnyPool,
    backend: Backend,
    url: Secret,
    vault: Vault,
    /// Tells whoever has a lease from others at the same database.
    process: String,
    changed: Notify,
    tables_changed: Notify,
    runs_changed: Notify,
    /// Whose runs were claimed last, of flows and of agents.
    runs_turns: [Mutex<Option<TenantId>>; 2],
    /// A write was not completed, for whatever reason: the next look at the database is to write, too.
    is_suspect: AtomicBool,
    /// With SQLite, what says that the database is in use; with PostgreSQL each connection does.
    occupied: Mutex<Option<File>>,
}

impl Store {
    /// Connects, brings the schema up to date and checks that the vault belongs to the database. Until it is closed,
    /// nothing can be restored into the database.
    pub async fn open(options: &Options, vault: Vault) -> Result<Self> {
        let (store, is_alone) = Self::connect_as(options, vault, true).await?;
        // Whoever had a lease when nobody else was there has ended without giving it back. Asked now, since others may
        // come while the schema is brought up to date; a new database has no leases yet.
        let gone = if is_alone { store.leases().owners().await.unwrap_or_default() } else { Vec::new() };
        migrate::run(&store).await?;
        meta::check_vault(&store).await?;
        for owner in gone {
            store.leases().release_those_of(&owner).await?;
        }
        Ok(store)
    }

    /// Connects, and changes nothing: to back up what there is, or to put something in its place.
    pub async fn connect(options: &Options, vault: Vault) -> Result<Self> {
        Ok(Self::connect_as(options, vault, false).await?.0)
    }

    /// Also says whether it is known that nobody else is at the database.
    async fn connect_as(options: &Options, vault: Vault, is_lasting: bool) -> Result<(Self, bool)> {
        sqlx::any::install_default_drivers();
        let (backend, pool, writers) = connect(options, is_lasting).await?;
        let (occupied, is_alone) = match backend {
            Backend::Sqlite if is_lasting => occupancy::share(&sqlite::path_of(options.url.expose())?)?,
            _ => (None, false),
        };
        let occupied = Mutex::new(occupied);
        let url = options.url.clone();
        let (changed, tables_changed, runs_changed) = (Notify::new(), Notify::new(), Notify::new());
        let is_suspect = AtomicBool::new(false);
        let inner = Inner {
            pool,
            writers,
            backend,
            url,
            vault,
            process: tool::new_id(),
            changed,
            tables_changed,
            runs_changed,
            runs_turns: Default::default(),
            is_suspect,
            occupied,
        };
        Ok((Self(Arc::new(inner)), is_alone))
    }

    /// Answers when the database does: for readiness probes. After a write that was not completed it must also
    /// take one, which a full disk does not.
    pub async fn ping(&self) -> Result<()> {
        self.revisions().current().await?;
        if self.0.is_suspect.load(Ordering::Relaxed) {
            self.meta().put("write-probe", &crate::row::now().to_string()).await?;
        }
        Ok(())
    }

    /// Lets the statements under way finish and closes the connections.
    pub async fn close(&self) {
        if let Err(error) = self.leases().release_those_of(self.process()).await {
            tracing::debug!(%error, "others wait until this process has fallen silent: {error}");
        }
        self.0.writers.close().await;
        self.0.pool.close().await;
        self.0.occupied.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(crate) fn pool(&self) -> &AnyPool {
        &self.0.pool
    }

    /// What people call the database.
    #[must_use]
    pub fn database_name(&self) -> &'static str {
        match self.backend() {
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
        }
    }

    pub(crate) fn backend(&self) -> Backend {
        self.0.backend
    }

    pub(crate) fn url(&self) -> &Secret {
        &self.0.url
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.0.vault
    }

    pub(crate) fn process(&self) -> &str {
        &self.0.process
    }

    /// Wakes when this process has written; other processes are seen by polling or listening.
    pub(crate) fn changed(&self) -> &Notify {
        &self.0.changed
    }

    /// Wakes when this process has changed a table's document.
    pub(crate) fn tables_changed(&self) -> &Notify {
        &self.0.tables_changed
    }

    /// Wakes when this process has made a run due or left it a record.
    pub(crate) fn runs_changed(&self) -> &Notify {
        &self.0.runs_changed
    }

    /// The tenant that had its turn last when runs of this kind were claimed.
    pub(crate) fn runs_turn(&self, kind: RunKind) -> &Mutex<Option<TenantId>> {
        let [flows, agents] = &self.0.runs_turns;
        match kind {
            RunKind::Flow => flows,
            RunKind::Agent => agents,
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({:?})", self.backend())
    }
}

/// The connections that read, and those that write.
async fn connect(options: &Options, is_lasting: bool) -> Result<(Backend, AnyPool, AnyPool)> {
    let url = options.url.expose();
    if url.starts_with("sqlite:") {
        let (pool, writers) = sqlite::connect(options).await?;
        return Ok((Backend::Sqlite, pool, writers));
    }
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        let connect = url.parse::<AnyConnectOptions>()?.disable_statement_logging();
        let pool = AnyPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.connect_timeout);
        let pool = if is_lasting { pool.after_connect(occupancy::share_connected) } else { pool };
        let pool = pool.connect_with(connect).await?;
        return Ok((Backend::Postgres, pool.clone(), pool));
    }
    Err(Error::invalid("the database URL must begin with sqlite: or postgres:"))
}
