//! What more than one connector needs.

pub(crate) mod arguments;
pub(crate) mod attempts;
pub(crate) mod base_url;
pub(crate) mod body;
pub(crate) mod bounds;
pub(crate) mod breaker;
pub(crate) mod clock;
#[cfg(any(unix, feature = "mail", feature = "redis", feature = "rabbitmq"))]
pub(crate) mod content;
pub(crate) mod digits;
pub(crate) mod doubt;
#[cfg(feature = "grpc")]
pub(crate) mod grpc;
pub(crate) mod headers;
pub(crate) mod http_tools;
pub(crate) mod instance;
pub(crate) mod network;
pub(crate) mod oauth;
pub(crate) mod own_folder;
pub(crate) mod sending;
pub(crate) mod sign_in;
pub(crate) mod tls;
pub(crate) mod turns;
pub(crate) mod unreachable;
#[cfg(any(feature = "brokers", feature = "mail"))]
pub(crate) mod wire;
pub(crate) mod words;
