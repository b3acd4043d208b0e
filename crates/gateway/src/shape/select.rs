//! JMESPath over an answer.

use super::{Effort, Tried, to_raw};
use document::{Budget, Node, Query};
use serde_json::value::RawValue;
use tool::{Error, Result};

/// What an expression may do: a second or so of work.
pub(crate) const MAX_STEPS: u64 = 20_000_000;
/// What it may do at once, on a thread that others wait for: a few milliseconds.
const MAX_STEPS_AT_ONCE: u64 = 50_000;
/// What it may pick: it can put much more together than it was given.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// What that may take where it is read again, to be cut or told by a template.
const MAX_WEIGHT_BYTES: usize = 64 * 1024 * 1024;

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
    pub(super) fn apply(&self, data: &str, effort: Effort) -> Tried<Result<Box<RawValue>>> {
        let Ok(data) = Node::parse(data) else {
            return Tried::Done(Err(Error::upstream("the answer is no JSON that can be searched")));
        };
        let steps = match effort {
            Effort::Little => MAX_STEPS_AT_ONCE,
            Effort::Full => MAX_STEPS,
        };
        match self.0.run(&data, &mut Budget::new(steps, &|| false)) {
            Err(error) if effort == Effort::Little && error.is_out_of_steps() => Tried::TooMuch,
            Err(error) => {
                Tried::Done(Err(Error::upstream(format!("the JMESPath expression failed: {error}"))))
            }
            Ok(found) => Tried::Done(to_text(&found)),
        }
    }
}

fn to_text(found: &Node) -> Result<Box<RawValue>> {
    let too_much = || {
        let megabytes = MAX_BYTES / (1024 * 1024);
        Error::upstream(format!("the JMESPath expression picks more than {megabytes} MB; pick less"))
    };
    let text = found.to_json_within(MAX_BYTES).ok_or_else(too_much)?;
    // Within so much text it cannot take long.
    if found.weight_bytes() > MAX_WEIGHT_BYTES {
        return Err(too_much());
    }
    to_raw(text)
}
