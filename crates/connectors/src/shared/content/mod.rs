//! Content on its way into a service and out of it: inline, or from somewhere else.

mod given;
mod media_type;
mod shown;
mod source;
#[cfg(test)]
mod tests;
mod web;

pub(crate) use given::{Encoding, Given, schema};
pub(crate) use media_type::{guess, is_text, name_of};
pub(crate) use shown::show;
pub(crate) use source::Sources;

use tool::objects::Body;

/// Content, wherever it comes from.
pub(crate) struct Content {
    pub(crate) body: Body,
    /// What its source says it is.
    pub(crate) content_type: Option<String>,
    /// How many bytes it has, where that is known before it has come.
    pub(crate) size: Option<u64>,
}

impl std::fmt::Debug for Content {
    /// Not what it says.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Content({:?}, {:?} bytes)", self.content_type, self.size)
    }
}
