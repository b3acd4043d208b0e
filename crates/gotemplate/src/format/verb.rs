//! Formats one value by one `printf` verb.

use super::flags::Flags;
use super::number::{write_float, write_integer, write_uint};
use super::quote::{can_back_quote, quote};
use crate::budget::Buffer;
use crate::error::Fault;
use crate::value::{Value, Width};

pub(super) fn write(buffer: &mut Buffer, flags: &Flags, verb: char, value: &Value<'_>) -> Result<(), Fault> {
    match (verb, value) {
        ('T' | 'v', Value::Nil) => flags.pad(buffer, b"<nil>"),
        ('T', _) => write_text(buffer, flags, value.type_name().as_bytes()),
        (_, Value::Nil) => bad_verb(buffer, flags, verb, value),
        _ => write_at(buffer, flags, verb, value, 0),
    }
}

/// A value inside others at `depth`; nil prints the same by every verb there.
fn write_at(
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    value: &Value<'_>,
    depth: usize,
) -> Result<(), Fault> {
    if depth > buffer.depth {
        return Err(Fault::limit("the depth of a value", buffer.depth));
    }
    match value {
        Value::Nil => buffer.push_str(if flags.source { "interface {}(nil)" } else { "<nil>" }),
        Value::Bool(value) => match verb {
            't' | 'v' => flags.pad(buffer, if *value { b"true" } else { b"false" }),
            _ => bad_verb(buffer, flags, verb, &Value::Bool(*value)),
        },
        Value::Int(int, Width::Byte) => {
            let byte = u64::try_from(*int).unwrap_or(0);
            or_bad(write_uint(buffer, flags, verb, byte)?, buffer, flags, verb, value)
        }
        Value::Int(int, _) => or_bad(write_integer(buffer, flags, verb, *int)?, buffer, flags, verb, value),
        Value::Uint(uint) => or_bad(write_uint(buffer, flags, verb, *uint)?, buffer, flags, verb, value),
        Value::Float(float) => or_bad(write_float(buffer, flags, verb, *float)?, buffer, flags, verb, value),
        Value::Big(digits) => match verb {
            'd' | 'v' => flags.pad_number(buffer, digits),
            _ => bad_verb(buffer, flags, verb, value),
        },
        Value::Str(text) => write_string(buffer, flags, verb, text.as_bytes(), value),
        Value::Text(text) => write_string(buffer, flags, verb, text.as_bytes(), value),
        Value::Bytes(bytes) => write_string(buffer, flags, verb, bytes, value),
        Value::Array(_) | Value::List(_) => write_list(buffer, flags, verb, value, depth),
        Value::Object(_) | Value::Map(_) => write_map(buffer, flags, verb, value, depth),
    }
}

fn write_list(
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    value: &Value<'_>,
    depth: usize,
) -> Result<(), Fault> {
    let (open, between, close) = if flags.source { ("[]interface {}{", ", ", "}") } else { ("[", " ", "]") };
    buffer.push_str(open)?;
    for (at, item) in value.as_list().into_iter().flat_map(|list| list.iter()).enumerate() {
        if at > 0 {
            buffer.push_str(between)?;
        }
        write_at(buffer, flags, verb, &item, depth + 1)?;
    }
    buffer.push_str(close)
}

fn write_map(
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    value: &Value<'_>,
    depth: usize,
) -> Result<(), Fault> {
    let (open, between, close) =
        if flags.source { ("map[string]interface {}{", ", ", "}") } else { ("map[", " ", "]") };
    buffer.push_str(open)?;
    for (at, (key, item)) in value.as_map().into_iter().flat_map(|map| map.sorted()).enumerate() {
        if at > 0 {
            buffer.push_str(between)?;
        }
        write_at(buffer, flags, verb, &Value::from(key), depth + 1)?;
        buffer.push_str(":")?;
        write_at(buffer, flags, verb, &item, depth + 1)?;
    }
    buffer.push_str(close)
}

fn write_string(
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    bytes: &[u8],
    value: &Value<'_>,
) -> Result<(), Fault> {
    match verb {
        'v' if flags.source => {
            flags.pad(buffer, quote(truncate(bytes, flags.precision), flags.plus).as_bytes())
        }
        'v' | 's' => write_text(buffer, flags, bytes),
        'q' => {
            let cut = truncate(bytes, flags.precision);
            match std::str::from_utf8(cut) {
                Ok(text) if flags.sharp && can_back_quote(text) => {
                    flags.pad(buffer, format!("`{text}`").as_bytes())
                }
                _ => flags.pad(buffer, quote(cut, flags.plus).as_bytes()),
            }
        }
        'x' | 'X' => write_hexadecimal(buffer, flags, verb, bytes),
        _ => bad_verb(buffer, flags, verb, value),
    }
}

fn write_text(buffer: &mut Buffer, flags: &Flags, bytes: &[u8]) -> Result<(), Fault> {
    flags.pad(buffer, truncate(bytes, flags.precision))
}

/// The first `precision` characters.
fn truncate(bytes: &[u8], precision: Option<usize>) -> &[u8] {
    let Some(precision) = precision else { return bytes };
    let mut left = precision;
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if left == 0 {
                return &bytes[..at];
            }
            left -= 1;
            at += c.len_utf8();
        }
        for _ in chunk.invalid() {
            if left == 0 {
                return &bytes[..at];
            }
            left -= 1;
            at += 1;
        }
    }
    bytes
}

fn write_hexadecimal(buffer: &mut Buffer, flags: &Flags, verb: char, bytes: &[u8]) -> Result<(), Fault> {
    let bytes = &bytes[..flags.precision.unwrap_or(bytes.len()).min(bytes.len())];
    let prefix = match (flags.sharp && !bytes.is_empty(), verb) {
        (false, _) => "",
        (true, 'X') => "0X",
        (true, _) => "0x",
    };
    let mut text = String::from(prefix);
    for (at, byte) in bytes.iter().enumerate() {
        if flags.space && at > 0 {
            text.push(' ');
            text.push_str(prefix);
        }
        let pair = format!("{byte:02x}");
        text.push_str(&if verb == 'X' { pair.to_uppercase() } else { pair });
    }
    flags.pad(buffer, text.as_bytes())
}

fn or_bad(
    written: bool,
    buffer: &mut Buffer,
    flags: &Flags,
    verb: char,
    value: &Value<'_>,
) -> Result<(), Fault> {
    if written { Ok(()) } else { bad_verb(buffer, flags, verb, value) }
}

/// Go's complaint about a verb that does not suit the value.
fn bad_verb(buffer: &mut Buffer, flags: &Flags, verb: char, value: &Value<'_>) -> Result<(), Fault> {
    buffer.push_str("%!")?;
    buffer.push_char(verb)?;
    buffer.push_str("(")?;
    buffer.push_str(value.type_name())?;
    if !matches!(value, Value::Nil) {
        buffer.push_str("=")?;
        write_at(buffer, flags, 'v', value, 0)?;
    }
    buffer.push_str(")")
}
