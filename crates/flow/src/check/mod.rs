//! Checks of a flow against the tools that it calls.

use serde::{Deserialize, Serialize};

/// A parameter that takes its value from a name because the author left it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The node's path in the document, e.g. `nodes.ship.nodes.send`.
    pub node: String,
    /// Of the tool.
    pub parameter: String,
    /// Of an input, a var, a node, a local, `tenantId` or `buCode`.
    pub name: String,
}
