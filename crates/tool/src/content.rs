//! Content blocks, as MCP has them in JSON.

mod older;

pub use older::without_blocks;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

/// One MCP content block in JSON, opaque to everyone on the way.
#[derive(Debug, Clone)]
pub struct Content(Box<str>);

impl Content {
    /// A block of text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let mut block = String::with_capacity(text.len() + text.len() / 8 + 32);
        block.push_str("{\"type\":\"text\",\"text\":");
        push_json_string(&mut block, text);
        block.push('}');
        Self(block.into())
    }

    /// A picture.
    #[must_use]
    pub fn image(bytes: &[u8], mime_type: &str) -> Self {
        Self::media("image", bytes, mime_type)
    }

    /// A sound.
    #[must_use]
    pub fn audio(bytes: &[u8], mime_type: &str) -> Self {
        Self::media("audio", bytes, mime_type)
    }

    fn media(kind: &str, bytes: &[u8], mime_type: &str) -> Self {
        let (data, mime_type) = (STANDARD.encode(bytes), Value::from(mime_type));
        Self(format!("{{\"type\":\"{kind}\",\"data\":\"{data}\",\"mimeType\":{mime_type}}}").into())
    }

    /// Any other bytes, as a resource with a name of its own.
    #[must_use]
    pub fn blob(bytes: &[u8], mime_type: &str, uri: &str) -> Self {
        let (uri, mime_type, blob) = (Value::from(uri), Value::from(mime_type), STANDARD.encode(bytes));
        let resource = format!("{{\"uri\":{uri},\"mimeType\":{mime_type},\"blob\":\"{blob}\"}}");
        Self(format!("{{\"type\":\"resource\",\"resource\":{resource}}}").into())
    }

    /// A resource that is elsewhere. Clients know such blocks since 2025-06-18.
    #[must_use]
    pub fn link(uri: &str, name: &str, mime_type: &str) -> Self {
        let (uri, name, mime_type) = (Value::from(uri), Value::from(name), Value::from(mime_type));
        Self(
            format!("{{\"type\":\"resource_link\",\"uri\":{uri},\"name\":{name},\"mimeType\":{mime_type}}}")
                .into(),
        )
    }

    /// The same as a text, where it is of one of these types, for clients that do not know such blocks.
    pub(crate) fn without_block(self, unknown: &[&str]) -> Self {
        without_blocks(&self.0, unknown).map_or(self, |text| Self(text.into()))
    }

    /// A block as a service wrote it.
    #[must_use]
    pub fn from_raw(block: Box<RawValue>) -> Self {
        Self(block.into())
    }

    /// The block as JSON.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }
}

/// Adds a text as a JSON string. Answers are often JSON within JSON, where no more than a few bytes stand between
/// two quotes: eight bytes are looked at and copied at once, and those behind the next quote again (decision 21).
fn push_json_string(json: &mut String, text: &str) {
    const STEP: usize = 8;
    let mut bytes = std::mem::take(json).into_bytes();
    bytes.push(b'"');
    let (mut end, mut rest) = (bytes.len(), text.as_bytes());
    bytes.resize(end + text.len() + text.len() / 8 + 2 * STEP, 0);
    while let Some(chunk) = rest.first_chunk::<STEP>() {
        // Room for the chunk, and for one escape.
        if bytes.len() < end + 2 * STEP {
            bytes.resize(bytes.len() * 2, 0);
        }
        bytes[end..end + STEP].copy_from_slice(chunk);
        let plain = plain_bytes(*chunk);
        end += plain;
        if plain < STEP {
            end += write_escape(&mut bytes[end..], chunk[plain]);
        }
        rest = &rest[(plain + 1).min(STEP)..];
    }
    bytes.truncate(end);
    for byte in rest {
        let mut escape = [*byte, 0, 0, 0, 0, 0];
        let length = if ESCAPES[usize::from(*byte)] == 0 { 1 } else { write_escape(&mut escape, *byte) };
        bytes.extend_from_slice(&escape[..length]);
    }
    bytes.push(b'"');
    // Only whole characters were replaced, by whole characters.
    *json = String::from_utf8(bytes).unwrap_or_default();
}

/// How many bytes come before the first one that JSON escapes.
fn plain_bytes(chunk: [u8; 8]) -> usize {
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    let word = u64::from_le_bytes(chunk);
    // The highest bit of a byte is set where that byte is zero, or is less than a space: exact up to the first.
    let zero = |word: u64| word.wrapping_sub(all(1)) & !word;
    let control = word.wrapping_sub(all(b' ')) & !word;
    let found = (zero(word ^ all(b'"')) | zero(word ^ all(b'\\')) | control) & all(0x80);
    found.trailing_zeros() as usize / 8
}

/// Writes what stands for a byte that is escaped, and says how long that is.
fn write_escape(to: &mut [u8], byte: u8) -> usize {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match ESCAPES[usize::from(byte)] {
        b'u' => {
            let (high, low) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
            to[..6].copy_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            6
        }
        letter => {
            to[..2].copy_from_slice(&[b'\\', letter]);
            2
        }
    }
}

/// The letter after the backslash for each byte that needs one.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        escapes[control] = b'u';
        control += 1;
    }
    escapes[0x08] = b'b';
    escapes[b'\t' as usize] = b't';
    escapes[b'\n' as usize] = b'n';
    escapes[0x0c] = b'f';
    escapes[b'\r' as usize] = b'r';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_becomes_a_text_for_older_clients() {
        let link = Content::link("https://a.test/\"x", "a.pdf", "application/pdf");
        let block: Value = serde_json::from_str(link.get()).unwrap();
        assert_eq!(block["uri"], "https://a.test/\"x");
        let block: Value = serde_json::from_str(link.without_block(&["resource_link"]).get()).unwrap();
        assert_eq!((&block["type"], &block["text"]), (&"text".into(), &"a.pdf: https://a.test/\"x".into()));
        assert_eq!(Content::text("x").without_block(&["text"; 0]).get(), Content::text("x").get());
    }

    #[test]
    fn writes_every_character_as_serde_does() {
        let all: String = ('\0'..='\u{2030}').chain(['\u{FFFF}', '🦀']).collect();
        let odd: String = all.chars().flat_map(|c| ['x', c, '"']).collect();
        let controls = "\u{1}".repeat(1000);
        for text in ["", "plain", "seven b", "eight by", "\"\\\"", &all, &odd, &odd[1..], &controls] {
            let expected = format!("{{\"type\":\"text\",\"text\":{}}}", Value::from(text));
            assert_eq!(Content::text(text).get(), expected);
        }
    }
}
