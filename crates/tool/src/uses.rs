//! What the settings of a service lead to beside the service itself: checked when they are saved.

use crate::Pattern;

/// A tool, or several, that a service uses on behalf of its callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Where it stands in the settings, e.g. `tools[2].uri`.
    pub path: String,
    /// What is used: an address, or a pattern of addresses.
    pub what: Pattern,
    /// By whose right.
    pub right: Right,
    /// What is not there is a mistake, and not only worth a word.
    pub must_exist: bool,
}

/// On whose strength a service calls other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Of whoever calls the service.
    Caller,
    /// Of whoever saved it, so that nobody may save what would give away more than they hold.
    Saver,
}
