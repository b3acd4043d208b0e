//! What travels beside the bytes of a message.

use crate::mq::message::{ATTEMPT_HEADER, Incoming, KEY_HEADER, Outgoing, Payload};
use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use tool::{Error, Result};

/// Kept on disk where its queue is.
const PERSISTENT: u8 = 2;

/// A name as AMQP takes it.
pub(super) fn short(text: &str) -> Result<ShortString> {
    ShortString::try_new(text).map_err(|_| {
        let start: String = text.chars().take(40).collect();
        Error::invalid_input(format!("'{start}…' is longer than the 255 bytes that AMQP has for it"))
    })
}

pub(super) fn of(message: &Outgoing) -> Result<BasicProperties> {
    let id = short(&message.id).map_err(|error| error.of_parameter("messageId"))?;
    let mut headers = headers_of(&message.headers)?;
    if let Some(key) = &message.key {
        headers.insert(short(KEY_HEADER)?, AMQPValue::LongString(key.as_str().into()));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(BasicProperties::default()
        .with_delivery_mode(PERSISTENT)
        .with_message_id(id)
        .with_timestamp(now)
        .with_headers(headers))
}

/// Those of a message that goes on to another queue, with what is new.
pub(super) fn again(message: &Incoming, added: (&str, String)) -> Result<BasicProperties> {
    let mut headers = message.headers.clone();
    headers.insert(added.0.to_owned(), added.1);
    let mut table = headers_of(&headers)?;
    if let Some(key) = &message.key {
        table.insert(short(KEY_HEADER)?, AMQPValue::LongString(key.as_str().into()));
    }
    let properties = BasicProperties::default().with_delivery_mode(PERSISTENT).with_headers(table);
    let properties = properties.with_message_id(short(&message.id)?);
    Ok(match message.published_at.and_then(|at| u64::try_from(at / 1000).ok()) {
        Some(at) => properties.with_timestamp(at),
        None => properties,
    })
}

fn headers_of(headers: &BTreeMap<String, String>) -> Result<FieldTable> {
    let mut table = FieldTable::default();
    for (name, value) in headers {
        table.insert(short(name)?, AMQPValue::LongString(value.as_str().into()));
    }
    Ok(table)
}

/// A message of a queue; its position is the tag that it is settled by.
pub(super) fn read(delivery: Delivery) -> Incoming {
    let properties = &delivery.properties;
    let mut headers = BTreeMap::new();
    for (name, value) in properties.headers().iter().flat_map(FieldTable::inner) {
        if let Some(text) = text_of(value) {
            headers.insert(name.to_string(), text);
        }
    }
    let failed: u32 = headers.remove(ATTEMPT_HEADER).and_then(|count| count.parse().ok()).unwrap_or(0);
    let id = properties.message_id().as_ref().map(ToString::to_string).filter(|id| !id.is_empty());
    Incoming {
        // Of a message without a name nobody can tell whether it came before.
        id: id.unwrap_or_else(tool::new_id),
        key: headers.remove(KEY_HEADER),
        headers,
        published_at: properties.timestamp().and_then(|at| i64::try_from(at.saturating_mul(1000)).ok()),
        position: delivery.delivery_tag.to_string(),
        // Whether it was handed out before says nothing: a look does that, too, and so does a reader that stops.
        attempt: failed.saturating_add(1),
        payload: Payload::Bytes(delivery.data),
    }
}

/// Headers of others that are texts or numbers; tables and lists stay where they are.
fn text_of(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => Some(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        AMQPValue::Boolean(flag) => Some(flag.to_string()),
        AMQPValue::LongInt(number) => Some(number.to_string()),
        AMQPValue::LongLongInt(number) => Some(number.to_string()),
        AMQPValue::LongUInt(number) => Some(number.to_string()),
        AMQPValue::ShortInt(number) => Some(number.to_string()),
        _ => None,
    }
}
