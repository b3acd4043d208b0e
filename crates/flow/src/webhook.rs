//! Whether a request to a webhook is from whom it says: by a token, a signature, or as standardwebhooks.com has it.

use crate::document::{Source, WebhookAuth};
use aws_lc_rs::{constant_time, hmac};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use std::fmt;
use std::time::Duration;

/// How old, or how far ahead, a request may be where the document does not say.
const TOLERANCE: Duration = Duration::from_secs(300);

/// A request to a webhook.
pub struct Received<'a> {
    /// The value of a header, whatever the case of its name.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The body as it came.
    pub body: &'a [u8],
}

/// Why a request is not taken; nothing in it tells what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Checks a request to a webhook against its secret. Any other source takes none.
///
/// # Errors
/// What is missing or does not fit.
pub fn verify(
    source: &Source,
    secret: &str,
    received: &Received<'_>,
    now: DateTime<Utc>,
) -> Result<(), Refused> {
    let Source::Webhook { auth, header, prefix, tolerance } = source else {
        return Err(Refused("the trigger is no webhook".to_owned()));
    };
    match auth {
        WebhookAuth::Token => {
            let name = header.as_deref().unwrap_or("authorization");
            let usual = if header.is_none() { "Bearer " } else { "" };
            let token = received.value(name, prefix.as_deref().unwrap_or(usual))?;
            let is_same = constant_time::verify_slices_are_equal(token.as_bytes(), secret.as_bytes());
            is_same.map_err(|_| Refused(format!("the token in '{name}' is wrong")))
        }
        WebhookAuth::Hmac => {
            let name = header.as_deref().unwrap_or("x-signature");
            let given = received.value(name, prefix.as_deref().unwrap_or_default())?;
            let is_right =
                decoded(given).any(|signature| is_signed(secret.as_bytes(), received.body, &signature));
            if is_right { Ok(()) } else { Err(Refused(format!("the signature in '{name}' is wrong"))) }
        }
        WebhookAuth::Standard => standard(secret, received, tolerance.unwrap_or(TOLERANCE), now),
    }
}

fn standard(
    secret: &str,
    received: &Received<'_>,
    tolerance: Duration,
    now: DateTime<Utc>,
) -> Result<(), Refused> {
    let id = received.value("webhook-id", "")?;
    let timestamp = received.value("webhook-timestamp", "")?;
    let sent = timestamp.parse().ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let sent = sent.ok_or_else(|| Refused("'webhook-timestamp' is no number of seconds".to_owned()))?;
    if (now - sent).abs().to_std().is_ok_and(|age| age > tolerance) {
        return Err(Refused("'webhook-timestamp' is too old, or ahead of time".to_owned()));
    }
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap_or(secret));
    let key = key.map_err(|_| Refused("the secret of the webhook is no base64".to_owned()))?;
    let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", received.body].concat();
    // Several while a secret is being changed.
    let signatures = received.value("webhook-signature", "")?.split(' ');
    let versions = signatures.filter_map(|signature| signature.strip_prefix("v1,"));
    let is_right =
        versions.filter_map(|text| STANDARD.decode(text).ok()).any(|tag| is_signed(&key, &message, &tag));
    if is_right { Ok(()) } else { Err(Refused("'webhook-signature' is wrong".to_owned())) }
}

impl<'a> Received<'a> {
    /// A header behind its prefix.
    fn value(&self, name: &str, prefix: &str) -> Result<&'a str, Refused> {
        let value = (self.header)(name).ok_or_else(|| Refused(format!("the header '{name}' is missing")))?;
        let value = value.trim().strip_prefix(prefix);
        value.ok_or_else(|| Refused(format!("the header '{name}' does not begin with '{prefix}'")))
    }
}

fn is_signed(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, key), message, signature).is_ok()
}

/// A signature in either of the ways that senders write one.
fn decoded(text: &str) -> impl Iterator<Item = Vec<u8>> {
    [hex(text), STANDARD.decode(text).ok()].into_iter().flatten()
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}
