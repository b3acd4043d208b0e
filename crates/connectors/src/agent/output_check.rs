//! What an answer must look like, where the settings say so.

use crate::shared::digits;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tool::Problem;
use tool::schema::Schema;

/// The schema of an agent's answer.
#[derive(Debug)]
pub(super) struct OutputCheck {
    /// As it was written, for the model.
    pub(super) written: Box<RawValue>,
    schema: Schema,
    /// How often the model may correct itself.
    pub(super) retries: u32,
}

impl OutputCheck {
    pub(super) fn new(written: &Value, retries: u32, problems: &mut Vec<Problem>) -> Option<Self> {
        let schema = Schema::compile(written, "field").map_err(|error| {
            problems.push(Problem::new("output_schema", "InvalidSchema", error.message()));
        });
        Some(Self { written: to_raw_value(written).ok()?, schema: schema.ok()?, retries })
    }

    /// The answer as data, with marks that keep its digits, or what is wrong with it, for the model.
    pub(super) fn read(&self, text: &str) -> Result<Value, String> {
        let text = without_fence(text);
        let no_json =
            |error: serde_json::Error| format!("it is no JSON ({})", tool::plain(&error.to_string()));
        let value: Value = serde_json::from_str(text).map_err(no_json)?;
        let problems = self.schema.check(&value);
        match problems.is_empty() {
            true => digits::read(text).map_err(no_json),
            false => Err(problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ")),
        }
    }
}

/// Models like to put JSON between the marks of a code block.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}
