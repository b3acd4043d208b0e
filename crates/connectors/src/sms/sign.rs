//! What all signatures are made of.

use aws_lc_rs::hmac;
use chrono::{DateTime, Utc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// When and under which name a request is signed: what differs between two that say the same.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    pub(super) time: DateTime<Utc>,
    pub(super) nonce: String,
}

impl Stamp {
    pub(super) fn now() -> Self {
        Self { time: Utc::now(), nonce: tool::new_id() }
    }
}

pub(super) fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What RFC 3986 calls unreserved stays as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Pairs as a query string or a form, in their order.
pub(super) fn pairs(pairs: &[(&str, String)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}
