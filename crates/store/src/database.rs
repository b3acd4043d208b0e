//! The open database: its connections, and the two ways to use them, snapshot and write.

use crate::audit::Audit;
use crate::instances::Instances;
use crate::keys::Keys;
use crate::meta::Meta;
use crate::revisions::{self, Revisions};
use crate::search::Search;
use crate::service_pins::ServicePins;
use crate::services::Services;
use crate::tables::Tables;
use crate::tenants::Tenants;
use crate::tools::Tools;
use crate::users::Users;
use crate::vault::Vault;
use crate::{Error, Result, meta, migrate, sqlite};
use sqlx::AnyConnection;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{Any, AnyPool, ConnectOptions as _, Transaction};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tool::{Secret, TenantId};

/// How long a write waits for its turn among this process's own writes.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Which database, and how patient to be with it.
#[derive(Debug, Clone)]
pub struct Options {
    /// `sqlite:/path/file.db` or `postgres://user:password@host/database`.
    pub url: Secret,
    /// How long to wait for a connection before the database counts as unavailable.
    pub connect_timeout: Duration,
    /// How long SQLite waits for a lock that another process holds.
    pub busy_timeout: Duration,
    /// The most connections to hold.
    pub max_connections: u32,
}

impl Options {
    /// The usual patience: five seconds for everything. A connection to SQLite is a thread with a copy of
    /// the schema, and only one of them can write.
    pub fn new(url: impl Into<String>) -> Self {
        let url = Secret::new(url);
        let max_connections = if url.expose().starts_with("sqlite:") { 4 } else { 8 };
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
    backend: Backend,
    url: Secret,
    vault: Vault,
    /// SQLite has one writer at a time, and its own waiting is not fair: ours is.
    turn: Option<Arc<Semaphore>>,
    changed: Notify,
    tables_changed: Notify,
}

impl Store {
    /// Connects, brings the schema up to date and checks that the vault belongs to the database.
    pub async fn open(options: &Options, vault: Vault) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let (backend, pool) = connect(options).await?;
        let turn = (backend == Backend::Sqlite).then(|| Arc::new(Semaphore::new(1)));
        let url = options.url.clone();
        let (changed, tables_changed) = (Notify::new(), Notify::new());
        let store = Self(Arc::new(Inner { pool, backend, url, vault, turn, changed, tables_changed }));
        migrate::run(&store).await?;
        meta::check_vault(&store).await?;
        Ok(store)
    }

    /// Answers when the database does: for readiness probes.
    pub async fn ping(&self) -> Result<()> {
        self.revisions().current().await.map(|_| ())
    }

    /// Lets the statements under way finish and closes the connections.
    pub async fn close(&self) {
        self.0.pool.close().await;
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

    /// Wakes when this process has written; other processes are seen by polling or listening.
    pub(crate) fn changed(&self) -> &Notify {
        &self.0.changed
    }

    /// Wakes when this process has changed a table's document.
    pub(crate) fn tables_changed(&self) -> &Notify {
        &self.0.tables_changed
    }

    /// A transaction whose reads all see one state.
    pub(crate) async fn snapshot(&self) -> Result<Transaction<'static, Any>> {
        self.begin(match self.backend() {
            Backend::Sqlite => "BEGIN",
            Backend::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        })
        .await
    }

    /// A transaction that writes. Dropped without a commit, it changes nothing.
    pub(crate) async fn write(&self) -> Result<Write> {
        let turn = match &self.0.turn {
            Some(turn) => Some(take_turn(turn).await?),
            None => None,
        };
        let transaction = self.begin(match self.backend() {
            Backend::Sqlite => "BEGIN IMMEDIATE",
            Backend::Postgres => "BEGIN",
        });
        Ok(Write { transaction: transaction.await?, _turn: turn, store: self.clone() })
    }

    /// Begins a transaction in a task of its own, which ends even if the caller goes away. sqlx
    /// does not undo a `BEGIN` that nobody waits for any more: the connection would go back to the
    /// pool inside a transaction, and what is written on it later would never be committed.
    async fn begin(&self, statement: &'static str) -> Result<Transaction<'static, Any>> {
        let pool = self.pool().clone();
        let begun = tokio::spawn(async move { pool.begin_with(statement).await }).await;
        Ok(begun.map_err(|_| Error::internal("a transaction could not begin"))??)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({:?})", self.backend())
    }
}

/// A write under way.
pub(crate) struct Write {
    // Declared first, so that it is rolled back before the turn passes on.
    transaction: Transaction<'static, Any>,
    _turn: Option<OwnedSemaphorePermit>,
    store: Store,
}

impl Write {
    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        &mut self.transaction
    }

    pub(crate) fn backend(&self) -> Backend {
        self.store.backend()
    }

    /// Commits without telling the other replicas: for audit and the like.
    pub(crate) async fn commit(self) -> Result<()> {
        Ok(self.transaction.commit().await?)
    }

    /// Commits a change that concerns the tenant's configuration, and tells the other replicas.
    /// The counter comes last: its row lock is held only for the commit, and orders all changes.
    pub(crate) async fn commit_change(mut self, tenant: &TenantId) -> Result<()> {
        revisions::bump(&mut self.transaction, self.store.backend(), tenant).await?;
        self.transaction.commit().await?;
        self.store.changed().notify_waiters();
        Ok(())
    }
}

async fn take_turn(turn: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    match tokio::time::timeout(TURN_TIMEOUT, Arc::clone(turn).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        Ok(Err(_)) => Err(Error::internal("the write queue is closed")),
        Err(_) => Err(Error::unavailable("the database is too busy with other writes")),
    }
}

async fn connect(options: &Options) -> Result<(Backend, AnyPool)> {
    let url = options.url.expose();
    let pool = AnyPoolOptions::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.connect_timeout);
    if url.starts_with("sqlite:") {
        return Ok((Backend::Sqlite, sqlite::connect(options, pool).await?));
    }
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        let connect = url.parse::<AnyConnectOptions>()?.disable_statement_logging();
        return Ok((Backend::Postgres, pool.connect_with(connect).await?));
    }
    Err(Error::invalid("the database URL must begin with sqlite: or postgres:"))
}
