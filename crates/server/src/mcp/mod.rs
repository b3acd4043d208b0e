//! Doors: how MCP clients come in.

mod door;
pub(crate) mod http;
pub mod stdio;

pub(crate) use door::Door;
