//! Entries of streams: which field is what.

use crate::mq::message::{ATTEMPT_HEADER, ID_HEADER, Incoming, KEY_HEADER, MESSAGE_FIELD, Outgoing, Payload};
use redis::streams::StreamId;
use redis::{Cmd, FromRedisValue, Value};
use std::collections::BTreeMap;

/// Adds the fields of a message.
pub(super) fn write(add: &mut Cmd, message: &Outgoing) {
    add.arg(MESSAGE_FIELD).arg(&message.bytes).arg(ID_HEADER).arg(&message.id);
    if let Some(key) = &message.key {
        add.arg(KEY_HEADER).arg(key);
    }
    for (name, value) in &message.headers {
        add.arg(name).arg(value);
    }
}

/// The message of an entry. One that others wrote, without our field, is the object of all its fields.
pub(super) fn read(mut entry: StreamId) -> Incoming {
    let payload = match entry.map.remove(MESSAGE_FIELD).map(bytes) {
        Some(bytes) => bytes,
        None => {
            let fields: serde_json::Map<_, _> =
                entry.map.drain().map(|(name, value)| (name, text(value).into())).collect();
            serde_json::Value::Object(fields).to_string().into_bytes()
        }
    };
    let mut headers: BTreeMap<String, String> =
        entry.map.into_iter().map(|(name, value)| (name, text(value))).collect();
    let failed = headers.remove(ATTEMPT_HEADER).and_then(|count| count.parse().ok()).unwrap_or(0);
    Incoming {
        id: headers.remove(ID_HEADER).unwrap_or_else(|| entry.id.clone()),
        payload: Payload::Bytes(payload),
        key: headers.remove(KEY_HEADER),
        headers,
        published_at: time_of(&entry.id),
        position: entry.id,
        attempt: 1_u32.saturating_add(failed),
    }
}

/// When the entry was made, which is the first half of its id.
pub(super) fn time_of(id: &str) -> Option<i64> {
    id.split('-').next()?.parse().ok()
}

fn bytes(value: Value) -> Vec<u8> {
    Vec::from_redis_value(value).unwrap_or_default()
}

fn text(value: Value) -> String {
    String::from_utf8_lossy(&bytes(value)).into_owned()
}
