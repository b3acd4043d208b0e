//! Settings of the tools of a queue service.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

/// A place that messages are published to, and what they are like.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolSettings {
    /// The tool's name: 1 to 56 letters, digits, `_`, `.` or `-`.
    pub(super) id: String,
    /// What a message there means, for the model that publishes one.
    #[serde(default)]
    pub(super) description: String,
    /// The queue (embedded, RabbitMQ). Unless a place is given it is called like the tool.
    #[serde(default)]
    pub(super) queue: Option<String>,
    /// The exchange (RabbitMQ).
    #[serde(default)]
    pub(super) exchange: Option<String>,
    /// The routing key for the exchange.
    #[serde(default)]
    pub(super) routing_key: Option<String>,
    /// The topic (Kafka, RocketMQ).
    #[serde(default)]
    pub(super) topic: Option<String>,
    /// The pub/sub channel (Redis): whoever does not listen at the moment gets nothing.
    #[serde(default)]
    pub(super) channel: Option<String>,
    /// The stream (Redis), which keeps messages.
    #[serde(default)]
    pub(super) stream: Option<String>,
    /// JSON Schema of the messages. Others are refused, and dead letters when they are read.
    #[serde(default)]
    #[schemars(schema_with = "message_schema")]
    pub(super) message_schema: Option<Value>,
    /// A JMESPath expression that finds the key in the message. Without it callers give one.
    #[serde(default)]
    pub(super) key: Option<String>,
    /// How messages are written: as JSON, as the text they are, or as bytes that callers see in base64.
    #[serde(default)]
    pub(super) format: Format,
    /// Also offer `<id>_peek`, which shows messages and leaves them where they are.
    #[serde(default)]
    pub(super) peek: bool,
    /// Also offer `<id>_receive`, which takes messages for good.
    #[serde(default)]
    pub(super) receive: bool,
}

/// What the bytes of a message are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Format {
    #[default]
    Json,
    Text,
    Base64,
}

/// Schemars would write that anything goes, `false` among it.
fn message_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"] })
}
