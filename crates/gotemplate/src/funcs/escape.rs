//! `html`, `js` and `urlquery`.

use crate::budget::{Budget, Buffer};
use crate::error::Fault;
use crate::format;
use crate::value::Value;

pub(crate) fn html<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    escape(budget, arguments, |buffer, text| {
        text.iter().try_for_each(|byte| match byte {
            0 => buffer.push_char(char::REPLACEMENT_CHARACTER),
            b'"' => buffer.push_str("&#34;"),
            b'\'' => buffer.push_str("&#39;"),
            b'&' => buffer.push_str("&amp;"),
            b'<' => buffer.push_str("&lt;"),
            b'>' => buffer.push_str("&gt;"),
            other => buffer.push_byte(*other),
        })
    })
}

pub(super) fn js<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    escape(budget, arguments, |buffer, text| {
        crate::value::lossy(text).chars().try_for_each(|c| match c {
            '\\' => buffer.push_str("\\\\"),
            '\'' => buffer.push_str("\\'"),
            '"' => buffer.push_str("\\\""),
            '<' | '>' | '&' | '=' | '\0'..='\x1f' => buffer.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ if c.is_ascii() || format::is_printable(c) => buffer.push_char(c),
            _ => buffer.push_str(&format!("\\u{:04X}", u32::from(c))),
        })
    })
}

pub(super) fn urlquery<'a>(budget: &mut Budget<'_>, arguments: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    escape(budget, arguments, |buffer, text| {
        text.iter().try_for_each(|byte| match byte {
            b' ' => buffer.push_str("+"),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => buffer.push_byte(*byte),
            other => buffer.push_str(&format!("%{other:02X}")),
        })
    })
}

/// Prints the arguments next to each other, then escapes the text; nil is what an action prints.
fn escape<'a>(
    budget: &mut Budget<'_>,
    arguments: &[Value<'a>],
    write: fn(&mut Buffer, &[u8]) -> Result<(), Fault>,
) -> Result<Value<'a>, Fault> {
    let shown: Vec<Value<'_>> = arguments
        .iter()
        .map(|argument| match argument {
            Value::Nil => format::no_value(budget.missing()).map(Value::Str),
            other => Ok(other.clone()),
        })
        .collect::<Result<_, _>>()?;
    let mut plain = budget.buffer();
    format::sprint(&mut plain, &shown)?;
    // Going character by character costs more than copying.
    budget.work(plain.as_bytes().len().saturating_mul(6))?;
    let mut escaped = budget.buffer();
    write(&mut escaped, plain.as_bytes())?;
    budget.finish(escaped)
}
