//! Durations whose seconds go one way and whose nanoseconds the other: the writer would give them a sign of its own.

use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, ReflectMessage, Value};
use std::collections::HashSet;

const DURATION: &str = "google.protobuf.Duration";

/// Whether a message can have a duration in it.
pub(super) fn can_be_in(message: &MessageDescriptor) -> bool {
    let mut seen = HashSet::from([message.full_name().to_owned()]);
    let mut waiting = vec![message.clone()];
    while let Some(message) = waiting.pop() {
        if message.full_name() == DURATION {
            return true;
        }
        for field in message.fields() {
            if let Kind::Message(inner) = field.kind()
                && seen.insert(inner.full_name().to_owned())
            {
                waiting.push(inner);
            }
        }
    }
    false
}

/// Whether one of those in a message contradicts itself. Messages are not nested more deeply than they can be decoded.
pub(super) fn is_contradictory(message: &DynamicMessage) -> bool {
    if message.descriptor().full_name() != DURATION {
        return message.fields().any(|(_, value)| is_contradictory_value(value));
    }
    let seconds = message.get_field_by_name("seconds").and_then(|value| value.as_i64()).unwrap_or_default();
    let nanos = message.get_field_by_name("nanos").and_then(|value| value.as_i32()).unwrap_or_default();
    seconds.signum() * i64::from(nanos.signum()) < 0
}

fn is_contradictory_value(value: &Value) -> bool {
    match value {
        Value::Message(message) => is_contradictory(message),
        Value::List(items) => items.iter().any(is_contradictory_value),
        Value::Map(entries) => entries.values().any(is_contradictory_value),
        _ => false,
    }
}
