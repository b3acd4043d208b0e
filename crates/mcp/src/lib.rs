//! MCP on the wire: raw JSON-RPC envelopes, versions and eras, sealed sessions.
//!
//! Payloads stay raw: only the fields that route a message are parsed.

pub mod client;
pub mod envelope;
pub mod error;
pub mod header_params;
mod line;
pub mod modern;
pub mod session;
pub mod version;

pub use envelope::{Id, Message};
pub use error::RpcError;
pub use header_params::HeaderParams;
pub use line::one_line;
pub use version::{Era, Version};
