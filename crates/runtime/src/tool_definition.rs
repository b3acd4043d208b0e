//! A stored Tool as the gateway reads it.

use gateway::{ToolBody, ToolDefinition, UriTool};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::{Tool, ToolStatus};
use tool::{Shape, TableId, Uri};

/// The type of Tools that lead to a service's tool.
pub const URI_TYPE: &str = "uri";

/// The fields of a Tool of type `uri`.
#[derive(Deserialize)]
struct UriFields {
    uri: Uri,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default)]
    hidden: Vec<String>,
    #[serde(default)]
    rename: BTreeMap<String, String>,
    response_template: Option<String>,
    select: Option<String>,
    max_result_bytes: Option<usize>,
    input_schema: Option<Value>,
}

/// What a Tool does, by its type and definition.
///
/// # Errors
/// What is wrong with them.
pub fn body_of(kind: &str, definition: &Value) -> Result<ToolBody, serde_json::Error> {
    if kind != URI_TYPE {
        // Types without a `config` have their fields beside the name.
        let config = definition.get("config").unwrap_or(definition).clone();
        return Ok(ToolBody::Inline { tool_type: kind.to_owned(), config });
    }
    let fields = UriFields::deserialize(definition)?;
    Ok(ToolBody::Uri(Box::new(UriTool {
        uri: fields.uri,
        arguments: fields.arguments,
        hidden: fields.hidden,
        rename: fields.rename,
        shape: Shape {
            select: fields.select,
            template: fields.response_template,
            max_bytes: fields.max_result_bytes,
        },
        input_schema: fields.input_schema,
    })))
}

/// The table that a Tool leads to, if it leads to one.
#[must_use]
pub fn table_of(definition: &Value) -> Option<TableId> {
    let text = |field: &str| definition.get(field).and_then(Value::as_str);
    if let Some(id) = text("table_id") {
        return id.parse().ok();
    }
    let uri: Uri = text("uri")?.parse().ok()?;
    uri.service().parse().ok().filter(|_| uri.scheme() == tool::tables::SCHEME)
}

/// A stored Tool for the catalog. One that cannot be read was written by another version of us.
#[must_use]
pub fn definition_of(tool: Tool) -> Option<ToolDefinition> {
    let body = body_of(&tool.kind, &tool.definition);
    let body = body.inspect_err(|error| {
        let name = &tool.name;
        tracing::warn!(tenant = %tool.tenant, name, %error, "tool {name} cannot be read: {error}");
    });
    Some(ToolDefinition {
        body: body.ok()?,
        id: tool.id,
        name: tool.name,
        description: tool.description,
        is_active: tool.status == ToolStatus::Active,
        // A Tool that was deleted and made again starts at version 1, at another time.
        version: tool.created_at.wrapping_mul(1 << 20).wrapping_add(tool.version),
    })
}
