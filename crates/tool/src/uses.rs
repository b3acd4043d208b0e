//! What the settings of a service lead to beside the service itself: checked when they are saved.

use crate::Pattern;

/// A tool, or several, that a service uses on behalf of its callers.
#[derive(Debug, Clone)]
pub struct Use {
    /// Where it stands in the settings, e.g. `tools[2].uri`.
    pub path: String,
    /// What is used: an address, or a pattern of addresses.
    pub what: Pattern,
    /// By whose right.
    pub right: Right,
    /// What is not there is a mistake, and not only worth a word.
    pub must_exist: bool,
    /// What the service calls it, where no two may be called the same.
    pub naming: Option<Naming>,
}

/// How a service calls a tool that it uses.
#[derive(Debug, Clone)]
pub enum Naming {
    /// As its settings say.
    Given(String),
    /// By a name that is made of the tool's own.
    Made(fn(&str) -> String),
}

impl Naming {
    /// What it calls the tool of that name.
    #[must_use]
    pub fn name(&self, own: &str) -> String {
        match self {
            Self::Given(name) => name.clone(),
            Self::Made(name) => name(own),
        }
    }
}

/// On whose strength a service calls other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Of whoever calls the service.
    Caller,
    /// Of whoever saved it, so that nobody may save what would give away more than they hold.
    Saver,
}
