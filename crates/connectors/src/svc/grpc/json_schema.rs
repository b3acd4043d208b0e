//! JSON Schema of messages as proto3 JSON has them.

use super::comments::Comments;
use super::message::VALUE;
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};
use tool::definition::object_schema;

/// Bytes of one schema. What does not fit any more is any object: the message itself is still checked as a whole.
const MAX_BYTES: usize = 32 * 1024;
const MIN_BYTES: usize = 1024;
/// Of all schemas of a service together: the more methods, the less is told of each.
const ALL_BYTES: usize = 8 * 1024 * 1024;
/// Messages within messages.
const MAX_DEPTH: usize = 12;
/// Names of an enum; of more, a few are told.
const MAX_ENUM_NAMES: usize = 200;
const FEW_ENUM_NAMES: usize = 10;

/// How many bytes a schema may have in a service with so many methods, each of which has two.
pub(super) fn bytes_of_each(methods: usize) -> usize {
    (ALL_BYTES / (2 * methods.max(1))).clamp(MIN_BYTES, MAX_BYTES)
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

/// Writes schemas, within a budget for each.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    comments: &'a Comments,
    direction: Direction,
    left_bytes: usize,
    /// The messages around the one that is written: none stands within itself.
    around: Vec<String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(comments: &'a Comments, direction: Direction, max_bytes: usize) -> Self {
        Self { comments, direction, left_bytes: max_bytes, around: Vec::new() }
    }

    /// The schema of a request or an answer: always of an object.
    pub(super) fn root(mut self, message: &MessageDescriptor) -> Value {
        let schema = self.message(message);
        if schema["type"] == "object" {
            return schema;
        }
        let properties = Map::from_iter([(VALUE.to_owned(), schema)]);
        let required = if self.direction == Direction::Out { vec![VALUE.to_owned()] } else { Vec::new() };
        object_schema(properties, required)
    }

    fn message(&mut self, message: &MessageDescriptor) -> Value {
        if let Some(schema) = well_known(message.full_name(), self.direction) {
            return schema;
        }
        let name = message.full_name();
        let is_too_deep = self.around.len() >= MAX_DEPTH || self.around.iter().any(|outer| outer == name);
        if is_too_deep || self.left_bytes == 0 {
            return json!({ "type": "object", "description": format!("A {name} message in JSON") });
        }
        self.around.push(name.to_owned());
        let schema = self.fields(message);
        self.around.pop();
        schema
    }

    fn fields(&mut self, message: &MessageDescriptor) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in message.fields() {
            if self.left_bytes == 0 {
                break;
            }
            let schema = self.field(&field);
            // What stands within has been counted already.
            self.spend(field.json_name().len() + 40 + description_of(&schema).len());
            if field.is_required() && (self.direction == Direction::Out || field.json_name() == field.name())
            {
                required.push(field.json_name().to_owned());
            }
            properties.insert(field.json_name().to_owned(), schema);
        }
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }

    fn spend(&mut self, bytes: usize) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
    }

    fn field(&mut self, field: &FieldDescriptor) -> Value {
        let mut schema = match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let values = self.kind(&entry.map_entry_value_field().kind());
                json!({ "type": "object", "additionalProperties": values })
            }
            kind if field.is_list() => json!({ "type": "array", "items": self.kind(&kind) }),
            kind => self.kind(&kind),
        };
        if let Some(description) = self.description(field) {
            schema["description"] = description.into();
        }
        schema
    }

    /// What the author says, and what a schema cannot say well: that a field excludes others.
    fn description(&self, field: &FieldDescriptor) -> Option<String> {
        let said = self.comments.get(field.parent_file().name(), field.path()).map(str::to_owned);
        let oneof = field.containing_oneof().filter(|oneof| !oneof.is_synthetic());
        let Some(oneof) = oneof.filter(|oneof| oneof.fields().len() > 1) else { return said };
        let names: Vec<_> = oneof.fields().take(10).map(|field| format!("'{}'", field.json_name())).collect();
        let rule = format!("Only one of {} can be set.", names.join(", "));
        Some(said.map_or(rule.clone(), |said| format!("{said} {rule}")))
    }

    fn kind(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Double | Kind::Float => float(self.direction, &["number"]),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
                integer(self.direction, (i32::MIN.into(), i32::MAX.into()), &[])
            }
            Kind::Uint32 | Kind::Fixed32 => integer(self.direction, (0, u32::MAX.into()), &[]),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => self.long("int64", &whole_text("-?", 19)),
            Kind::Uint64 | Kind::Fixed64 => self.long("uint64", &whole_text("", 20)),
            Kind::Bool => json!({ "type": "boolean" }),
            Kind::String => json!({ "type": "string" }),
            Kind::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Kind::Message(message) => self.message(message),
            Kind::Enum(choice) => self.choice(choice),
        }
    }

    /// Numbers that JSON readers would round are strings; as arguments they may be either.
    fn long(&self, format: &str, pattern: &str) -> Value {
        match self.direction {
            Direction::In => json!({ "type": ["string", "integer"], "format": format, "pattern": pattern }),
            Direction::Out => json!({ "type": "string", "format": format, "pattern": pattern }),
        }
    }

    /// Names, or the number of one that this description does not know.
    fn choice(&mut self, choice: &EnumDescriptor) -> Value {
        if choice.full_name() == "google.protobuf.NullValue" {
            return json!({ "type": "null" });
        }
        let count = choice.values().len();
        let is_long = count > MAX_ENUM_NAMES;
        let told = if is_long { FEW_ENUM_NAMES } else { count };
        let names: Vec<_> = choice.values().take(told).map(|value| value.name().to_owned()).collect();
        self.spend(40 + names.iter().map(|name| name.len() + 3).sum::<usize>());
        let named = match is_long {
            true => {
                let note = format!("The name of one of the {count} values of {}.", choice.full_name());
                json!({ "type": "string", "description": note, "examples": names })
            }
            false => json!({ "type": "string", "enum": names }),
        };
        json!({ "anyOf": [named, { "type": "integer" }] })
    }
}

fn description_of(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// A number of 32 bits: as an argument it may stand in a text, too.
fn integer(direction: Direction, (least, most): (i64, i64), more: &[&str]) -> Value {
    let mut types = vec!["integer"];
    types.extend_from_slice(more);
    let kind = |types: Vec<&str>| if types.len() == 1 { json!(types[0]) } else { json!(types) };
    match direction {
        Direction::Out => json!({ "type": kind(types), "minimum": least, "maximum": most }),
        Direction::In => {
            types.push("string");
            let pattern = whole_text(if least < 0 { "-?" } else { "" }, 10);
            json!({ "type": types, "minimum": least, "maximum": most, "pattern": pattern })
        }
    }
}

/// A whole number in a text, which the JSON of Protobuf lets be written as `"1e2"` and `"1.0"`, too.
fn whole_text(sign: &str, digits: usize) -> String {
    format!("^{sign}[0-9]{{1,{digits}}}(\\.[0-9]+)?([eE][+-]?[0-9]{{1,2}})?$")
}

/// A float, or the name of what JSON has no number for; as an argument it may stand in a text, too.
fn float(direction: Direction, types: &[&str]) -> Value {
    let number = if types.len() == 1 { json!({ "type": types[0] }) } else { json!({ "type": types }) };
    let text = match direction {
        Direction::Out => json!({ "type": "string", "enum": ["NaN", "Infinity", "-Infinity"] }),
        Direction::In => json!({
            "type": "string", "pattern": "^(-?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?|NaN|-?Infinity)$"
        }),
    };
    json!({ "anyOf": [number, text] })
}

/// The types of google/protobuf that have a form of their own.
fn well_known(name: &str, direction: Direction) -> Option<Value> {
    Some(match name.strip_prefix("google.protobuf.")? {
        "Timestamp" => json!({ "type": "string", "format": "date-time" }),
        "Duration" => {
            json!({ "type": "string", "pattern": "^-?[0-9]{1,12}(\\.[0-9]{1,9})?s$", "examples": ["1.5s"] })
        }
        "FieldMask" => json!({ "type": "string", "examples": ["displayName,address.city"] }),
        "Struct" => json!({ "type": "object", "additionalProperties": true }),
        "Value" => json!({}),
        "ListValue" => json!({ "type": "array", "items": {} }),
        "Empty" => object_schema(Map::new(), Vec::new()),
        "Any" => {
            json!({ "type": "object", "properties": { "@type": { "type": "string" } } })
        }
        "DoubleValue" | "FloatValue" => float(direction, &["number", "null"]),
        "Int64Value" | "UInt64Value" => {
            json!({ "type": ["string", "integer", "null"], "pattern": whole_text("-?", 20) })
        }
        "Int32Value" => integer(direction, (i32::MIN.into(), i32::MAX.into()), &["null"]),
        "UInt32Value" => integer(direction, (0, u32::MAX.into()), &["null"]),
        "BoolValue" => json!({ "type": ["boolean", "null"] }),
        "StringValue" => json!({ "type": ["string", "null"] }),
        "BytesValue" => json!({ "type": ["string", "null"], "contentEncoding": "base64" }),
        _ => return None,
    })
}
