//! From a response to an answer: JSON stays as it came, text is decoded, bytes become pictures,
//! sounds and attachments, errors carry their status.

use super::error_template::{ErrorTemplate, to_json};
use super::form::ESCAPED;
use encoding_rs::{Encoding, UTF_8};
use fetch::Response;
use fetch::http::StatusCode;
use fetch::http::header::{CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use serde_json::value::to_raw_value;
use std::borrow::Cow;
use tool::depth::{MAX_DEPTH, is_too_deep};
use tool::secret::Redactor;
use tool::{Content, Error, Output, Result};

/// How much of an error's body its message quotes.
const MAX_QUOTED_BYTES: usize = 4 * 1024;
/// How much of it an error template sees, as half a JSON document is of no use to one.
const MAX_TEMPLATE_BYTES: usize = 256 * 1024;

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
pub(crate) async fn read(mut response: Response, max_bytes: usize) -> Result<Output> {
    let status = response.status();
    let content_type = ContentType::of(response.headers());
    let filename = filename(response.headers());
    let body = read_body(&mut response, max_bytes).await?;
    // Nothing is nothing, however it is packed.
    if let Some(encoding) = unknown_encoding(response.headers()).filter(|_| !body.bytes.is_empty()) {
        let message =
            format!("the answer is compressed with '{encoding}', which we did not ask for and cannot read");
        return Err(Error::upstream(message).with_status(status.as_u16()));
    }
    if body.is_too_long {
        let message = format!("the answer has more than {max_bytes} bytes, the limit (max_response_bytes)");
        return Err(Error::upstream(message).with_status(status.as_u16()));
    }
    let output = to_output(status, &content_type, &filename, &body.bytes);
    output.map_err(|error| error.with_status(status.as_u16()))
}

/// How the body is packed, where that could not be undone.
fn unknown_encoding(headers: &HeaderMap) -> Option<String> {
    let encodings = headers.get_all(CONTENT_ENCODING).iter();
    let mut unknown =
        encodings.filter(|value| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"));
    unknown.next().map(|encoding| String::from_utf8_lossy(encoding.as_bytes()).into_owned())
}

/// The answer to a HEAD request, which says all it has to say in its headers.
pub(crate) fn read_head(response: &Response) -> Output {
    let answer =
        serde_json::json!({ "status": response.status().as_u16(), "headers": to_json(response.headers()) });
    Output::json(to_raw_value(&answer).unwrap_or_default())
}

/// The error of a response with a bad status, in the words of the template or with its body
/// quoted, and the body as text; both without `secrets`.
pub(crate) async fn read_error(
    mut response: Response,
    template: Option<&ErrorTemplate>,
    secrets: &Redactor<'_>,
) -> (Error, String) {
    let status = response.status();
    let content_type = ContentType::of(response.headers());
    let max_bytes = if template.is_some() { MAX_TEMPLATE_BYTES } else { MAX_QUOTED_BYTES };
    let body = read_body(&mut response, max_bytes).await.unwrap_or_default();
    let text = match content_type.is_binary(&body.bytes) {
        true => content_type.essence.clone(),
        false => content_type.decode(&body.bytes).trim().to_owned(),
    };
    // Before it is quoted, so that nothing is left of a secret that the end of the quote cuts.
    let text = if body.is_too_long { secrets.apply_to_cut(&text) } else { secrets.apply(&text) };
    let message = match template.map(|template| template.render(status, response.headers(), &text)) {
        None => quote(status, &text, body.is_too_long),
        Some(Ok(rendered)) => rendered,
        Some(Err(error)) => {
            tracing::warn!(%error, "an error template failed: {error}");
            format!("{}\nThe error template failed: {error}", quote(status, &text, body.is_too_long))
        }
    };
    // A template also sees the headers.
    let message = secrets.apply(&message);
    (Error::upstream(message).with_status(status.as_u16()), text)
}

fn quote(status: StatusCode, text: &str, is_cut: bool) -> String {
    let mut end = text.len().min(MAX_QUOTED_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let more = if is_cut || end < text.len() { "…" } else { "" };
    let separator = if text.is_empty() { "" } else { ": " };
    format!("the service answered HTTP {}{separator}{}{more}", title(status), &text[..end])
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
    let broken = |error: fetch::Error| match error.is_encoding() {
        // It would be no better the next time.
        true => Error::upstream(
            "the answer cannot be decompressed: it is not in the encoding that its header names",
        )
        .caused_by(error),
        false if error.is_malformed() => Error::upstream(format!(
            "the service's answer cannot be used: {}",
            error.advice().unwrap_or_default()
        ))
        .caused_by(error),
        false => {
            let message = "the connection broke while the answer was read";
            Error::unavailable(message).caused_by(error).retryable().in_doubt()
        }
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

fn to_output(status: StatusCode, content_type: &ContentType, filename: &str, bytes: &[u8]) -> Result<Output> {
    if bytes.is_empty() {
        return Ok(Output::notice(&format!("HTTP {}, no content", status.as_u16())));
    }
    if content_type.is_binary(bytes) {
        return Ok(Output::blocks(vec![content_type.to_block(filename, bytes)]));
    }
    let text = content_type.decode(bytes);
    let looks_like_json = content_type.is_json() || text.trim_start().starts_with(['{', '[']);
    if !looks_like_json {
        return Ok(Output::text(&text));
    }
    if is_too_deep(&text) {
        let message = format!("the answer is nested more than {MAX_DEPTH} levels deep, and not passed on");
        return Err(Error::upstream(message));
    }
    Ok(Output::unparsed(text))
}

impl ContentType {
    fn of(headers: &HeaderMap) -> Self {
        let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
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

    /// Bytes as MCP has them: pictures and sounds as such, everything else as an attachment.
    fn to_block(&self, filename: &str, bytes: &[u8]) -> Content {
        let mime_type = if self.essence.is_empty() { "application/octet-stream" } else { &self.essence };
        match mime_type.split('/').next() {
            Some("image") => Content::image(bytes, mime_type),
            Some("audio") => Content::audio(bytes, mime_type),
            _ => {
                let uri = format!("attachment:{}", utf8_percent_encode(filename, ESCAPED));
                Content::blob(bytes, mime_type, &uri)
            }
        }
    }

    /// The text in UTF-8, without a byte order mark; what is broken becomes U+FFFD.
    fn decode<'a>(&self, bytes: &'a [u8]) -> Cow<'a, str> {
        let is_xml = self.essence.ends_with("/xml") || self.essence.ends_with("+xml");
        let declared = || is_xml.then(|| declared_in_xml(bytes)).flatten();
        self.charset.or_else(declared).unwrap_or(UTF_8).decode(bytes).0
    }
}

/// The encoding that `<?xml version="1.0" encoding="…"?>` names.
fn declared_in_xml(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let declaration = head.strip_prefix("<?xml")?.split("?>").next()?;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let label = value.get(1..)?.split(['"', '\'']).next()?;
    Encoding::for_label(label.as_bytes())
}

/// What the server calls the file, without the way to it.
fn filename(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_DISPOSITION).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let value = value.unwrap_or_default();
    let parameter = |name: &str| {
        let mut parts = value.split(';').map(str::trim);
        parts.find_map(|part| part.split_once('=').filter(|(key, _)| key.eq_ignore_ascii_case(name)))
    };
    let extended = parameter("filename*").and_then(|(_, text)| text.splitn(3, '\'').nth(2));
    let extended = extended.map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
    let plain = || parameter("filename").map(|(_, text)| text.trim_matches('"').to_owned());
    let name = extended.or_else(plain).unwrap_or_default();
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
    if clean.is_empty() { "answer".to_owned() } else { clean }
}

fn title(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
