//! What more than one connector needs.

pub(crate) mod breaker;
pub(crate) mod network;
