//! Doors: how MCP clients come in.

mod asked;
mod batch;
mod conversation;
mod door;
mod flights;
mod headers;
mod held;
pub(crate) mod http;
mod instance;
mod lists;
mod order;
mod peer;
mod program;
mod questions;
mod reply;
mod sessions;
pub(crate) mod sse;
pub mod stdio;
mod stream;
mod watches;
pub(crate) mod ws;

pub(crate) use door::Door;
pub(crate) use sessions::Sessions;

use flights::Flights;
use held::Held;
use questions::Questions;
use std::sync::Arc;
use watches::Watches;

/// A result in JSON, or why there is none.
type Answered<T> = std::result::Result<T, mcp::RpcError>;

/// What doors remember between two messages of a client, on this replica.
#[derive(Default)]
pub(crate) struct Memory {
    /// Requests under way that may be taken back.
    flights: Arc<Flights>,
    /// Questions that clients were asked.
    questions: Arc<Questions>,
    /// Requests that wait for answers.
    held: Held,
    /// Resources that clients want to hear of.
    watches: Watches,
    /// Clients of the transport of 2024-11-05.
    peers: sse::Peers,
}
