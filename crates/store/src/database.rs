//! The open database: its connections, and the two ways to use them, snapshot and write.

use crate::audit::Audit;
use crate::flows::Flows;
use crate::instances::Instances;
use crate::keys::Keys;
use crate::leases::Leases;
use crate::management::{self, Management};
use crate::meta::Meta;
use crate::revisions::{self, Revisions};
use crate::runs::Runs;
use crate::search::Search;
use crate::services::{ServicePins, Services};
use crate::tables::Tables;
use crate::tenants::Tenants;
use crate::tools::Tools;
use crate::users::Users;
use crate::vault::Vault;
use crate::{Error, Result, meta, migrate, occupancy, sqlite};
use sqlx::AnyConnection;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{Any, AnyPool, ConnectOptions as _, Transaction};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tool::{Secret, TenantId};

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
    /// Whose runs were claimed last.
    runs_turn: Mutex<Option<TenantId>>,
    /// A write was not completed, for whatever reason: the next look at the database is to write, too.
    is_suspect: AtomicBool,
    /// With SQLite, what says that the database is in use; with PostgreSQL each connection does.
    occupied: Mutex<Option<File>>,
}

impl Store {
    /// Connects, brings the schema up to date and checks that the vault belongs to the database. Until it is closed,
    /// nothing can be restored into the database.
    pub async fn open(options: &Options, vault: Vault) -> Result<Self> {
        let store = Self::connect_as(options, vault, true).await?;
        migrate::run(&store).await?;
        meta::check_vault(&store).await?;
        Ok(store)
    }

    /// Connects, and changes nothing: to back up what there is, or to put something in its place.
    pub async fn connect(options: &Options, vault: Vault) -> Result<Self> {
        Self::connect_as(options, vault, false).await
    }

    async fn connect_as(options: &Options, vault: Vault, is_lasting: bool) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let (backend, pool, writers) = connect(options, is_lasting).await?;
        let occupied = match backend {
            Backend::Sqlite if is_lasting => occupancy::share(&sqlite::path_of(options.url.expose())?)?,
            _ => None,
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
            runs_turn: Mutex::new(None),
            is_suspect,
            occupied,
        };
        Ok(Self(Arc::new(inner)))
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
        self.0.writers.close().await;
        self.0.pool.close().await;
        self.0.occupied.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The tenants.
    #[must_use]
    pub fn tenants(&self) -> Tenants<'_> {
        Tenants(self)
    }

    /// The people.
    #[must_use]
    pub fn users(&self) -> Users<'_> {
        Users(self)
    }

    /// The API keys.
    #[must_use]
    pub fn keys(&self) -> Keys<'_> {
        Keys(self)
    }

    /// The configured services and their tools.
    #[must_use]
    pub fn services(&self) -> Services<'_> {
        Services(self)
    }

    /// What the services' tools were when they were first seen.
    #[must_use]
    pub fn service_pins(&self) -> ServicePins<'_> {
        ServicePins(self)
    }

    /// The Tools that tenants made themselves.
    #[must_use]
    pub fn tools(&self) -> Tools<'_> {
        Tools(self)
    }

    /// The tables, without their documents.
    #[must_use]
    pub fn tables(&self) -> Tables<'_> {
        Tables(self)
    }

    /// The indexes of the Tools that search.
    #[must_use]
    pub fn search(&self) -> Search<'_> {
        Search(self)
    }

    /// The flows: drafts and versions.
    #[must_use]
    pub fn flows(&self) -> Flows<'_> {
        Flows(self)
    }

    /// The runs of flows.
    #[must_use]
    pub fn runs(&self) -> Runs<'_> {
        Runs(self)
    }

    /// Who does what only one process does at a time.
    #[must_use]
    pub fn leases(&self) -> Leases<'_> {
        Leases(self)
    }

    /// The MCP instances and their bindings.
    #[must_use]
    pub fn instances(&self) -> Instances<'_> {
        Instances(self)
    }

    /// The record of calls.
    #[must_use]
    pub fn audit(&self) -> Audit<'_> {
        Audit(self)
    }

    /// The record of changes.
    #[must_use]
    pub fn management(&self) -> Management<'_> {
        Management(self)
    }

    /// Small values of the whole platform.
    #[must_use]
    pub fn meta(&self) -> Meta<'_> {
        Meta(self)
    }

    /// What changed when.
    #[must_use]
    pub fn revisions(&self) -> Revisions<'_> {
        Revisions(self)
    }

    pub(crate) fn pool(&self) -> &AnyPool {
        &self.0.pool
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

    /// The tenant that had its turn last when runs were claimed.
    pub(crate) fn runs_turn(&self) -> &Mutex<Option<TenantId>> {
        &self.0.runs_turn
    }

    /// A transaction whose reads all see one state.
    pub(crate) async fn snapshot(&self) -> Result<Transaction<'static, Any>> {
        let statement = match self.backend() {
            Backend::Sqlite => "BEGIN",
            Backend::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        begin(&self.0.pool, statement).await
    }

    /// A transaction that writes. Dropped without a commit, it changes nothing.
    pub(crate) async fn write(&self) -> Result<Write> {
        let statement = match self.backend() {
            Backend::Sqlite => "BEGIN IMMEDIATE",
            Backend::Postgres => "BEGIN",
        };
        match begin(&self.0.writers, statement).await {
            Ok(transaction) => Ok(Write { transaction: Some(transaction), store: self.clone() }),
            Err(error) => {
                self.0.is_suspect.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

/// Begins a transaction in a task of its own, which ends even if the caller goes away. sqlx
/// does not undo a `BEGIN` that nobody waits for any more: the connection would go back to the
/// pool inside a transaction, and what is written on it later would never be committed.
async fn begin(pool: &AnyPool, statement: &'static str) -> Result<Transaction<'static, Any>> {
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin_with(statement).await }).await;
    Ok(begun.map_err(|_| Error::internal("a transaction could not begin"))??)
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({:?})", self.backend())
    }
}

/// A write under way.
pub(crate) struct Write {
    /// There until it is committed.
    transaction: Option<Transaction<'static, Any>>,
    store: Store,
}

impl Drop for Write {
    fn drop(&mut self) {
        if self.transaction.is_some() {
            self.store.0.is_suspect.store(true, Ordering::Relaxed);
        }
    }
}

impl Write {
    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        self.transaction.as_mut().expect("a write is there until it is committed")
    }

    pub(crate) fn backend(&self) -> Backend {
        self.store.backend()
    }

    /// Commits without telling the other replicas: for audit and the like.
    pub(crate) async fn commit(mut self) -> Result<()> {
        let record = management::begin(&mut self).await?;
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        let done = transaction.commit().await;
        self.store.0.is_suspect.store(done.is_err(), Ordering::Relaxed);
        done?;
        record.keep();
        Ok(())
    }

    /// Commits a change that concerns the tenant's configuration, and tells the other replicas.
    /// The counter comes last: its row lock is held only for the commit, and orders all changes.
    pub(crate) async fn commit_change(mut self, tenant: &TenantId) -> Result<()> {
        let (backend, store) = (self.store.backend(), self.store.clone());
        revisions::bump(self.connection(), backend, tenant).await?;
        self.commit().await?;
        store.changed().notify_waiters();
        Ok(())
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
