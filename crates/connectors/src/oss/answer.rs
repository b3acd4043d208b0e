//! Answers of tools, in JSON.

use chrono::{DateTime, SecondsFormat, Utc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::time::SystemTime;
use tool::{Content, Error, Object, Output, Result};

/// What a browser calls a file that it saves, and nothing that could be taken for another header.
#[cfg(feature = "oss")]
pub(super) fn disposition(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " .-_()+,@".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!(
        "attachment; filename=\"{plain}\"; filename*=UTF-8''{}",
        utf8_percent_encode(name, NON_ALPHANUMERIC)
    )
}

/// What stands for itself in the path of an address.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A key in an address.
pub(super) fn escaped(key: &str) -> String {
    utf8_percent_encode(key, PATH).to_string()
}

pub(super) fn time(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// An object without its content.
pub(super) fn of_object(object: &Object, key: &str) -> Map<String, Value> {
    let mut result =
        Map::from_iter([("key".to_owned(), json!(key)), ("size".to_owned(), json!(object.size))]);
    put(&mut result, "contentType", object.content_type.clone());
    put(&mut result, "etag", object.etag.clone());
    put(&mut result, "lastModified", object.last_modified.map(time));
    result.insert("metadata".to_owned(), json!(object.metadata));
    result
}

/// Adds what is known.
pub(super) fn put(result: &mut Map<String, Value>, name: &str, value: Option<String>) {
    if let Some(value) = value {
        result.insert(name.to_owned(), Value::from(value));
    }
}

pub(super) fn output(result: Map<String, Value>, blocks: Vec<Content>) -> Result<Output> {
    let data = to_raw_value(&Value::Object(result))
        .map_err(|error| Error::internal("an answer cannot be written as JSON").caused_by(error))?;
    Ok(Output::json_with_blocks(data, blocks))
}
