//! Documents in memory: parsed once, shared by readers, never behind the process that writes them.

use crate::database::Backend;
use crate::tables::{NewTable, Table, lock, log, write_change};
use crate::{Error, ErrorKind, Result, Store, within};
use async_trait::async_trait;
use document::{Change, Node};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tool::{TableId, TenantId};

/// How long a version counts as known on SQLite, where other processes are rare and a reader
/// of theirs may be late. On PostgreSQL replicas are the rule, and every read asks for the
/// version: a client that writes at one and reads at another must find what it wrote.
const KNOWN_ON_SQLITE: Duration = Duration::from_millis(500);

/// The most bytes of documents in memory, roughly; the last one used always stays.
const MAX_BYTES: usize = 512 * 1024 * 1024;

/// Tables with their documents. Copies share their memory.
#[derive(Clone)]
pub struct Documents(Arc<Inner>);

struct Inner {
    store: Store,
    /// How long the database may take to answer.
    timeout: Duration,
    known_for: Duration,
    entries: Mutex<HashMap<(TenantId, TableId), Arc<Entry>>>,
    clock: AtomicU64,
}

/// A table in memory.
#[derive(Default)]
struct Entry {
    held: Mutex<Option<CachedDocument>>,
    /// Who changes or loads the document; the others wait here and not in the database.
    turn: tokio::sync::Mutex<()>,
    last_used: AtomicU64,
}

#[derive(Clone)]
struct CachedDocument {
    loaded: Loaded,
    weight_bytes: usize,
    /// When the version was last known to be the newest.
    known_at: Option<Instant>,
}

/// A table and its document in one version.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The table.
    pub table: Arc<Table>,
    /// Its document.
    pub document: Node,
}

impl Documents {
    /// Nothing is in memory yet.
    #[must_use]
    pub fn new(store: Store, timeout: Duration) -> Self {
        let known_for = match store.backend() {
            Backend::Sqlite => KNOWN_ON_SQLITE,
            Backend::Postgres => Duration::ZERO,
        };
        Self(Arc::new(Inner {
            store,
            timeout,
            known_for,
            entries: Mutex::default(),
            clock: AtomicU64::new(0),
        }))
    }

    /// Adds a table.
    pub async fn create(&self, tenant: &TenantId, new: NewTable) -> Result<Table> {
        let document = new.document.clone();
        let table = within(self.0.timeout, self.0.store.tables().create(tenant, new)).await?;
        self.keep(&self.entry(tenant, &table.id), table.clone(), document);
        Ok(table)
    }

    /// Deletes a table.
    pub async fn delete(&self, tenant: &TenantId, id: &TableId) -> Result<()> {
        let deleted = within(self.0.timeout, self.0.store.tables().delete(tenant, id)).await;
        self.forget(tenant, id);
        deleted
    }

    /// The table as it is now.
    pub async fn read(&self, tenant: &TenantId, id: &TableId) -> Result<Loaded> {
        let entry = self.entry(tenant, id);
        if let Some(held) = entry.held()
            && held.known_at.is_some_and(|at| at.elapsed() < self.0.known_for)
        {
            return Ok(held.loaded);
        }
        let read = within(self.0.timeout, self.look(&entry, tenant, id)).await;
        let is_gone = read.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        // Nor is room kept for what could never be loaded: anybody can ask for any id.
        if is_gone || entry.lock().is_none() {
            self.forget(tenant, id);
        }
        read
    }

    /// Makes the change that `edit` decides on, and returns the table as it is then. Whoever
    /// changes holds the table's row, so that no change is lost, here or in another process.
    ///
    /// # Errors
    /// Those of `edit`, and those of the store.
    pub async fn change<E: From<Error>>(
        &self,
        tenant: &TenantId,
        id: &TableId,
        by: &str,
        edit: impl FnOnce(&Loaded) -> Result<Change, E>,
    ) -> Result<Loaded, E> {
        let entry = self.entry(tenant, id);
        let changed = tokio::time::timeout(self.0.timeout, self.write(&entry, tenant, id, by, edit)).await;
        let changed = changed
            .unwrap_or_else(|_| Err(Error::unavailable("the table is too busy with other changes").into()));
        if changed.is_err() {
            // Whether it was written is not known, e.g. when the answer to the commit was lost.
            entry.doubt();
            if entry.lock().is_none() {
                self.forget(tenant, id);
            }
        }
        changed
    }

    async fn write<E: From<Error>>(
        &self,
        entry: &Entry,
        tenant: &TenantId,
        id: &TableId,
        by: &str,
        edit: impl FnOnce(&Loaded) -> Result<Change, E>,
    ) -> Result<Loaded, E> {
        let _turn = entry.turn.lock().await;
        let mut write = self.0.store.write().await?;
        let mut table = lock(write.connection(), tenant, id).await?;
        let document = match entry.held() {
            Some(held) => newer(write.connection(), &table, held).await?,
            None => log::load(write.connection(), &table).await?,
        };
        let before = Loaded { table: Arc::new(table.clone()), document };
        let change = edit(&before)?;
        let mut document = before.document;
        let growth = match change {
            Change::Set { .. } => 0, // Known exactly when it is written.
            _ => change.growth_bytes(&document),
        };
        change.apply(&mut document).map_err(|error| Error::invalid(error.to_string()).at("data"))?;
        let size_before = table.size_bytes;
        table.size_bytes = (table.size_bytes + growth).max(0);
        write_change(write.connection(), &mut table, &change, &document, by, size_before).await?;
        write.commit().await?;
        self.0.store.tables_changed().notify_waiters();
        Ok(self.keep(entry, table, document))
    }

    /// Asks for the version, and loads what is new.
    async fn look(&self, entry: &Entry, tenant: &TenantId, id: &TableId) -> Result<Loaded> {
        let is_current = |held: &CachedDocument, table: &Table| held.loaded.table.version >= table.version;
        if let Some(held) = entry.held() {
            let table = self.0.store.tables().get(tenant, id).await?;
            if is_current(&held, &table) {
                return Ok(self.confirm(entry, held, table));
            }
        }
        let _turn = entry.turn.lock().await;
        let mut snapshot = self.0.store.snapshot().await?;
        let table = self.0.store.tables().get_in(&mut snapshot, tenant, id).await?;
        let document = match entry.held() {
            Some(held) if is_current(&held, &table) => return Ok(self.confirm(entry, held, table)),
            Some(held) => newer(&mut snapshot, &table, held).await?,
            None => log::load(&mut snapshot, &table).await?,
        };
        Ok(self.keep(entry, table, document))
    }

    /// The version in memory is the newest; what else the row says may have changed.
    fn confirm(&self, entry: &Entry, held: CachedDocument, table: Table) -> Loaded {
        let mut loaded = held.loaded;
        if loaded.table.version == table.version && *loaded.table != table {
            loaded.table = Arc::new(table);
        }
        let mut slot = entry.lock();
        if let Some(held) = slot.as_mut().filter(|held| held.loaded.table.version == loaded.table.version) {
            held.loaded = loaded.clone();
            held.known_at = Some(Instant::now());
        }
        loaded
    }

    /// Keeps what was loaded or written, unless something newer is there, and makes room for it.
    fn keep(&self, entry: &Entry, table: Table, document: Node) -> Loaded {
        let loaded = Loaded { table: Arc::new(table), document };
        {
            let mut slot = entry.lock();
            if slot.as_ref().is_none_or(|held| held.loaded.table.version <= loaded.table.version) {
                // Text and tree differ by a factor that does not change much.
                let size = usize::try_from(loaded.table.size_bytes).unwrap_or_default();
                let weight_bytes = size.saturating_mul(4);
                *slot = Some(CachedDocument {
                    loaded: loaded.clone(),
                    weight_bytes,
                    known_at: Some(Instant::now()),
                });
            }
        }
        self.make_room();
        loaded
    }

    fn make_room(&self) {
        let mut entries = self.entries();
        let weight = |entry: &Entry| entry.lock().as_ref().map_or(0, |held| held.weight_bytes);
        let mut total: usize = entries.values().map(|entry| weight(entry)).sum();
        while total > MAX_BYTES && entries.len() > 1 {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.last_used.load(Ordering::Relaxed));
            let Some((key, entry)) = oldest.map(|(key, entry)| (key.clone(), entry.clone())) else { return };
            total = total.saturating_sub(weight(&entry));
            entries.remove(&key);
        }
    }

    fn entry(&self, tenant: &TenantId, id: &TableId) -> Arc<Entry> {
        let entry = self.entries().entry((tenant.clone(), id.clone())).or_default().clone();
        entry.last_used.store(self.0.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        entry
    }

    fn forget(&self, tenant: &TenantId, id: &TableId) {
        self.entries().remove(&(tenant.clone(), id.clone()));
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<(TenantId, TableId), Arc<Entry>>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn lock(&self) -> MutexGuard<'_, Option<CachedDocument>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> Option<CachedDocument> {
        self.lock().clone()
    }

    fn doubt(&self) {
        if let Some(held) = self.lock().as_mut() {
            held.known_at = None;
        }
    }
}

/// The document of the table, from the one in memory where only changes lie between.
async fn newer(connection: &mut sqlx::AnyConnection, table: &Table, held: CachedDocument) -> Result<Node> {
    let from = held.loaded.table.version;
    if from == table.version {
        return Ok(held.loaded.document);
    }
    if from < table.version
        && let Some(document) = log::catch_up(connection, table, from, held.loaded.document).await?
    {
        return Ok(document);
    }
    log::load(connection, table).await
}

impl From<Loaded> for tool::Table {
    fn from(loaded: Loaded) -> Self {
        Self {
            owner: loaded.table.owner.clone(),
            version: loaded.table.version,
            size_bytes: usize::try_from(loaded.table.size_bytes).unwrap_or_default(),
            document: loaded.document,
        }
    }
}

#[async_trait]
impl tool::Tables for Documents {
    async fn read(&self, tenant: &TenantId, id: &TableId) -> tool::Result<tool::Table> {
        Ok(self.read(tenant, id).await?.into())
    }

    async fn change(
        &self,
        tenant: &TenantId,
        id: &TableId,
        by: &str,
        edit: tool::Edit<'_>,
    ) -> tool::Result<tool::Table> {
        let changed = self.change(tenant, id, by, |loaded| edit(&loaded.clone().into())).await?;
        Ok(changed.into())
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Documents({} in memory)", self.entries().len())
    }
}
