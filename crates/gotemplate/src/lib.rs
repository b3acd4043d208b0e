//! Go text/template over JSON, compiled once and bounded in every direction.
//!
//! A [`Template`] is compiled from source, holds no more than resolved fields, variable slots and
//! functions, and renders borrowed [`serde_json::Value`]s. Whatever a template does, it ends
//! within its [`Limits`].
//!
//! ```
//! use gotemplate::{Options, Template};
//! use serde_json::json;
//!
//! let source = "{{ range $i, $item := .items }}{{ if $i }}, {{ end }}{{ .name }}{{ end }}";
//! let template = Template::compile("order", source, &Options::default())?;
//! let order = json!({ "items": [{ "name": "Pen" }, { "name": "Book" }] });
//! assert_eq!(template.render(&order)?, "Pen, Book");
//!
//! let error = Template::compile("order", "{{ .items ", &Options::default()).unwrap_err();
//! assert_eq!((error.line(), error.column()), (1, 11));
//! # Ok::<(), gotemplate::Error>(())
//! ```

mod ast;
mod budget;
mod error;
mod exec;
mod format;
mod funcs;
mod json;
mod lex;
mod literal;
mod options;
mod parse;
mod print;
mod program;
mod regexes;
mod resolve;
mod template;
mod value;
mod variables;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use error::{Error, ErrorKind};
pub use funcs::{FunctionDoc, functions};
pub use options::{Escape, Limits, Missing, Options};
pub use template::Template;
