//! CEL over JSON: parsed once, run within a budget of steps and bytes, with line and column in every error.
//! Knows nothing of tools, flows or tenants.
//!
//! Where CEL gives a value over JSON's types, this gives the same. Beyond CEL: numbers of all kinds mix,
//! `a || b` is `b` where `a` is null or absent, `a?.b` is null where there is no `b`, `x => e` may be written for
//! the pair `x, e`, and `` `text ${e}` `` is a text with values in it.

mod budget;
mod error;
mod eval;
mod functions;
mod lex;
mod member;
mod number;
mod operators;
mod parse;
mod template;
mod time;
mod tree;
mod value;

pub use budget::{Limits, too_deep};
pub use error::{Error, Kind, Position, Result};
pub use functions::{FUNCTIONS, Function};
pub use template::Template;

use chrono::{DateTime, Utc};
use error::Fault;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use tree::Tree;

/// The longest expression, in bytes.
pub const MAX_LENGTH: usize = 4096;
/// How deep parts may stand in one another.
pub const MAX_DEPTH: usize = 64;

/// How deep lists and objects of a value may stand in one another: no deeper than JSON readers everywhere take.
pub const VALUE_LEVELS: usize = 64;

/// A name that stands for a type where nothing else has it, as in `type(x) == int`.
#[must_use]
pub fn is_type(name: &str) -> bool {
    eval::TYPES.contains(&name)
}

/// Lists and objects of a value stand in one another no deeper than so many levels. Looks no deeper itself.
#[must_use]
pub fn is_within(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}

/// Where an expression finds the values of its names.
pub trait Scope {
    /// The value of a name; `None` if there is none of that name.
    fn find(&self, name: &str) -> Option<&Value>;
}

impl Scope for Map<String, Value> {
    fn find(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

impl Scope for BTreeMap<String, Value> {
    fn find(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

/// What an expression is run with besides its names.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// What `now()` says, the same for the whole evaluation.
    pub now: DateTime<Utc>,
    /// How much it may do.
    pub limits: Limits,
}

impl Default for Setting {
    fn default() -> Self {
        Self { now: Utc::now(), limits: Limits::default() }
    }
}

/// A parsed expression. Copies share it.
#[derive(Debug, Clone)]
pub struct Expression {
    text: Arc<str>,
    tree: Arc<Tree>,
}

impl Expression {
    /// Parses an expression; unknown functions and wrong numbers of arguments are found here.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self> {
        let tree = parse::expression(text).map_err(|fault| fault.in_text(text))?;
        Ok(Self { text: text.into(), tree: Arc::new(tree) })
    }

    /// What it gives for the values in `scope`.
    ///
    /// # Errors
    /// A value that it cannot work with, or the end of its budget.
    pub fn evaluate(&self, scope: &dyn Scope, setting: &Setting) -> Result<Value> {
        eval::run(&self.tree, scope, setting).map_err(|fault| fault.in_text(&self.text))
    }

    /// The names that it takes from its scope, in the order of the text, each with its first place.
    pub fn names(&self) -> impl Iterator<Item = (&str, Position)> {
        self.tree.names.iter().map(|(name, at)| (&**name, Position::of(&self.text, *at as usize)))
    }

    /// The name, where the expression is nothing else.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        self.tree.root.as_name(&self.tree.names)
    }

    /// The text it was parsed from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl std::str::FromStr for Expression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

fn check_length(text: &str) -> Result<(), Fault> {
    if text.len() <= MAX_LENGTH {
        return Ok(());
    }
    let message = format!("an expression has at most {MAX_LENGTH} bytes, this one has {}", text.len());
    Err(Fault::limit(message).at(0))
}
