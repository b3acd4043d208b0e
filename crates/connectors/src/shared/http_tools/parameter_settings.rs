//! Settings of one parameter of a tool.

use super::parameters::{Position, Style, Type};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

/// One parameter of a tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParameterSettings {
    /// The name: of the argument, and of the placeholder, query key, header or body field.
    pub(crate) name: String,
    /// The type of the value.
    #[serde(default = "default_type")]
    #[schemars(schema_with = "type_schema")]
    pub(crate) parameter_type: String,
    /// What the parameter means, for the model that fills it in.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// The tool cannot be called without it.
    #[serde(default)]
    pub(crate) required: bool,
    /// Where the value goes. A `body` parameter of a GET, HEAD or DELETE goes into the query string; a
    /// `whole_body` parameter is the body.
    #[serde(default = "default_position")]
    #[schemars(schema_with = "position_schema")]
    pub(crate) position: String,
    /// The value when none is given.
    #[serde(default)]
    pub(crate) default_value: Option<Value>,
    /// The only values allowed, if not all are.
    #[serde(default)]
    pub(crate) enum_values: Option<Vec<Value>>,
    /// JSON Schema of the value, where `parameter_type` does not say enough; it decides what is accepted.
    #[serde(default)]
    #[schemars(schema_with = "schema_schema")]
    pub(crate) schema: Option<Value>,
    /// The name of the query key, header, body field or form field, where it is not the argument's.
    #[serde(default)]
    pub(crate) sent_as: Option<String>,
    /// How lists and objects are written in a query string or a form: `repeat`, `comma`, `space`,
    /// `pipe`, `brackets` or `json`.
    #[serde(default)]
    #[schemars(schema_with = "style_schema")]
    pub(crate) style: Option<String>,
    /// The value is a file: a part of a multipart form, or the whole body.
    #[serde(default)]
    #[schemars(schema_with = "file_schema")]
    pub(crate) file: Option<FileSettings>,
}

/// A file that a tool uploads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileSettings {
    /// How the argument holds the file: as `text` (unless given) or in `base64`.
    #[serde(default)]
    pub(crate) encoding: FileEncoding,
    /// What the file is called; the parameter's name unless given.
    #[serde(default)]
    pub(crate) filename: Option<String>,
    /// What the file is, e.g. `application/pdf`.
    #[serde(default = "default_content_type")]
    pub(crate) content_type: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum FileEncoding {
    #[default]
    Text,
    Base64,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

fn default_type() -> String {
    Type::String.as_str().to_owned()
}

fn default_position() -> String {
    Position::Body.as_str().to_owned()
}

fn default_content_type() -> String {
    "application/octet-stream".to_owned()
}

fn file_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = FileSettings::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}

fn style_schema(_: &mut SchemaGenerator) -> Schema {
    let words = Style::ALL.map(|style| Some(style.as_str())).into_iter().chain([None]);
    json_schema!({ "type": ["string", "null"], "enum": words.collect::<Vec<_>>() })
}

fn type_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Type::ALL.map(Type::as_str) })
}

fn schema_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"] })
}

fn position_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Position::ALL.map(Position::as_str) })
}
