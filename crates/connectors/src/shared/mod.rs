//! What more than one connector needs.

pub(crate) mod attempts;
pub(crate) mod breaker;
pub mod embeddings;
pub(crate) mod network;
