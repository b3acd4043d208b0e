//! Content on its way out: text as it is, other bytes as Base64 and as MCP shows them.

use super::{Encoding, is_text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tool::{Content, Error, Result};

/// Content in an answer.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) content: String,
    pub(crate) encoding: Encoding,
    /// A picture, a sound or an attachment, where it is no text.
    pub(crate) block: Option<Content>,
}

/// Content in an answer, as `wanted` or as fits it best. `uri` names it where it is an attachment.
///
/// # Errors
/// `InvalidInput` when it is wanted as text and is none.
pub(crate) fn show(
    bytes: &[u8],
    content_type: Option<&str>,
    wanted: Option<Encoding>,
    uri: &str,
) -> Result<Shown> {
    let text = std::str::from_utf8(bytes).ok();
    let is_texty = text.is_some_and(|text| is_text(content_type) && !is_full_of_controls(text));
    match (wanted, text) {
        (Some(Encoding::Utf8), None) => {
            let message = "parameter 'encoding' asks for text, and the content is none; leave it out";
            Err(Error::invalid_input(message).of_parameter("encoding"))
        }
        (Some(Encoding::Utf8), Some(text)) => Ok(as_text(text)),
        (None, Some(text)) if is_texty => Ok(as_text(text)),
        (Some(Encoding::Base64), _) if is_texty => {
            Ok(Shown { content: STANDARD.encode(bytes), encoding: Encoding::Base64, block: None })
        }
        (Some(Encoding::Base64) | None, _) => Ok(Shown {
            content: STANDARD.encode(bytes),
            encoding: Encoding::Base64,
            block: Some(block(bytes, content_type.unwrap_or("application/octet-stream"), uri)),
        }),
    }
}

/// Text has hardly any, and JSON takes six bytes for each.
fn is_full_of_controls(text: &str) -> bool {
    let controls = text.bytes().filter(|byte| *byte < b' ' && !b"\n\r\t".contains(byte)).count();
    controls * 20 > text.len()
}

fn as_text(text: &str) -> Shown {
    Shown { content: text.to_owned(), encoding: Encoding::Utf8, block: None }
}

fn block(bytes: &[u8], content_type: &str, uri: &str) -> Content {
    match content_type.split('/').next() {
        Some("image") => Content::image(bytes, content_type),
        Some("audio") => Content::audio(bytes, content_type),
        _ => Content::blob(bytes, content_type, uri),
    }
}
