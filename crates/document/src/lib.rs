//! JSON documents that share what did not change: a tree, pointers into it, changes to it, and
//! JMESPath over it, bounded in steps. Knows nothing of tools or tenants.

mod array;
mod change;
mod error;
mod nearest;
mod node;
mod object;
mod pointer;
mod query;
mod text;

pub use array::Array;
pub use change::{Change, MAX_DEPTH};
pub use error::{Error, Result};
pub use nearest::{did_you_mean, nearest};
pub use node::Node;
pub use object::Object;
pub use pointer::Pointer;
pub use query::{Budget, Query, QueryError};
