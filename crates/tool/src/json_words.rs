//! What is wrong with JSON, in words for whoever wrote it; the parser's are for those who write programs.

mod misfit;
mod plain;
mod syntax;

pub use misfit::{Misfit, misfit, misfit_in_query, read};
pub use plain::plain;
pub use syntax::syntax;
