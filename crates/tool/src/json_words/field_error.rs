//! Why JSON does not fit what is to be read from it.

use document::did_you_mean;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Names listed at the most, where none is near.
const MAX_LISTED: usize = 12;

/// What does not fit: the path of the field, a word for programs, and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field it is about.
    pub path: String,
    /// `Required`, `Unknown`, `NotAllowed` or `Invalid`.
    pub code: &'static str,
    /// What to do about it. The value, which may be a secret, is not in it.
    pub message: String,
}

/// Reads a value, or says what of it does not fit.
///
/// # Errors
/// The first field that does not fit.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| field_error(&error.path().to_string(), &error.inner().to_string()))
}

/// The same for a value of a query string, which is text before it is anything else.
#[must_use]
pub fn query_field_error(field: &str, message: &str) -> FieldError {
    let subject = if field.is_empty() { "a value".to_owned() } else { format!("'{field}'") };
    let with = |message: String| FieldError { path: field.to_owned(), code: "Invalid", message };
    if ["digit", "integer", "number too"].iter().any(|word| message.contains(word)) {
        return with(format!("{subject} must be a whole number that is not too large"));
    }
    if message.contains("`true` or `false`") {
        return with(format!("{subject} must be true or false"));
    }
    field_error(field, message)
}

/// Why JSON does not fit what is to be read from it. `message` is what was said about the value at `path`.
#[must_use]
pub fn field_error(path: &str, message: &str) -> FieldError {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let path = if path == "." { "" } else { path };
    let subject = if path.is_empty() { "the body".to_owned() } else { format!("'{path}'") };
    let with = |path: &str, code, message: String| FieldError { path: path.to_owned(), code, message };
    let named =
        |prefix: &str| message.strip_prefix(prefix)?.split_once('`').map(|(name, rest)| (name, quoted(rest)));
    if let Some((name, _)) = named("missing field `") {
        let path = join(path, name);
        return with(&path, "Required", format!("'{path}' is missing; add it"));
    }
    if let Some((name, known)) = named("unknown field `") {
        let name: String = name.chars().take(100).collect();
        let path = if path.ends_with(name.as_str()) { path.to_owned() } else { join(path, &name) };
        return with(&path, "Unknown", format!("there is no field '{path}'{}", instead(&name, &known)));
    }
    if let Some((name, known)) = named("unknown variant `") {
        let meant = did_you_mean(name, known.iter().copied());
        return with(path, "NotAllowed", format!("{subject} must be one of {}{meant}", known.join(", ")));
    }
    if let Some((name, _)) = named("duplicate field `") {
        let path = join(path, name);
        return with(&path, "Invalid", format!("'{path}' is given twice; give it once"));
    }
    // The text around it is JSON, which does not look at what an escape stands for.
    if message.contains("surrogate") || message.contains("hex escape") {
        let why = "has half of a character: a \\u escape from D800 to DFFF stands alone";
        return with(path, "Invalid", format!("{subject} {why}"));
    }
    if message.starts_with("data did not match any variant") {
        return with(
            path,
            "Invalid",
            format!("{subject} has none of the forms it may have; see the documentation of this field"),
        );
    }
    if message.starts_with("invalid length") && message.contains("struct ") {
        return with(path, "Invalid", format!("{subject} must be an object, not an array"));
    }
    if message.starts_with("invalid length") {
        return with(path, "Invalid", format!("{subject} has not as many items as it must have"));
    }
    with(path, "Invalid", of_types(&subject, message))
}

fn of_types(subject: &str, message: &str) -> String {
    let parts = |kind| message.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, expected)) = parts("invalid value: ") {
        return match found.strip_prefix("integer ") {
            Some(number) => format!("{subject} is out of range: {}", number.replace('`', "")),
            None => format!("{subject} must be {expected}"),
        };
    }
    let Some((found, expected)) = parts("invalid type: ") else { return message.to_owned() };
    let found = match found.split_whitespace().next().unwrap_or_default() {
        "integer" | "floating" => "a number",
        "boolean" => "a boolean",
        "string" | "character" => "a string",
        "sequence" => "an array",
        "map" => "an object",
        "null" | "unit" => "null",
        _ => "what it is",
    };
    let expected = match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" => "an integer",
        "f32" | "f64" => "a number",
        "a map" => "an object",
        "a sequence" => "an array",
        other if other.starts_with("struct ") || other.starts_with("internally tagged") => "an object",
        other => other,
    };
    format!("{subject} must be {expected}, not {found}")
}

/// What to write instead of a name that is not known.
fn instead(name: &str, known: &[&str]) -> String {
    let meant = did_you_mean(name, known.iter().copied());
    match known.len() {
        _ if !meant.is_empty() => meant,
        1..=MAX_LISTED => format!("; there are {}", known.join(", ")),
        _ => "; leave it out".to_owned(),
    }
}

/// The names between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_does_not_fit_in_the_callers_words() {
        for (path, message, expected) in [
            (".", "missing field `name` at line 1 column 2", ("name", "'name' is missing; add it")),
            ("tools[0]", "missing field `id`", ("tools[0].id", "'tools[0].id' is missing; add it")),
            (
                "nmae",
                "unknown field `nmae`, expected one of `name`, `type`",
                ("nmae", "there is no field 'nmae'; did you mean 'name'?"),
            ),
            (
                ".",
                "unknown field `colour`, expected `name` or `type`",
                ("colour", "there is no field 'colour'; there are name, type"),
            ),
            (
                "role",
                "unknown variant `manger`, expected one of `admin`, `manager`",
                ("role", "'role' must be one of admin, manager; did you mean 'manager'?"),
            ),
            (
                "a",
                "invalid type: string \"hunter2\", expected u32",
                ("a", "'a' must be an integer, not a string"),
            ),
        ] {
            let found = field_error(path, message);
            assert_eq!((found.path.as_str(), found.message.as_str()), expected);
        }
    }
}
