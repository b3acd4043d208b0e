//! What a call of `call_tool` means: a tool and its arguments, however models write that.

use crate::define::CALL_TOOL;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool::{Arguments, Error, Fields, Result};

/// The call that is meant.
#[derive(Debug)]
pub struct ThroughCallTool {
    /// The tool.
    pub name: String,
    /// Its arguments, as they were written.
    pub arguments: Arguments,
}

/// The tool that is meant, and nothing else: for those who need not know with what it is called.
#[must_use]
pub fn named_by_call_tool(arguments: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(arguments.get())
        .ok()
        .map(|named| named.name)
        .filter(|name| !name.is_empty())
}

/// Reads the arguments of `call_tool`. Those of the tool may stand in a JSON string, or beside its name.
///
/// # Errors
/// `InvalidInput` with the right call written out.
pub fn meant_by_call_tool(arguments: &Arguments) -> Result<ThroughCallTool> {
    let raw = arguments.to_raw();
    let Ok(mut fields) = serde_json::from_str::<Fields<'_>>(raw.get()) else {
        return Err(wrong(&Fields::default(), "its arguments cannot be read"));
    };
    if let Some(twice) = fields.twice() {
        return Err(wrong(&fields, &format!("'{twice}' is given twice")).of_parameter(twice));
    }
    let name = fields.get("name").and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(wrong(&fields, "'name' must be the name of a tool").of_parameter("name"));
    };
    let given = fields.get("arguments").filter(|given| given.get() != "null");
    let Some(given) = given else {
        fields.0.retain(|(key, _)| key != "name" && key != "arguments");
        return Ok(ThroughCallTool { name, arguments: object(&fields)? });
    };
    if let Some((key, _)) = fields.0.iter().find(|(key, _)| key != "name" && key != "arguments") {
        return Err(wrong(&fields, &format!("'{key}' belongs into 'arguments'")).of_parameter(key.as_ref()));
    }
    match read(given) {
        Some(arguments) => Ok(ThroughCallTool { name, arguments }),
        None => Err(wrong(&fields, "'arguments' must be an object").of_parameter("arguments")),
    }
}

/// An object, or one that is written in a string.
fn read(given: &RawValue) -> Option<Arguments> {
    let Ok(text) = serde_json::from_str::<String>(given.get()) else {
        return Arguments::from_raw(given.to_owned()).ok();
    };
    match text.trim() {
        "" => Some(Arguments::default()),
        text => Arguments::from_raw(RawValue::from_string(text.to_owned()).ok()?).ok(),
    }
}

fn object(fields: &Fields<'_>) -> Result<Arguments> {
    let field = |(key, value): &(std::borrow::Cow<'_, str>, &RawValue)| {
        format!("{}:{}", Value::from(key.as_ref()), value.get())
    };
    let text = format!("{{{}}}", fields.0.iter().map(field).collect::<Vec<_>>().join(","));
    let raw = RawValue::from_string(text);
    Arguments::from_raw(raw.map_err(|error| Error::internal("arguments cannot be written").caused_by(error))?)
}

/// The refusal, with the call that was probably meant.
fn wrong(fields: &Fields<'_>, why: &str) -> Error {
    /// More of what was written is not repeated.
    const MAX_BYTES: usize = 500;
    let first = |keys: &[&str]| keys.iter().find_map(|key| fields.get(key));
    let name = first(&["name", "tool", "tool_name", "toolName", "function"]);
    let name = name
        .and_then(|name| serde_json::from_str::<String>(name.get()).ok())
        .filter(|name| name.len() <= 128);
    let arguments = first(&["arguments", "args", "parameters", "params", "input"]);
    let arguments =
        arguments.map(RawValue::get).filter(|text| text.starts_with('{') && text.len() <= MAX_BYTES);
    let name = json!(name.as_deref().unwrap_or("NAME_OF_THE_TOOL"));
    let arguments = arguments.unwrap_or("{}");
    Error::invalid_input(format!(
        "{why}; write {CALL_TOOL} {{\"name\":{name},\"arguments\":{arguments}}} with what the tool's inputSchema wants"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(text: &str) -> Result<(String, String)> {
        let arguments = Arguments::from_raw(RawValue::from_string(text.to_owned()).unwrap())?;
        meant_by_call_tool(&arguments).map(|call| (call.name, call.arguments.to_raw().get().to_owned()))
    }

    #[test]
    fn takes_arguments_however_models_write_them() {
        let expected = ("t".to_owned(), r#"{"a":1e2}"#.to_owned());
        for text in [
            r#"{"name":"t","arguments":{"a":1e2}}"#,
            r#"{"name":"t","arguments":"{\"a\":1e2}"}"#,
            r#"{"name":"t","a":1e2}"#,
            r#"{"a":1e2,"arguments":null,"name":"t"}"#,
        ] {
            assert_eq!(meant(text).unwrap(), expected, "{text}");
        }
        for text in [r#"{"name":"t"}"#, r#"{"name":"t","arguments":{}}"#, r#"{"name":"t","arguments":" "}"#] {
            assert_eq!(meant(text).unwrap().1, "{}", "{text}");
        }
    }

    #[test]
    fn writes_the_right_call_out() {
        for (text, right) in [
            ("{}", r#"call_tool {"name":"NAME_OF_THE_TOOL","arguments":{}}"#),
            (r#"{"tool":"t","args":{"a":1}}"#, r#"call_tool {"name":"t","arguments":{"a":1}}"#),
            (r#"{"name":"t","arguments":[1]}"#, r#"call_tool {"name":"t","arguments":{}}"#),
            (r#"{"name":"t","arguments":"[1]"}"#, r#"call_tool {"name":"t","arguments":{}}"#),
            (r#"{"name":"t","arguments":"{oops"}"#, r#"call_tool {"name":"t","arguments":{}}"#),
            (r#"{"name":7}"#, "'name' must be the name of a tool"),
            (r#"{"name":"t","name":"u","arguments":{}}"#, "'name' is given twice; write call_tool"),
            (r#"{"name":"t","arguments":{"a":1},"arguments":{"a":2}}"#, "'arguments' is given twice"),
            (r#"{"name":"t","arguments":{},"b":1}"#, "'b' belongs into 'arguments'"),
        ] {
            let error = meant(text).unwrap_err();
            assert!(error.message().contains(right), "{text}: {error}");
        }
    }
}
