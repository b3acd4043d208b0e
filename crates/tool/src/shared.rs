//! What the calls of one piece of work share in memory, from the call that begins it to the innermost.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Something that a connector puts into a context for calls of its own further inside, e.g. what a run may still use.
/// Nobody else looks at it.
#[derive(Clone)]
pub struct Shared(Arc<dyn Any + Send + Sync>);

impl Shared {
    /// Shares `it` with all calls inside.
    pub fn new<T: Any + Send + Sync>(it: Arc<T>) -> Self {
        Self(it)
    }

    /// What was put there, if it is of this type.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}
