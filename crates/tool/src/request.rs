//! What a caller wants: which tool, with what.

use crate::{Arguments, Extras, ToolId, Uri};
use std::fmt;

/// One call as a door, a flow or an agent asks for it.
#[derive(Debug)]
pub struct Request {
    /// Which tool.
    pub target: Target,
    /// With what.
    pub arguments: Arguments,
    /// What the caller's request carried besides.
    pub extras: Extras,
}

impl Request {
    /// A call that carries nothing besides its arguments.
    #[must_use]
    pub fn new(target: Target, arguments: Arguments) -> Self {
        Self { target, arguments, extras: Extras::default() }
    }
}

/// Which tool is meant.
#[derive(Debug, Clone)]
pub enum Target {
    /// A tool by the name clients see.
    Name(String),
    /// A tool by its address.
    Uri(Uri),
    /// One of the tenant's own Tools, active or not: to be tried out.
    Trial(ToolId),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Trial(id) => id.fmt(f),
            Self::Uri(uri) => uri.fmt(f),
        }
    }
}
