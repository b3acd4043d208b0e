//! What a service answers, written as proto3 JSON.
//!
//! The library's own writer counts levels anew within every `Any`, so that an answer could go deeper than any stack; it
//! makes null of a wrapped NaN, and gives durations of two minds a sign of its own. Of the types of google/protobuf only
//! those are left to it that hold nothing but themselves.

use super::extent::Extent;
use super::message::{VALUE, is_object};
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::prost_types::{Any, Duration};
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, ReflectMessage, SerializeOptions, Value};
use serde::ser::{Error, Serialize, SerializeMap, Serializer};

/// A message on its way into JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) message: &'a DynamicMessage,
    /// How many messages stand around it.
    pub(super) level: usize,
    /// What may still become of the answer.
    pub(super) extent: &'a Extent,
    pub(super) emits_defaults: bool,
}

/// The value of a field, or an item or entry of one.
struct Item<'a> {
    value: &'a Value,
    kind: &'a Kind,
    around: Written<'a>,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let descriptor = self.message.descriptor();
        let name = descriptor.full_name();
        match name.strip_prefix("google.protobuf.") {
            Some("Any") => self.any(serializer),
            Some("DoubleValue" | "FloatValue") => self.wrapped_float(serializer),
            Some("Duration") => self.duration(serializer),
            Some(_) if has_own_form(name) => self.own_form(serializer),
            _ => {
                let mut map = serializer.serialize_map(None)?;
                self.fields(&mut map)?;
                map.end()
            }
        }
    }
}

impl<'a> Written<'a> {
    fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let is_told = |field: &FieldDescriptor| {
            self.message.has_field(field) || (self.emits_defaults && !field.supports_presence())
        };
        for field in self.message.descriptor().fields().filter(is_told) {
            let value = self.message.get_field(&field);
            map.serialize_entry(field.json_name(), &self.item(&value, &field.kind()))?;
        }
        for (extension, value) in self.message.extensions() {
            map.serialize_entry(extension.json_name(), &self.item(value, &extension.kind()))?;
        }
        Ok(())
    }

    fn item<'b>(&self, value: &'b Value, kind: &'b Kind) -> Item<'b>
    where
        'a: 'b,
    {
        Item { value, kind, around: *self }
    }

    fn any<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let any: Any = self.message.transcode_to().map_err(S::Error::custom)?;
        // Nothing, in both directions.
        if any.type_url.is_empty() && any.value.is_empty() {
            return serializer.serialize_map(Some(0))?.end();
        }
        let Some((_, name)) = any.type_url.rsplit_once('/') else {
            return Err(S::Error::custom(format!("unsupported type url '{}'", any.type_url)));
        };
        let pool = self.message.descriptor();
        let held = pool.parent_pool().get_message_by_name(name);
        let held = held.ok_or_else(|| S::Error::custom(format!("message '{name}' not found")))?;
        let level = self.level + 1;
        let message = self.extent.open(held, any.value.into(), level).map_err(S::Error::custom)?;
        let held = Written { message: &message, level, ..*self };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("@type", &any.type_url)?;
        match has_own_form(name) {
            true => map.serialize_entry(VALUE, &held)?,
            false => held.fields(&mut map)?,
        }
        map.end()
    }

    fn wrapped_float<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let field = self.message.descriptor().get_field(1);
        let field = field.ok_or_else(|| S::Error::custom("a wrapper has no value"))?;
        self.item(&self.message.get_field(&field), &field.kind()).serialize(serializer)
    }

    fn duration<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Duration { seconds, nanos } = self.message.transcode_to().map_err(S::Error::custom)?;
        if seconds.signum() * i64::from(nanos.signum()) < 0 {
            return Err(S::Error::custom("it has a Duration whose seconds and nanos differ in sign"));
        }
        self.own_form(serializer)
    }

    fn own_form<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.message.serialize_with_options(serializer, &SerializeOptions::new())
    }
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Bool(is_true) => serializer.serialize_bool(*is_true),
            Value::I32(number) => serializer.serialize_i32(*number),
            Value::U32(number) => serializer.serialize_u32(*number),
            Value::I64(number) => serializer.collect_str(number),
            Value::U64(number) => serializer.collect_str(number),
            // The shortest text of the greatest is beyond it, and readers with 64 bits refuse that.
            Value::F32(number) if number.is_finite() && number.abs() < f32::MAX => {
                serializer.serialize_f32(*number)
            }
            Value::F32(number) => float(f64::from(*number), serializer),
            Value::F64(number) => float(*number, serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Bytes(bytes) => serializer.collect_str(&Base64Display::new(bytes, &STANDARD)),
            Value::EnumNumber(number) => self.choice(*number, serializer),
            Value::Message(message) => {
                Written { message, level: self.around.level + 1, ..self.around }.serialize(serializer)
            }
            Value::List(items) => serializer.collect_seq(items.iter().map(|value| Item {
                value,
                kind: self.kind,
                around: self.around,
            })),
            Value::Map(entries) => {
                let Kind::Message(entry) = self.kind else {
                    return Err(S::Error::custom("a map has no entries"));
                };
                let kind = entry.map_entry_value_field().kind();
                // On the wire every entry is a message.
                let around = Written { level: self.around.level + 1, ..self.around };
                let item = |value| Item { value, kind: &kind, around };
                serializer.collect_map(entries.iter().map(|(key, value)| (name_of(key), item(value))))
            }
        }
    }
}

impl Item<'_> {
    fn choice<S: Serializer>(&self, number: i32, serializer: S) -> Result<S::Ok, S::Error> {
        let Kind::Enum(choice) = self.kind else { return serializer.serialize_i32(number) };
        match choice.get_value(number) {
            _ if choice.full_name() == "google.protobuf.NullValue" => serializer.serialize_none(),
            Some(value) => serializer.serialize_str(value.name()),
            None => serializer.serialize_i32(number),
        }
    }
}

/// JSON has no numbers for some floats.
fn float<S: Serializer>(number: f64, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        f64::INFINITY => serializer.serialize_str("Infinity"),
        f64::NEG_INFINITY => serializer.serialize_str("-Infinity"),
        number if number.is_nan() => serializer.serialize_str("NaN"),
        number => serializer.serialize_f64(number),
    }
}

fn name_of(key: &MapKey) -> String {
    match key {
        MapKey::Bool(is_true) => is_true.to_string(),
        MapKey::I32(number) => number.to_string(),
        MapKey::I64(number) => number.to_string(),
        MapKey::U32(number) => number.to_string(),
        MapKey::U64(number) => number.to_string(),
        MapKey::String(text) => text.clone(),
    }
}

/// Whether JSON has another form for the message than its fields, so that in an `Any` it stands under a name.
fn has_own_form(name: &str) -> bool {
    !is_object(name) || matches!(name.strip_prefix("google.protobuf."), Some("Any" | "Struct" | "Empty"))
}
