//! Tools that stand on their own: a type of service that needs no service for a single tool.

use crate::{Connector, Env, Result};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// How a type of service turns one Tool's `config` into a service with that one tool.
#[derive(Clone, Copy)]
pub struct Inline {
    /// The Tools' types in REST, e.g. `http`.
    pub tool_types: &'static [&'static str],
    /// The field of `config` where `response_template` and `select` stand, e.g. `HTTP`. Types
    /// without one have no `config`: their fields stand beside the Tool's name.
    pub part: Option<&'static str>,
    /// JSON Schema of the `config`, or of the fields, with secrets marked `writeOnly`.
    pub schema: fn() -> &'static Value,
    /// Writes out what was left out and must be seen.
    pub complete: fn(&mut Value),
    /// Such a `config` reaches further than those who only call may decide.
    pub needs_manager: fn(&Value) -> bool,
    /// Validates and builds without I/O. Problems have paths into `config`.
    pub open: fn(InlineTool, &Env) -> Result<Arc<dyn Connector>>,
}

/// A Tool that is to be opened.
#[derive(Debug, Clone)]
pub struct InlineTool {
    /// The Tool's type in REST.
    pub tool_type: String,
    /// The name of the connector's one tool.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How it does it.
    pub config: Value,
}

impl fmt::Debug for Inline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inline({})", self.tool_types.join(", "))
    }
}
