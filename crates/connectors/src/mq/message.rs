//! Messages: what a caller gives, what a broker carries, and what a reader sees.

use super::tool_settings::Format;
use super::tools::QueueTool;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tool::queue::OnceKey;
use tool::schema::Schema;
use tool::{Error, Result};

/// The header that carries the message's id where the broker has no place for one.
pub(super) const ID_HEADER: &str = "message-id";
/// The header that carries the key, likewise.
pub(super) const KEY_HEADER: &str = "message-key";
/// The field of a Redis stream that the message itself stands in.
pub(super) const MESSAGE_FIELD: &str = "message";
/// The header that counts the attempts that failed.
pub(super) const ATTEMPT_HEADER: &str = "x-attempt";

/// The longest reason that is kept with a dead letter.
#[cfg(feature = "brokers")]
const MAX_REASON_CHARACTERS: usize = 1000;

/// A message on its way out.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) id: String,
    /// As callers see it.
    pub(super) json: Box<RawValue>,
    /// As others see it.
    #[cfg_attr(not(feature = "brokers"), expect(dead_code, reason = "for brokers elsewhere"))]
    pub(super) bytes: Vec<u8>,
    pub(super) key: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) delay: Duration,
    /// Nothing of it has left us: what fails now has surely not been published.
    pub(super) is_here: Arc<AtomicBool>,
    /// The key that ends with it, for brokers that can do both at once.
    pub(super) once: Option<OnceKey>,
}

impl Outgoing {
    /// From now on it is only looked for the way there.
    #[cfg_attr(not(feature = "brokers"), expect(dead_code, reason = "for brokers elsewhere"))]
    pub(super) fn stays_here(&self) {
        self.is_here.store(true, Ordering::Relaxed);
    }

    /// From now on nobody knows, until the broker says something.
    #[cfg_attr(not(feature = "brokers"), expect(dead_code, reason = "for brokers elsewhere"))]
    pub(super) fn leaves(&self) {
        self.is_here.store(false, Ordering::Relaxed);
    }
}

/// What the broker said to a message.
#[derive(Debug, Default)]
pub(super) struct Receipt {
    pub(super) position: Option<String>,
    /// In milliseconds since 1970.
    pub(super) available_at: Option<i64>,
    pub(super) receivers: Option<u64>,
}

/// A message on its way in.
#[derive(Debug, Clone)]
pub(super) struct Incoming {
    pub(super) id: String,
    pub(super) payload: Payload,
    pub(super) key: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) published_at: Option<i64>,
    pub(super) position: String,
    pub(super) attempt: u32,
}

#[derive(Debug, Clone)]
pub(super) enum Payload {
    /// Kept by us as callers gave it.
    Json(Box<RawValue>),
    /// Whatever somebody wrote.
    #[cfg_attr(not(feature = "brokers"), expect(dead_code, reason = "for brokers elsewhere"))]
    Bytes(Vec<u8>),
}

impl Format {
    /// The bytes of a message; `json` is the same as its caller wrote it, with every digit.
    ///
    /// # Errors
    /// `InvalidInput` where the message is not of the format.
    pub(super) fn encode(self, message: &Value, json: &RawValue) -> Result<Vec<u8>> {
        let text = || {
            let what = if self == Self::Text { "a string" } else { "a string in base64" };
            message.as_str().ok_or_else(|| refused(&format!("must be {what}: the tool's format says so")))
        };
        match self {
            Self::Json => Ok(json.get().as_bytes().to_vec()),
            Self::Text => Ok(text()?.as_bytes().to_vec()),
            Self::Base64 => {
                BASE64_STANDARD.decode(text()?).map_err(|_| refused("is no base64, with its padding"))
            }
        }
    }

    /// The message that bytes stand for.
    ///
    /// # Errors
    /// Why they are none of the format, for people.
    pub(super) fn decode(self, payload: &Payload) -> Result<Box<RawValue>, String> {
        match (self, payload) {
            (Self::Json, Payload::Json(json)) => Ok(json.clone()),
            (Self::Text | Self::Base64, Payload::Json(json)) if json.get().starts_with('"') => {
                Ok(json.clone())
            }
            (Self::Text | Self::Base64, Payload::Json(_)) => Err("the message is no string".to_owned()),
            (Self::Json, Payload::Bytes(bytes)) => {
                let none = |error: serde_json::Error| {
                    format!("the message is no JSON: {}", tool::plain(&error.to_string()))
                };
                // Parsed whole, so that it is no deeper than others can read, and handed on as it was written.
                let _: Value = serde_json::from_slice(bytes).map_err(none)?;
                serde_json::from_slice(bytes).map_err(none)
            }
            (Self::Text, Payload::Bytes(bytes)) => {
                raw(&std::str::from_utf8(bytes).map_err(|_| "the message is no UTF-8".to_owned())?)
            }
            (Self::Base64, Payload::Bytes(bytes)) => raw(&BASE64_STANDARD.encode(bytes)),
        }
    }
}

fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, String> {
    to_raw_value(value).map_err(|_| "the message cannot be written".to_owned())
}

/// Why a message is dead, no longer than is kept with it.
#[cfg(feature = "brokers")]
pub(super) fn dead_reason(reason: &str) -> String {
    reason.chars().take(MAX_REASON_CHARACTERS).collect()
}

pub(super) fn refused(why: &str) -> Error {
    Error::invalid_input(format!("parameter 'message' {why}")).of_parameter("message")
}

impl Incoming {
    /// What the message says, if it is what its tool says.
    ///
    /// # Errors
    /// Why it is not, for people.
    pub(super) fn content(&self, format: Format, schema: Option<&Schema>) -> Result<Box<RawValue>, String> {
        let content = format.decode(&self.payload)?;
        let Some(schema) = schema else { return Ok(content) };
        let value = serde_json::from_str(content.get())
            .map_err(|error| format!("the message cannot be read: {}", tool::plain(&error.to_string())))?;
        match schema.check(&value).into_iter().next() {
            Some(problem) => Err(format!("the message is not of its schema: {}", problem.message)),
            None => Ok(content),
        }
    }

    /// What `_peek` and `_receive` show. What is not as the tool says is marked, and bytes that are none of its format are
    /// an object that says how they are written.
    pub(super) fn shown(&self, tool: &QueueTool) -> String {
        let (message, problem) = match self.content(tool.format, tool.schema.as_deref()) {
            Ok(content) => (content, None),
            Err(problem) => {
                (tool.format.decode(&self.payload).unwrap_or_else(|_| self.foreign()), Some(problem))
            }
        };
        let shown = Shown {
            message_id: &self.id,
            message: &message,
            key: self.key.as_deref(),
            headers: &self.headers,
            published_at: self.published_at.and_then(time),
            position: &self.position,
            problem,
        };
        // Texts and JSON can always be written.
        serde_json::to_string(&shown).unwrap_or_default()
    }

    /// What is of another format, told apart from what is of ours.
    fn foreign(&self) -> Box<RawValue> {
        let bytes = match &self.payload {
            Payload::Json(json) => return json.clone(),
            Payload::Bytes(bytes) => bytes,
        };
        let told = match std::str::from_utf8(bytes) {
            Ok(text) => json!({ "text": text }),
            Err(_) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
        };
        raw(&told).unwrap_or_default()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    message_id: &'a str,
    message: &'a RawValue,
    key: Option<&'a str>,
    headers: &'a BTreeMap<String, String>,
    published_at: Option<String>,
    position: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// A time as callers see it.
pub(super) fn time(milliseconds: i64) -> Option<String> {
    let time = DateTime::from_timestamp_millis(milliseconds)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}
