//! Doors: how MCP clients come in.

mod door;
pub(crate) mod http;
mod instance;
pub mod stdio;
mod stream;

pub(crate) use door::Door;

/// What a client is told when its list of tools has changed.
const LIST_CHANGED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
