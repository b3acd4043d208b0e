//! What the tests of all crates share: the connector conformance suite and real servers in the process.

#[cfg(feature = "app")]
pub mod app;
pub mod certificates;
#[cfg(feature = "app")]
pub mod client;
pub mod collector;
pub mod conformance;
#[cfg(feature = "app")]
pub mod database;
pub mod embeddings;
pub mod http;
mod key_proxy;
pub mod mcp;
pub mod model;
pub mod oauth;
pub mod proc;
#[cfg(feature = "app")]
pub mod process;
pub mod recorder;
pub mod registry;
pub mod rocketmq;
pub mod tcp_proxy;
pub mod tls_proxy;
mod wait;

#[cfg(feature = "app")]
pub use app::TestApp;
#[cfg(feature = "app")]
pub use client::{Client, Reply};
#[cfg(feature = "app")]
pub use database::{Backend, Database};
pub use key_proxy::KeyProxy;
pub use wait::eventually;
