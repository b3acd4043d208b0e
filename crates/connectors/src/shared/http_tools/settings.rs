//! The settings of a tool that is an HTTP request.

use super::parameter_settings::ParameterSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::collections::BTreeMap;
use tool::secret::names::headers_schema;
use tool::uri::Method;

/// One tool: a request with holes that the arguments fill.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolSettings {
    /// The tool's name: 1 to 64 letters, digits, `_`, `.` or `-`.
    pub(crate) id: String,
    /// What the tool does, for the model that chooses it.
    #[serde(default)]
    pub(crate) description: String,
    /// The path behind `base_url`, with `{name}` for each path parameter, e.g. `/users/{userId}`.
    #[schemars(extend("x-secret" = "query"))]
    pub(crate) endpoint: String,
    /// The HTTP method.
    #[serde(default = "default_method")]
    #[schemars(schema_with = "method_schema")]
    pub(crate) method: String,
    /// Methods that a caller may choose from with the URI's option `method`, beside `method` itself. Without it
    /// there is nothing to choose.
    #[serde(default)]
    #[schemars(schema_with = "methods_schema")]
    pub(crate) methods: Vec<String>,
    /// Headers that each request of this tool carries, beside the service's `default_headers`.
    #[serde(default)]
    #[schemars(schema_with = "headers_schema")]
    pub(crate) headers: BTreeMap<String, String>,
    /// What the tool can be told.
    #[serde(default)]
    pub(crate) parameters: Vec<ParameterSettings>,
    /// A Go template that turns the answer into text.
    #[serde(default)]
    pub(crate) response_template: Option<String>,
    /// A JMESPath expression that picks what matters from the answer.
    #[serde(default)]
    pub(crate) select: Option<String>,
    /// The most bytes of the shaped answer; more is cut at whole items.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) max_result_bytes: Option<usize>,
    /// How long one attempt of this tool may take, in milliseconds, where the service's is not right.
    #[serde(default)]
    #[schemars(range(min = 1, max = 300_000))]
    pub(crate) timeout_ms: Option<u64>,
    /// The request may be repeated without doing something twice. Follows from the method unless given.
    #[serde(default)]
    pub(crate) idempotent: Option<bool>,
    /// How `form` parameters are sent: `urlencoded`, or `multipart`, which files need.
    #[serde(default)]
    pub(crate) form_encoding: Option<FormEncoding>,
    /// A Go template that says what an answer with a bad status means, over `.status`, `.reason`,
    /// `.headers` and `.body`.
    #[serde(default)]
    pub(crate) error_template: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum FormEncoding {
    #[default]
    Urlencoded,
    Multipart,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

pub(crate) fn default_method() -> String {
    Method::Get.as_str().to_owned()
}

pub(crate) fn method_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Method::ALL.map(Method::as_str) })
}

fn methods_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string", "enum": Method::ALL.map(Method::as_str) } })
}
