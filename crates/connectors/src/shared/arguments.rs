//! Arguments of calls, read by name.

use serde_json::{Map, Value};
use tool::{Error, Result};

/// A text of at most so many characters, on one line.
///
/// # Errors
/// `InvalidInput`, naming the parameter.
pub(crate) fn text<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
    most: usize,
) -> Result<Option<&'a str>> {
    let Some(value) = arguments.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let text = value
        .as_str()
        .filter(|text| (1..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control));
    text.map(Some).ok_or_else(|| wrong(name, &format!("must be a text of 1 to {most} printable characters")))
}

/// One text or a list of them; nothing where it is not given.
///
/// # Errors
/// `InvalidInput`, naming the parameter.
pub(crate) fn texts<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Vec<&'a str>> {
    let none = || wrong(name, "must be a text or a list of texts");
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().ok_or_else(none)).collect::<Result<Vec<_>>>()
        }
        Some(_) => Err(none()),
    }
}

/// Says what is wrong with an argument.
pub(crate) fn wrong(parameter: &str, why: &str) -> Error {
    Error::invalid_input(format!("parameter '{parameter}' {why}")).of_parameter(parameter)
}
