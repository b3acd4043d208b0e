//! What is wrong with JSON, in words for whoever wrote it; the parser's are for those who write programs.

mod field_error;
mod plain;
mod syntax;

pub use field_error::{FieldError, field_error, query_field_error, read};
pub use plain::plain;
pub use syntax::syntax;
