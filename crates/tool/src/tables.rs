//! The port to tables: JSON documents that are read in memory and changed one change at a time.

use crate::{Result, TableId, TenantId};
use async_trait::async_trait;
use document::{Change, Node};
use std::fmt;

/// The type in the URIs of tables.
pub const SCHEME: &str = "table";

/// A table as it is in one version. A copy is free.
#[derive(Debug, Clone)]
pub struct Table {
    /// The id of the key or user that made it.
    pub owner: String,
    /// Grows with every change of the document.
    pub version: i64,
    /// How many bytes the document has as text, roughly.
    pub size_bytes: usize,
    /// The document itself.
    pub document: Node,
}

/// Decides on a change when it is certain that nobody else makes one; an error changes nothing.
pub type Edit<'a> = Box<dyn FnOnce(&Table) -> Result<Change> + Send + 'a>;

/// Where documents are kept.
#[async_trait]
pub trait Tables: fmt::Debug + Send + Sync + 'static {
    /// The table as it is now.
    ///
    /// # Errors
    /// `NotFound` where the tenant has no such table.
    async fn read(&self, tenant: &TenantId, id: &TableId) -> Result<Table>;

    /// Makes one change on behalf of `by` and returns the table as it is then. Changes of one
    /// table follow one another, whichever process makes them: none is lost.
    ///
    /// # Errors
    /// Those of the edit, and what keeps the change from being written.
    async fn change(&self, tenant: &TenantId, id: &TableId, by: &str, edit: Edit<'_>) -> Result<Table>;
}
