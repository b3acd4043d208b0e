//! Search over tables: texts are cut into chunks, indexed in the background, and found by words and by meaning.
//!
//! A hit carries no text of its own: it says where in the document it stands, and is shown from
//! the document as it is now, so what is found is never stale.

pub mod chunk;
pub mod find;
mod index;
pub mod leaves;

mod worker;

pub use find::Finder;
pub use worker::{Options, run};
