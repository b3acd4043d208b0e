//! The ports to search: finding texts of a table, and turning texts into vectors.

use crate::{Result, TableId, TenantId};
use async_trait::async_trait;
use document::{Node, Pointer};
use std::fmt;

/// The type of Tools that search, each with an index of its own.
pub const TOOL_TYPE: &str = "search";

/// What is looked for, and where.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// The table.
    pub table: TableId,
    /// Its document as it is now: nothing is found that does not stand in it.
    pub document: Node,
    /// The part of the document that is searched.
    pub mount: Pointer,
    /// What is looked for.
    pub query: String,
    /// How much to find at most.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct SearchAnswer {
    /// The best first.
    pub hits: Vec<Hit>,
    /// Why there may be more to find, e.g. because the index is not ready.
    pub remark: Option<String>,
}

/// A part of a text.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Larger is better; comparable within one answer only.
    pub score: f64,
    /// Where the text stands in the document.
    pub pointer: Pointer,
    /// The part of the text.
    pub text: String,
    /// The character of the text where the part begins.
    pub char_start: usize,
    /// The character behind its last.
    pub char_end: usize,
    /// The how manieth part of the text it is, from 0.
    pub chunk_index: usize,
    /// How many parts the text has.
    pub total_chunks: usize,
    /// The SHA-256 of the whole text.
    pub content_hash: String,
}

/// Finds texts in tables.
#[async_trait]
pub trait Search: fmt::Debug + Send + Sync + 'static {
    /// What is found below the mount, in the text as it is now.
    ///
    /// # Errors
    /// `Unsupported` where nothing indexes that part of the table.
    async fn search(&self, tenant: &TenantId, request: SearchRequest) -> Result<SearchAnswer>;
}

/// Turns texts into vectors that are near each other when the texts mean the same.
#[async_trait]
pub trait Embeddings: fmt::Debug + Send + Sync + 'static {
    /// Names the model and the length of its vectors: those of one name can be compared.
    fn model(&self) -> &str;

    /// One vector of unit length for each text.
    ///
    /// # Errors
    /// When the provider cannot be reached, is late, or answers something else.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>>;
}
