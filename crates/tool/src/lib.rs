//! The domain: what a tool is, how it is named, called, and fails.

pub mod caller;
pub mod error;
pub mod id;
pub mod secret;

pub use caller::{Limits, Pattern, Role, Scope};
pub use error::{Error, Kind as ErrorKind, Problem, Result};
pub use id::{InvalidId, KeyId, TenantId, UserId};
pub use secret::Secret;
