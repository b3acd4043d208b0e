//! Writes values as JSON: keys sorted, numbers plain, HTML escaped unless told otherwise.

use crate::budget::Buffer;
use crate::error::Fault;
use crate::format;
use crate::format::float;
use crate::value::{Value, lossy};
use std::borrow::Cow;

/// How the text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// One line; `<`, `>` and `&` escaped.
    Compact,
    /// One line; nothing escaped that JSON does not require.
    Raw,
    /// Indented by two spaces; `<`, `>` and `&` escaped.
    Pretty,
}

pub(crate) fn write(buffer: &mut Buffer, style: Style, value: &Value<'_>) -> Result<(), Fault> {
    Writer { buffer, style }.value(value, 0)
}

struct Writer<'b> {
    buffer: &'b mut Buffer,
    style: Style,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Fault> {
        if depth > self.buffer.depth {
            return Err(Fault::limit("the depth of a value", self.buffer.depth));
        }
        match value {
            Value::Nil => self.buffer.push_str("null"),
            Value::Float(float) if !float.is_finite() => {
                Err(Fault::function(format!("JSON cannot hold {}", float::plain(*float))))
            }
            Value::Bool(_) | Value::Int(..) | Value::Uint(_) | Value::Float(_) | Value::Big(_) => {
                format::write(self.buffer, value)
            }
            Value::Str(text) => self.string(text),
            Value::Text(text) => self.string(text),
            Value::Bytes(bytes) => self.string(&lossy(bytes)),
            Value::Array(_) | Value::List(_) => self.list(value, depth),
            Value::Object(_) | Value::Map(_) => self.map(value, depth),
        }
    }

    fn list(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Fault> {
        self.buffer.push_byte(b'[')?;
        for (at, item) in value.as_list().into_iter().flat_map(|list| list.iter()).enumerate() {
            self.separate(at, depth + 1)?;
            self.value(&item, depth + 1)?;
        }
        self.close(value, b']', depth)
    }

    fn map(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Fault> {
        self.buffer.push_byte(b'{')?;
        match value {
            // Sorted already.
            Value::Map(map) => self.entries(&map.entries, depth)?,
            _ => self.entries(&value.as_map().map(|map| map.sorted()).unwrap_or_default(), depth)?,
        }
        self.close(value, b'}', depth)
    }

    fn entries(&mut self, entries: &[(Cow<'_, str>, Value<'_>)], depth: usize) -> Result<(), Fault> {
        for (at, (key, item)) in entries.iter().enumerate() {
            self.separate(at, depth + 1)?;
            self.string(key)?;
            self.buffer.push_byte(b':')?;
            if self.style == Style::Pretty {
                self.buffer.push_byte(b' ')?;
            }
            self.value(item, depth + 1)?;
        }
        Ok(())
    }

    fn separate(&mut self, at: usize, depth: usize) -> Result<(), Fault> {
        if at > 0 {
            self.buffer.push_byte(b',')?;
        }
        self.new_line(depth)
    }

    fn close(&mut self, value: &Value<'_>, bracket: u8, depth: usize) -> Result<(), Fault> {
        if value.is_true() {
            self.new_line(depth)?;
        }
        self.buffer.push_byte(bracket)
    }

    fn new_line(&mut self, depth: usize) -> Result<(), Fault> {
        if self.style != Style::Pretty {
            return Ok(());
        }
        self.buffer.push_str("\n")?;
        self.buffer.push_repeated(b' ', 2 * depth)
    }

    fn string(&mut self, text: &str) -> Result<(), Fault> {
        let mut rest = text;
        let is_special = |byte: u8| MAY_BE_ESCAPED[usize::from(byte)];
        if !rest.bytes().any(is_special) {
            return self.buffer.push_quoted(text);
        }
        self.buffer.push_str("\"")?;
        while let Some(at) = rest.bytes().position(is_special) {
            let (plain, from) = rest.split_at(at);
            self.buffer.push_str(plain)?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                match self.escape(c) {
                    Some(escaped) => self.buffer.push_str(&escaped)?,
                    None => self.buffer.push_char(c)?,
                }
            }
            rest = chars.as_str();
        }
        self.buffer.push_str(rest)?;
        self.buffer.push_str("\"")
    }

    fn escape(&self, c: char) -> Option<String> {
        Some(match c {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            '\x08' => "\\b".to_owned(),
            '\x0c' => "\\f".to_owned(),
            '<' | '>' | '&' if self.style != Style::Raw => format!("\\u{:04x}", u32::from(c)),
            '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => format!("\\u{:04x}", u32::from(c)),
            _ => return None,
        })
    }
}

/// The bytes with which characters begin that may have to be escaped: 0xE2 for U+2028 and U+2029.
const MAY_BE_ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8, 0..0x20 | b'"' | b'\\' | b'<' | b'>' | b'&' | 0xE2);
        byte += 1;
    }
    table
};
