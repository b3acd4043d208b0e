//! What joins the store and the gateway without HTTP, so that a process can work without a server.

mod audit_sink;
pub mod first_start;
pub mod flows;
mod later_calls;
mod links;
mod own_services;
mod pins;
mod reload;
pub mod tool_definition;
mod upkeep;

pub use audit_sink::AuditSink;
pub use flows::Flows;
pub use later_calls::make_later_calls;
pub use links::SealedLinks;
pub use own_services::{Origin, OwnServices};
pub use pins::StoredPins;
pub use reload::{Loaded, Reload, Snapshot, settings_of, tool_settings};
pub use upkeep::upkeep;

use std::pin::Pin;
use tokio_util::sync::CancellationToken;

/// Work that goes on while the process runs, and ends when the token fires.
pub type Background = Box<dyn FnOnce(CancellationToken) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;
