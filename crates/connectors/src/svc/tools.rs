//! The settings of tools: requests to HTTP services, or methods of gRPC services.

use crate::shared::http_tools;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// One tool of either protocol.
#[derive(Debug)]
pub(super) struct ToolSettings {
    pub(super) request: RequestSettings,
    /// What is answered while the service is left alone.
    pub(super) fallback: Option<Value>,
}

/// What a tool does.
#[derive(Debug)]
pub(super) enum RequestSettings {
    Http(Box<http_tools::ToolSettings>),
    Grpc(GrpcTool),
    /// It names neither an endpoint nor an `rpc`; this is its id.
    Unclear(String),
}

/// A method of a gRPC service as a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "grpc"), expect(dead_code, reason = "only gRPC reads them"))]
pub(super) struct GrpcTool {
    pub(super) id: String,
    #[serde(default)]
    pub(super) description: String,
    /// `package.Service/Method`.
    pub(super) rpc: String,
    #[serde(default)]
    pub(super) response_template: Option<String>,
    #[serde(default)]
    pub(super) select: Option<String>,
    #[serde(default)]
    pub(super) max_result_bytes: Option<usize>,
    #[serde(default)]
    pub(super) timeout_ms: Option<u64>,
    #[serde(default)]
    pub(super) idempotent: Option<bool>,
    /// Read before; here it only counts among the fields that there are.
    #[serde(default, rename = "fallback")]
    _fallback: (),
}

impl RequestSettings {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Http(tool) => &tool.id,
            Self::Grpc(tool) => &tool.id,
            Self::Unclear(id) => id,
        }
    }
}

impl<'de> Deserialize<'de> for ToolSettings {
    /// Whoever names an `rpc` means gRPC; both have a `fallback`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let fallback = fields.remove("fallback").filter(|value| !value.is_null());
        let has_rpc = fields.contains_key("rpc");
        let is_clear = has_rpc || fields.contains_key("endpoint");
        // What is missing depends on the protocol of the service.
        if let (false, Some(id)) = (is_clear, fields.get("id").and_then(Value::as_str)) {
            return Ok(Self { request: RequestSettings::Unclear(id.to_owned()), fallback });
        }
        let fields = Value::Object(fields);
        let request = match has_rpc {
            true => serde_json::from_value(fields).map(RequestSettings::Grpc),
            false => serde_json::from_value(fields).map(|tool| RequestSettings::Http(Box::new(tool))),
        };
        Ok(Self { request: request.map_err(D::Error::custom)?, fallback })
    }
}

impl JsonSchema for ToolSettings {
    fn schema_name() -> Cow<'static, str> {
        "ServiceTool".into()
    }

    /// The fields of HTTP tools and two more; a gRPC tool has no endpoint.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = http_tools::ToolSettings::json_schema(generator);
        schema.insert("description".to_owned(), "One tool: a request, or a method of gRPC.".into());
        schema.insert("required".to_owned(), json!(["id"]));
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        if let Some(properties) = properties {
            let rpc = json!({
                "type": "string",
                "description": "For gRPC, instead of an endpoint: the method, e.g. `loyalty.v1.Customers/List`."
            });
            properties.insert("rpc".to_owned(), rpc);
            let fallback = json!({
                "description": "What the tool answers while the service is left alone, instead of the service's `fallback`."
            });
            properties.insert("fallback".to_owned(), fallback);
        }
        schema
    }
}
