//! From a response to an answer: JSON stays as it came, text is decoded, errors carry their status.

use encoding_rs::{Encoding, UTF_8};
use fetch::Response;
use fetch::http::StatusCode;
use fetch::http::header::CONTENT_TYPE;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tool::{Error, Output, Result};

/// How much of an error's body its message quotes.
const MAX_QUOTED_BYTES: usize = 4 * 1024;

/// What a response's `Content-Type` says.
#[derive(Debug, Default)]
struct ContentType {
    /// Type and subtype in lower case, empty when nothing was said.
    essence: String,
    charset: Option<&'static Encoding>,
}

/// Reads a successful response.
///
/// # Errors
/// When it is too long or the connection breaks.
pub(super) async fn read(mut response: Response, max_bytes: usize) -> Result<Output> {
    let status = response.status();
    let content_type = ContentType::of(&response);
    let body = read_body(&mut response, max_bytes).await?;
    if body.is_too_long {
        let message = format!("the answer has more than {max_bytes} bytes, the limit (max_response_bytes)");
        return Err(Error::upstream(message).with("status", status.as_u16()));
    }
    Ok(to_output(status, &content_type, &body.bytes))
}

/// The error of a response with a bad status, its body quoted without `secrets`.
pub(super) async fn read_error(mut response: Response, secrets: &[&str]) -> Error {
    let status = response.status();
    let content_type = ContentType::of(&response);
    let body = read_body(&mut response, MAX_QUOTED_BYTES).await.unwrap_or_default();
    let mut text = match content_type.is_binary(&body.bytes) {
        true => content_type.essence.clone(),
        false => content_type.decode(&body.bytes).trim().to_owned(),
    };
    for secret in secrets {
        text = text.replace(secret, tool::secret::MASK);
    }
    let more = if body.is_too_long { "…" } else { "" };
    let separator = if text.is_empty() { "" } else { ": " };
    let message = format!("the service answered HTTP {}{separator}{text}{more}", title(status));
    Error::upstream(message).with("status", status.as_u16())
}

#[derive(Default)]
struct Body {
    /// At most as many bytes as were asked for.
    bytes: Vec<u8>,
    is_too_long: bool,
}

/// Reads until the end or the limit, whichever comes first; compressed bodies count unpacked.
async fn read_body(response: &mut Response, max_bytes: usize) -> Result<Body> {
    let mut body = Body::default();
    let broken = |error| {
        Error::unavailable("the connection broke while the answer was read").caused_by(error).retryable()
    };
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        let room = max_bytes - body.bytes.len();
        body.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            body.is_too_long = true;
            break;
        }
    }
    Ok(body)
}

fn to_output(status: StatusCode, content_type: &ContentType, bytes: &[u8]) -> Output {
    if bytes.is_empty() {
        return Output::text(&format!("HTTP {}, no content", status.as_u16()));
    }
    if content_type.is_binary(bytes) {
        let kind = if content_type.essence.is_empty() { "unknown type" } else { &content_type.essence };
        return Output::text(&format!("binary answer of {} bytes, {kind}", bytes.len()));
    }
    let text = content_type.decode(bytes);
    let looks_like_json = content_type.is_json() || text.trim_start().starts_with(['{', '[']);
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(raw) if looks_like_json => Output::json(raw.to_owned()),
        _ => Output::text(&text),
    }
}

impl ContentType {
    fn of(response: &Response) -> Self {
        let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut parts = value.unwrap_or_default().split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, label) = part.split_once('=')?;
            name.eq_ignore_ascii_case("charset").then_some(label.trim_matches('"'))
        });
        Self { essence, charset: charset.and_then(|label| Encoding::for_label(label.as_bytes())) }
    }

    fn is_json(&self) -> bool {
        self.essence == "application/json" || self.essence.ends_with("+json")
    }

    fn is_binary(&self, bytes: &[u8]) -> bool {
        const TEXTS: [&str; 8] =
            ["json", "xml", "javascript", "x-www-form-urlencoded", "yaml", "x-yaml", "graphql", "x-ndjson"];
        match self.essence.split_once('/') {
            Some(("text", _)) => false,
            Some((_, subtype)) => {
                let last = subtype.rsplit('+').next().unwrap_or_default();
                !TEXTS.contains(&last)
            }
            None => std::str::from_utf8(bytes).is_err() || bytes.contains(&0),
        }
    }

    /// The text in UTF-8, without a byte order mark; what is broken becomes U+FFFD.
    fn decode<'a>(&self, bytes: &'a [u8]) -> Cow<'a, str> {
        self.charset.unwrap_or(UTF_8).decode(bytes).0
    }
}

fn title(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
