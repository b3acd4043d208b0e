//! Tools over tables: one operation over one part of one table.

use super::TableTools;
use super::tools::{Custom, Operation, TYPES};
use document::Pointer;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use tool::connector::{invalid_settings, open_checked};
use tool::schema::Schema;
use tool::settings_schema::SettingsSchema;
use tool::{Connector, Env, Inline, InlineTool, Problem, Result, TableId};

/// Tools of the types `get_data_schema` to `search`.
pub(super) const INLINE: Inline = Inline {
    tool_types: TYPES,
    part: None,
    schema: || &SettingsSchema::of::<Fields>().json,
    complete: |_| {},
    needs_manager: |_| false,
    open: |tool, env| {
        let InlineTool { tool_type, name, description, config } = tool;
        let scheme = tool_type.clone();
        open_checked(&scheme, config, |fields: Fields| fields.open(&tool_type, &name, &description, env))
    },
};

/// The fields of a Tool over a table, beside its name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// The id of the table.
    table_id: String,
    /// Which part of the document: a JSON Pointer (RFC 6901), e.g. `/orders`; empty is all of it.
    #[serde(default)]
    json_path: String,
    /// The schema of the arguments, where the usual one is not right.
    #[serde(default)]
    input_schema: Option<Map<String, Value>>,
    /// The schema of the answer.
    #[serde(default)]
    output_schema: Option<Map<String, Value>>,
    /// Whatever you want to keep with it. `preview_keys` names the fields that `preview` shows.
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl Fields {
    fn open(self, tool_type: &str, name: &str, description: &str, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        let table = self.table_id.parse::<TableId>();
        if let Err(error) = &table {
            problems.push(Problem::new("table_id", "InvalidId", error.to_string()));
        }
        let mount = self.json_path.parse::<Pointer>();
        if let Err(error) = &mount {
            problems.push(Problem::new("json_path", "InvalidPointer", error.to_string()));
        }
        let preview_keys = preview_keys(&self.metadata);
        if let Err(problem) = &preview_keys {
            problems.push(problem.clone());
        }
        let input_schema = self.input_schema.map(Value::Object);
        let output_schema = self.output_schema.map(Value::Object);
        for (field, schema) in [("input_schema", &input_schema), ("output_schema", &output_schema)] {
            let compiled = schema.as_ref().map(|schema| Schema::compile(schema, "parameter"));
            if let Some(Err(error)) = compiled {
                problems.push(Problem::new(field, "InvalidSchema", error.message()));
            }
        }
        let (Ok(table), Ok(mount), Ok(preview_keys), Some(operation), true) =
            (table, mount, preview_keys, Operation::find(tool_type), problems.is_empty())
        else {
            return Err(invalid_settings(tool_type, problems));
        };
        let (input_schema, output_schema) = (input_schema.as_ref(), output_schema.as_ref());
        let custom = Custom { description, mount: &mount, input_schema, output_schema };
        let offered = vec![(operation, operation.tool(name, &custom)?)];
        Ok(Arc::new(TableTools { preview_keys, ..TableTools::new(env, table, mount, offered) }))
    }
}

fn preview_keys(metadata: &Map<String, Value>) -> Result<Vec<String>, Problem> {
    let wrong = || {
        let message = "preview_keys is a list of the names of fields, e.g. [\"id\", \"name\"]";
        Problem::new("metadata.preview_keys", "WrongType", message)
    };
    match metadata.get("preview_keys") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(keys)) => {
            keys.iter().map(|key| key.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
