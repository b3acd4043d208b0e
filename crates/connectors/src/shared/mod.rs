//! What more than one connector needs.

pub mod embeddings;
pub(crate) mod network;
