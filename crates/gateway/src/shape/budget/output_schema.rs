//! What a tool promises of its structured content, and whether a cut answer still keeps it.

use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::OnceLock;
use tool::schema::Schema;
use tool::{Tool, readable};

/// What a tool promises of its structured content.
#[derive(Debug)]
pub(crate) struct OutputSchema {
    schema: Box<RawValue>,
    /// Compiled when an answer is first cut; one that cannot be is kept by nobody.
    compiled: OnceLock<Option<Schema>>,
}

impl OutputSchema {
    /// What the tool's `outputSchema` says, if it has one.
    pub(crate) fn of(tool: &Tool) -> Option<Self> {
        let schema = tool.field("outputSchema").filter(|schema| schema.get().starts_with('{'))?;
        Some(Self { schema: schema.to_owned(), compiled: OnceLock::new() })
    }

    pub(super) fn is_kept_by(&self, data: &RawValue) -> bool {
        let schema = self.compiled.get_or_init(|| {
            let schema: Value = serde_json::from_str(&readable(self.schema.get())).ok()?;
            Schema::compile(&schema, "field").ok()
        });
        let data = serde_json::from_str::<Value>(data.get());
        data.is_ok_and(|data| schema.as_ref().is_none_or(|schema| schema.accepts(&data)))
    }
}
