//! What more than one connector needs.

pub(crate) mod attempts;
pub(crate) mod body;
pub(crate) mod bounds;
pub(crate) mod breaker;
#[cfg(any(unix, feature = "redis", feature = "rabbitmq"))]
pub(crate) mod content;
pub(crate) mod headers;
pub(crate) mod http_tools;
pub(crate) mod network;
pub(crate) mod oauth;
pub(crate) mod own_folder;
pub(crate) mod sign_in;
pub(crate) mod tls;
pub(crate) mod unreachable;
pub(crate) mod words;
