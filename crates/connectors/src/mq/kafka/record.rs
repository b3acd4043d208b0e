//! Records: what travels beside the bytes of a message.

use crate::mq::message::{ATTEMPT_HEADER, ID_HEADER, Incoming, Outgoing, Payload};
use krafka::Record;
use krafka::consumer::ConsumerRecord;
use std::collections::BTreeMap;
use tool::{Error, Result};

/// A message as Kafka keeps it.
pub(super) fn of(topic: &str, message: &Outgoing) -> Record {
    written(topic, &message.id, message.bytes.clone(), message.key.as_ref(), &message.headers)
}

/// A message that goes on to another topic, with what is new.
pub(super) fn again(topic: &str, message: &Incoming, added: (&str, String)) -> Result<Record> {
    let Payload::Bytes(bytes) = &message.payload else {
        return Err(Error::internal("a record has no bytes"));
    };
    let mut headers = message.headers.clone();
    headers.insert(added.0.to_owned(), added.1);
    Ok(written(topic, &message.id, bytes.clone(), message.key.as_ref(), &headers))
}

fn written(
    topic: &str,
    id: &str,
    bytes: Vec<u8>,
    key: Option<&String>,
    headers: &BTreeMap<String, String>,
) -> Record {
    let record = Record::new(topic, bytes).header(ID_HEADER, id.to_owned());
    let record = match key {
        Some(key) => record.key(key.clone()),
        None => record,
    };
    headers.iter().fold(record, |record, (name, value)| record.header(name, value.clone()))
}

/// What was read. Whoever wrote it without an id gets one that is the same each time it is read.
pub(super) fn read(record: ConsumerRecord) -> Incoming {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let position = Position::of_record(&record);
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &record.headers {
        headers.insert(name.to_ascii_lowercase(), value.as_deref().map(text).unwrap_or_default());
    }
    let id = headers.remove(ID_HEADER).filter(|id| !id.is_empty());
    let attempts = headers.get(ATTEMPT_HEADER).and_then(|count| count.parse::<u32>().ok()).unwrap_or(0);
    Incoming {
        id: id.unwrap_or_else(|| format!("{}-{position}", record.topic)),
        payload: Payload::Bytes(record.value.map(Vec::from).unwrap_or_default()),
        key: record.key.as_deref().map(text),
        headers,
        published_at: Some(record.timestamp).filter(|time| *time > 0),
        position: position.to_string(),
        attempt: attempts.saturating_add(1),
    }
}

/// Where a record stands in its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) partition: i32,
    pub(super) offset: i64,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.partition, self.offset)
    }
}

impl Position {
    pub(super) fn of_record(record: &ConsumerRecord) -> Self {
        Self { partition: record.partition, offset: record.offset }
    }

    pub(super) fn of(message: &Incoming) -> Result<Self> {
        let parts = message.position.split_once('-');
        let parts = parts.and_then(|(partition, offset)| partition.parse().ok().zip(offset.parse().ok()));
        let (partition, offset) = parts.ok_or_else(|| Error::internal("a record has no position"))?;
        Ok(Self { partition, offset })
    }
}
