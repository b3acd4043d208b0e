//! JMESPath over an answer.

use super::to_raw;
use jmespath::{Expression, Variable};
use serde_json::value::RawValue;
use tool::{Error, Result};

/// A compiled JMESPath expression.
#[derive(Debug)]
pub(super) struct Select(Expression<'static>);

impl Select {
    /// Compiles the expression.
    pub(super) fn compile(expression: &str) -> Result<Self> {
        jmespath::compile(expression).map(Self).map_err(|error| {
            let (line, column) = (error.line + 1, error.column + 1);
            Error::invalid_config(format!(
                "the JMESPath expression is wrong at line {line}, column {column}: {}",
                error.reason
            ))
        })
    }

    /// What the expression picks out of JSON text.
    pub(super) fn apply(&self, data: &str) -> Result<Box<RawValue>> {
        let variable = Variable::from_json(data)
            .map_err(|error| Error::upstream(format!("the answer cannot be searched: {error}")))?;
        let found = self
            .0
            .search(variable)
            .map_err(|error| Error::upstream(format!("the JMESPath expression failed: {}", error.reason)))?;
        let text = serde_json::to_string(&*found)
            .map_err(|error| Error::internal("the picked part cannot be written").caused_by(error))?;
        to_raw(text)
    }
}
