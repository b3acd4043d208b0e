//! What a token endpoint says: a token, or why there is none.

use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tool::Secret;
use tool::secret::Redactor;

/// A token is renewed this long before its end, so that no clock and no slow network lets it
/// expire on the way; short-lived ones a quarter of their life before it.
const MARGIN: Duration = Duration::from_secs(30);
/// What a server may claim about the life of a token; more is no use and may overflow.
const MAX_LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const SHOWN_CHARS: usize = 300;

/// What a token endpoint hands out.
#[derive(Debug, Deserialize)]
pub(crate) struct TokenResponse {
    pub(crate) access_token: Secret,
    #[serde(default)]
    pub(crate) token_type: Option<String>,
    #[serde(default)]
    pub(crate) refresh_token: Option<Secret>,
    #[serde(default)]
    pub(crate) scope: Option<String>,
    /// Seconds; some providers write them as text.
    #[serde(default)]
    expires_in: Option<Value>,
}

impl TokenResponse {
    /// The token's type, where it is one that we cannot send.
    pub(crate) fn foreign_type(&self) -> Option<String> {
        self.token_type.as_deref().filter(|kind| !kind.eq_ignore_ascii_case("bearer")).map(shown)
    }

    /// After how long the token is to be renewed, where its life is told.
    pub(crate) fn renew_after(&self) -> Option<Duration> {
        let seconds = match self.expires_in.as_ref()? {
            Value::String(text) => text.parse().ok()?,
            other => other.as_f64()?,
        };
        Some(renew_after(Duration::try_from_secs_f64(seconds).ok()?))
    }
}

/// After how much of such a life a token is renewed.
pub(super) fn renew_after(life: Duration) -> Duration {
    let life = life.min(MAX_LIFE);
    life.saturating_sub(MARGIN.min(life / 4))
}

/// What a token endpoint says when it gives no token.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Refusal {
    #[serde(default)]
    pub(crate) error: String,
    #[serde(default)]
    error_description: String,
}

impl Refusal {
    /// Whatever of an answer is a refusal.
    pub(crate) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }

    /// The reason, without what we have told in confidence.
    pub(crate) fn words<'a>(&self, secrets: impl IntoIterator<Item = &'a str>) -> String {
        let redactor = Redactor::new(secrets);
        let parts = [&self.error, &self.error_description].into_iter().filter(|text| !text.is_empty());
        parts.map(|text| shown(&redactor.apply(text))).collect::<Vec<_>>().join(": ")
    }
}

/// The beginning of a foreign text, for an error.
pub(crate) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn renews_before_the_end_also_of_a_short_life() {
        for (expires_in, seconds) in [
            (json!(3600), Some(3570.0)),
            (json!("60"), Some(45.0)),
            (json!(2), Some(1.5)),
            (json!(0), Some(0.0)),
            (json!(null), None),
            (json!(-5), None),
            (json!("soon"), None),
            (json!([]), None),
            (json!(1e300), None),
            (json!(1e15), Some(MAX_LIFE.as_secs_f64() - 30.0)),
        ] {
            let answer = json!({ "access_token": "t", "expires_in": expires_in });
            let granted: TokenResponse = serde_json::from_value(answer).unwrap();
            assert_eq!(granted.renew_after().map(|time| time.as_secs_f64()), seconds, "{expires_in}");
            assert!(!format!("{granted:?}").contains("\"t\""), "{granted:?}");
        }
    }

    #[test]
    fn repeats_no_secret_and_no_control_character_of_a_refusal() {
        let refusal = Refusal::read(br#"{"error":"invalid_client","error_description":"no\nhush here"}"#);
        assert_eq!(refusal.words(["hush"]), "invalid_client: no *** here");
        for body in [&b"<html>"[..], b"", b"{\"error\":7}", b"\xff"] {
            assert_eq!(Refusal::read(body).words([]), "");
        }
    }
}
