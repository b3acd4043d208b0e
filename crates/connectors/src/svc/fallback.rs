//! What tools answer while the service is left alone.

use serde_json::Value;
#[cfg(feature = "grpc")]
use serde_json::json;
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
        Some(Output::json_with_remark(json, &format!("fallback: {}", open.message())).unshaped())
    }

    /// What a tool promises of its answers, also of those while the service is left alone: strict clients take an answer
    /// that does not keep it for a failure of ours. A fallback that is no object leaves nothing to promise.
    #[cfg(feature = "grpc")]
    pub(super) fn promise(&self, tool: &str, output_schema: Value) -> Option<Value> {
        let Some(value) = self.of(tool) else { return Some(output_schema) };
        let is_kept = Schema::compile(&output_schema, "field").is_ok_and(|schema| schema.accepts(value));
        match value {
            _ if is_kept => Some(output_schema),
            Value::Object(_) => Some(json!({ "type": "object" })),
            _ => None,
        }
    }

    fn of(&self, tool: &str) -> Option<&Value> {
        self.tools.get(tool).or(self.service.as_ref())
    }
}
