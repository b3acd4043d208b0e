//! What tools answer while the service is left alone.

use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
#[cfg(feature = "grpc")]
use tool::schema::Schema;
use tool::{Error, Output};

/// The answers that the settings have for that time.
#[derive(Debug, Default)]
pub(super) struct Fallbacks {
    pub(super) service: Option<Value>,
    /// Those of tools that have their own.
    pub(super) tools: BTreeMap<String, Value>,
}

impl Fallbacks {
    /// What is answered instead of the service, if something is.
    pub(super) fn answer(&self, tool: &str, open: &Error) -> Option<Output> {
        let json = RawValue::from_string(self.of(tool)?.to_string()).ok()?;
        Some(Output::json_with_remark(json, &format!("fallback: {}", open.message())))
    }

    /// Whether a tool keeps what this schema promises of its answers, also while the service is left alone: strict
    /// clients take an answer that does not for a failure of ours.
    #[cfg(feature = "grpc")]
    pub(super) fn keeps(&self, tool: &str, output_schema: &Value) -> bool {
        let Some(value) = self.of(tool) else { return true };
        Schema::compile(output_schema, "field").is_ok_and(|schema| schema.accepts(value))
    }

    fn of(&self, tool: &str) -> Option<&Value> {
        self.tools.get(tool).or(self.service.as_ref())
    }
}
