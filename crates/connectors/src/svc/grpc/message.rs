//! Messages as proto3 JSON, in both directions.

use super::anys;
use super::exact::find_changed;
use super::explain::unusable;
use super::extent::{Extent, may_be_deep};
use super::written::Written;
use bytes::Bytes;
use prost::Message;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor};
use serde::{Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io;
use tool::{Arguments, Error, Problem, Result};

/// The name of what is no object in JSON, such as a `google.protobuf.StringValue`, where an object is needed.
pub(super) const VALUE: &str = "value";

/// Bytes of JSON that an answer may become: a message of nothing is as long there as the names of all its fields.
const MAX_JSON_BYTES: usize = 16 * 1024 * 1024;

/// The JSON form of a message type: whether it is an object, and what may be in it.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub(super) descriptor: MessageDescriptor,
    /// In JSON it is no object: it stands in one, as `value`.
    is_wrapped: bool,
    emits_defaults: bool,
}

impl Form {
    pub(super) fn new(descriptor: MessageDescriptor, emits_defaults: bool) -> Self {
        let is_wrapped = !is_object(descriptor.full_name());
        Self { is_wrapped, descriptor, emits_defaults }
    }

    /// The arguments of a call on the wire.
    ///
    /// # Errors
    /// `InvalidInput` naming what does not fit, and where.
    pub(super) fn encode(&self, arguments: &Arguments) -> Result<Bytes> {
        let text: Cow<'_, str> = match arguments.raw() {
            Some(raw) => raw.get().into(),
            None => arguments.as_value()?.to_string().into(),
        };
        let message = if self.is_wrapped { self.read_wrapped(arguments) } else { self.read_text(&text) }?;
        // Numbers that were rounded while they were read.
        if let Some(changed) = find_changed(&self.descriptor, &text) {
            return Err(misfit(&changed.path, changed.why));
        }
        let bytes = Bytes::from(message.encode_to_vec());
        if may_be_deep(&text) {
            self.check_depth(&bytes).map_err(|why| misfit("", &why))?;
        }
        Ok(bytes)
    }

    /// What goes too deep to be an answer is no question either.
    fn check_depth(&self, bytes: &Bytes) -> Result<(), String> {
        let extent = Extent::new();
        extent.weigh(&self.descriptor, bytes, 0)?;
        let message = extent.open(self.descriptor.clone(), bytes.clone(), 0)?;
        self.write(&message, &extent, io::sink())
    }

    fn write(&self, message: &DynamicMessage, extent: &Extent, to: impl io::Write) -> Result<(), String> {
        let written = Written { message, level: 0, extent, emits_defaults: self.emits_defaults };
        written.serialize(&mut serde_json::Serializer::new(to)).map_err(|error| error.to_string())
    }

    fn read_text(&self, text: &str) -> Result<DynamicMessage> {
        if let Ok(message) = self.read(&mut serde_json::Deserializer::from_str(text)) {
            return Ok(message);
        }
        // What is rare, and where it is wrong, is only looked for when it is.
        let Some(text) = anys::completed(&self.descriptor, text) else {
            return self.locate(&mut serde_json::Deserializer::from_str(text), "");
        };
        let mut message = match self.read(&mut serde_json::Deserializer::from_str(&text)) {
            Ok(message) => message,
            Err(_) => self.locate(&mut serde_json::Deserializer::from_str(&text), "")?,
        };
        anys::clear(&mut message);
        Ok(message)
    }

    fn read_value(&self, value: &Value, path: &str) -> Result<DynamicMessage> {
        match self.read(value) {
            Ok(message) => Ok(message),
            Err(_) => self.locate(value, path),
        }
    }

    fn read_wrapped(&self, arguments: &Arguments) -> Result<DynamicMessage> {
        let arguments = arguments.as_map()?;
        if let Some(name) = arguments.keys().find(|name| *name != VALUE) {
            return Err(misfit(name, &format!("there is no parameter '{name}', only '{VALUE}'")));
        }
        match arguments.get(VALUE).filter(|value| !value.is_null()) {
            Some(value) => self.read_value(value, VALUE),
            None => Ok(DynamicMessage::new(self.descriptor.clone())),
        }
    }

    fn read<'de, D: Deserializer<'de>>(&self, json: D) -> Result<DynamicMessage, D::Error> {
        const STRICT: DeserializeOptions = DeserializeOptions::new();
        DynamicMessage::deserialize_with_options(self.descriptor.clone(), json, &STRICT)
    }

    /// Reads again what did not fit, for the sake of the place.
    fn locate<'de, D: Deserializer<'de>>(&self, json: D, outer: &str) -> Result<DynamicMessage> {
        let mut track = serde_path_to_error::Track::new();
        let read = self.read(serde_path_to_error::Deserializer::new(json, &mut track));
        read.map_err(|error| {
            let inner = track.path().to_string();
            let path = match (outer, inner.as_str()) {
                (outer, ".") => outer.to_owned(),
                ("", inner) => inner.to_owned(),
                (outer, inner) => format!("{outer}.{inner}"),
            };
            misfit(&path, &words(&error.to_string()))
        })
    }

    /// An answer as JSON text.
    ///
    /// # Errors
    /// `Upstream` for bytes that are no such message, that JSON has no form for, or of which too much would become.
    pub(super) fn decode(&self, bytes: Bytes) -> Result<Box<RawValue>> {
        let invalid = |why: String| unusable(self.descriptor.full_name(), &why);
        let extent = Extent::new();
        let message = extent.open(self.descriptor.clone(), bytes, 0).map_err(invalid)?;
        let mut json = Bounded(Vec::with_capacity(256));
        if self.is_wrapped {
            json.0.extend_from_slice(b"{\"value\":");
        }
        self.write(&message, &extent, &mut json).map_err(invalid)?;
        let Bounded(mut json) = json;
        if self.is_wrapped {
            json.push(b'}');
        }
        let json = String::from_utf8(json).map_err(|error| invalid(error.to_string()))?;
        RawValue::from_string(json).map_err(|error| invalid(error.to_string()))
    }
}

/// Text that does not grow for ever.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_JSON_BYTES {
            return Err(io::Error::other(format!("in JSON it has more than {MAX_JSON_BYTES} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a message is an object in JSON, as all are but some of the well-known ones.
pub(super) fn is_object(name: &str) -> bool {
    let Some(name) = name.strip_prefix("google.protobuf.") else { return true };
    !matches!(
        name,
        "Timestamp"
            | "Duration"
            | "FieldMask"
            | "Value"
            | "ListValue"
            | "DoubleValue"
            | "FloatValue"
            | "Int64Value"
            | "UInt64Value"
            | "Int32Value"
            | "UInt32Value"
            | "BoolValue"
            | "StringValue"
            | "BytesValue"
    )
}

/// The library's words, without the place in a text that nobody has before their eyes.
fn words(message: &str) -> String {
    let message = tool::plain(message);
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let message = message[..end].replace("unrecognized field name", "there is no field");
    let message = message.replace("unrecognized enum value", "there is no enum value");
    message.replace("multiple fields provided for oneof", "only one field may be given of the oneof")
}

fn misfit(path: &str, why: &str) -> Error {
    let place = if path.is_empty() { String::new() } else { format!("'{path}': ") };
    let message = format!("the arguments do not fit the request message: {place}{why}");
    let error =
        Error::invalid_input(message.clone()).with_problems(vec![Problem::new(path, "Misfit", message)]);
    if path.is_empty() { error } else { error.of_parameter(path) }
}
