//! What more than one connector needs.

pub(crate) mod network;
