//! The two ways to use the database: a snapshot to read, and a write.

use super::{Backend, Store};
use crate::{Error, Result, management, revisions};
use sqlx::{Any, AnyConnection, AnyPool, Transaction};
use std::sync::atomic::Ordering;
use tool::TenantId;

impl Store {
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
