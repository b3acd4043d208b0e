//! Writes values the way Go prints them, numbers without Go's JSON surprises.

mod flags;
pub(crate) mod float;
mod number;
mod printf;
mod quote;
mod verb;

pub(crate) use self::printf::printf;
pub(crate) use self::quote::{is_printable, quote};

use serde_json::Value as Json;

use crate::budget::Buffer;
use crate::error::{ErrorKind, Fault};
use crate::options::Missing;
use crate::value::Value;

/// What an action prints; nil is shown as the options say.
#[inline]
pub(crate) fn print(buffer: &mut Buffer, value: &Value<'_>, missing: Missing) -> Result<(), Fault> {
    match value {
        Value::Nil => buffer.push_str(no_value(missing)?),
        _ => write(buffer, value),
    }
}

/// [`print()`] straight from the data.
#[inline]
pub(crate) fn print_json(buffer: &mut Buffer, json: &Json, missing: Missing) -> Result<(), Fault> {
    match json {
        Json::String(text) => buffer.push_str(text),
        _ => print(buffer, &Value::from_json(json), missing),
    }
}

/// The words for an absent value, where there may be some.
pub(crate) fn no_value(missing: Missing) -> Result<&'static str, Fault> {
    match missing {
        Missing::NoValue | Missing::Error => Ok("<no value>"),
        Missing::Empty => Ok(""),
        Missing::Strict => Err(Fault::new(ErrorKind::Missing, "the value is null")),
    }
}

/// A value in its default form, Go's `%v`.
#[inline]
pub(crate) fn write(buffer: &mut Buffer, value: &Value<'_>) -> Result<(), Fault> {
    match value {
        Value::Str(text) => buffer.push_str(text),
        Value::Int(int, _) => buffer.push_str(itoa::Buffer::new().format(*int)),
        Value::Float(float) => float::write_plain(buffer, *float),
        _ => write_deep(buffer, value, 0),
    }
}

fn write_deep(buffer: &mut Buffer, value: &Value<'_>, depth: usize) -> Result<(), Fault> {
    if depth > buffer.depth {
        return Err(Fault::limit("the depth of a value", buffer.depth));
    }
    match value {
        Value::Nil => buffer.push_str("<nil>"),
        Value::Bool(true) => buffer.push_str("true"),
        Value::Bool(false) => buffer.push_str("false"),
        Value::Int(int, _) => buffer.push_str(itoa::Buffer::new().format(*int)),
        Value::Uint(uint) => buffer.push_str(itoa::Buffer::new().format(*uint)),
        Value::Float(float) => float::write_plain(buffer, *float),
        Value::Big(digits) => buffer.push_str(digits),
        Value::Str(text) => buffer.push_str(text),
        Value::Text(text) => buffer.push_str(text),
        Value::Bytes(bytes) => buffer.push(bytes),
        Value::Array(_) | Value::List(_) => {
            buffer.push_str("[")?;
            for (at, item) in value.as_list().into_iter().flat_map(|list| list.iter()).enumerate() {
                if at > 0 {
                    buffer.push_str(" ")?;
                }
                write_deep(buffer, &item, depth + 1)?;
            }
            buffer.push_str("]")
        }
        Value::Object(_) | Value::Map(_) => {
            buffer.push_str("map[")?;
            for (at, (key, item)) in value.as_map().into_iter().flat_map(|map| map.sorted()).enumerate() {
                if at > 0 {
                    buffer.push_str(" ")?;
                }
                buffer.push_str(&key)?;
                buffer.push_str(":")?;
                write_deep(buffer, &item, depth + 1)?;
            }
            buffer.push_str("]")
        }
    }
}

/// Go's `Sprint`: a space between two values when neither is a string.
pub(crate) fn sprint(buffer: &mut Buffer, values: &[Value<'_>]) -> Result<(), Fault> {
    let mut after_string = true;
    for value in values {
        let is_string = value.is_string();
        if !after_string && !is_string {
            buffer.push_str(" ")?;
        }
        write(buffer, value)?;
        after_string = is_string;
    }
    Ok(())
}

/// Go's `Sprintln`: a space between all values and a newline at the end.
pub(crate) fn sprintln(buffer: &mut Buffer, values: &[Value<'_>]) -> Result<(), Fault> {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            buffer.push_str(" ")?;
        }
        write(buffer, value)?;
    }
    buffer.push_str("\n")
}
