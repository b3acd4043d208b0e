//! Messages: what a caller gives, what a broker carries, and what a reader sees.

use super::tool_settings::Format;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, SecondsFormat};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
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
    /// The bytes of a message.
    ///
    /// # Errors
    /// `InvalidInput` where the message is not of the format.
    pub(super) fn encode(self, message: &Value) -> Result<Vec<u8>> {
        let text = || {
            let what = if self == Self::Text { "a string" } else { "a string in base64" };
            message.as_str().ok_or_else(|| refused(&format!("must be {what}: the tool's format says so")))
        };
        match self {
            Self::Json => Ok(message.to_string().into_bytes()),
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
                // Parsed whole, so that it is no deeper than others can read.
                let value: Value = serde_json::from_slice(bytes).map_err(|error| {
                    format!("the message is no JSON: {}", tool::plain(&error.to_string()))
                })?;
                raw(&value)
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
    /// What `_peek` and `_receive` show. What is not of the format is shown as base64.
    pub(super) fn shown(&self, format: Format) -> Value {
        let message = format.decode(&self.payload).or_else(|_| Format::Base64.decode(&self.payload));
        let message = message.ok().and_then(|message| serde_json::from_str(message.get()).ok());
        let message: Option<Value> = message.or_else(|| match &self.payload {
            Payload::Json(json) => serde_json::from_str(json.get()).ok(),
            Payload::Bytes(_) => None,
        });
        json!({
            "messageId": self.id,
            "message": message,
            "key": self.key,
            "headers": self.headers,
            "publishedAt": self.published_at.and_then(time),
            "position": self.position,
        })
    }
}

/// A time as callers see it.
pub(super) fn time(milliseconds: i64) -> Option<String> {
    let time = DateTime::from_timestamp_millis(milliseconds)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}
