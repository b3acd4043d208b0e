//! Doors: how MCP clients come in. Transports read and write; `receive.rs` and `respond.rs` are the loop of them all.

mod batch;
mod client;
mod connection;
mod door;
mod door_access;
pub(crate) mod http;
mod input_required;
mod listen;
mod lists;
mod notifications;
mod outcome;
mod pending;
mod receive;
mod received;
mod request;
mod respond;
mod running;
mod server_requests;
mod sessions;
pub(crate) mod sse;
mod startup;
pub mod stdio;
mod subscriptions;
mod tasks;
mod wanted;
pub(crate) mod ws;

pub(crate) use door::Door;
pub(crate) use sessions::Sessions;

/// A result in JSON, or why there is none.
type Answered<T> = std::result::Result<T, mcp::RpcError>;
