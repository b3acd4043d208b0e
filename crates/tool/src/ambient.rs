//! Services that nobody configures: their id alone says what they are, like a table's.

use crate::{Connector, Env, Result, Tool};
use std::fmt;
use std::sync::Arc;

/// How a service is found by its id. It is called by URI or by way of a Tool, and never listed.
#[derive(Clone, Copy)]
pub struct Ambient {
    /// The tools that every such service has.
    pub tools: fn() -> Result<Vec<Tool>>,
    /// Builds without I/O. Whether there is such a service shows when it is called.
    pub open: fn(id: &str, env: &Env) -> Result<Arc<dyn Connector>>,
}

impl fmt::Debug for Ambient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ambient")
    }
}
