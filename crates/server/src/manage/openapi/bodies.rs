//! Bodies whose fields the type of a service or tool says, under a name for those who generate clients.

use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A tool of a service: `id`, and what the type's `tool_schema` says.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[expect(dead_code, reason = "it is read as JSON, and has a name in the document alone")]
pub(crate) struct ServiceToolDraft(Map<String, Value>);

/// Any fields of the definition of a service's tool; `version` refuses the change if the service has another by now.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[expect(dead_code, reason = "it is read as JSON, and has a name in the document alone")]
pub(crate) struct ServiceToolChange(Map<String, Value>);

/// What would make a tool; whatever is wrong with it is in the answer.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[expect(dead_code, reason = "it is read as JSON, and has a name in the document alone")]
pub(crate) struct ToolDraft(Map<String, Value>);

/// Any fields of a tool but its type; `version` refuses the change if the tool has another by now.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[expect(dead_code, reason = "it is read as JSON, and has a name in the document alone")]
pub(crate) struct ToolChange(Map<String, Value>);
