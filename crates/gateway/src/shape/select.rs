//! JMESPath over an answer.

use super::to_raw;
use document::{Budget, Node, Query};
use serde_json::value::RawValue;
use tool::{Error, Result};

/// What an expression may do: a second or so of work.
const MAX_STEPS: u64 = 20_000_000;
/// What it may pick: it can put much more together than it was given.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A compiled JMESPath expression.
#[derive(Debug)]
pub(super) struct Select(Query);

impl Select {
    /// Compiles the expression.
    pub(super) fn compile(expression: &str) -> Result<Self> {
        Query::compile(expression)
            .map(Self)
            .map_err(|error| Error::invalid_config(format!("the JMESPath expression is wrong: {error}")))
    }

    /// What the expression picks out of JSON text.
    pub(super) fn apply(&self, data: &str) -> Result<Box<RawValue>> {
        let data = Node::parse(data)
            .map_err(|error| Error::upstream(format!("the answer cannot be searched: {error}")))?;
        let found = self
            .0
            .run(&data, &mut Budget::new(MAX_STEPS, &|| false))
            .map_err(|error| Error::upstream(format!("the JMESPath expression failed: {error}")))?;
        let text = found.to_json_within(MAX_BYTES);
        to_raw(text.ok_or_else(|| Error::upstream("the JMESPath expression picks too much"))?)
    }
}
