//! What of a server's message is read to know where it goes.

use crate::envelope::{self, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The parts of a message that decide where it goes.
#[derive(Deserialize)]
pub(super) struct Incoming<'a> {
    #[serde(borrow, default)]
    pub(super) jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    /// Some say `null` where they have nothing to say: that is an answer, too.
    #[serde(borrow, default, deserialize_with = "envelope::also_null")]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// The text is no message.
#[derive(Debug)]
pub(super) struct Noise;

impl<'a> Incoming<'a> {
    pub(super) fn read(text: &'a [u8]) -> Result<Self, Noise> {
        // A struct could be read from an array as well.
        if !envelope::is_object(text) {
            return Err(Noise);
        }
        serde_json::from_slice(text).map_err(|_| Noise)
    }
}

/// The id of a request of ours. Some servers send our number back as a string.
pub(super) fn number(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}
