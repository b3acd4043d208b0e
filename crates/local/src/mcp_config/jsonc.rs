//! JSON with comments: read strictly, edited in place, so that comments, order and unknown keys stay.

mod document;
mod repeated;

pub use document::Document;
pub use repeated::{Repeated, repeated};

use jsonc_parser::ParseOptions;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// Where the services may stand, in the order in which they are looked for.
const PLACES: [&[&str]; 8] = [
    &["mcpServers"],
    &["servers"],
    &["mcp", "servers"],
    &["context_servers"],
    &["amp.mcpServers"],
    &["mcp_servers"],
    &["mcp"],
    &["extensions"],
];
/// One of these is in every entry.
const TELLING: [&str; 6] = ["command", "url", "httpUrl", "serverUrl", "cmd", "uri"];

/// Reads a text: JSON, with comments and trailing commas. Nothing at all is an empty object.
pub fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let root: Value = jsonc_parser::parse_to_serde_value(text.trim_start_matches('\u{feff}'), &options())
        .map_err(|error| in_words(&error.to_string()))?;
    match root {
        Value::Object(root) => Ok(root),
        Value::Null => Ok(Map::new()),
        _ => Err("it must be a JSON object".into()),
    }
}

/// What is wrong with a text, for whoever wrote it; the parser says `what on line 1 column 2`.
fn in_words(error: &str) -> String {
    let (what, place) = error.rsplit_once(" on line ").unwrap_or((error, ""));
    let words = match what {
        "Unterminated object" => "an object is not closed; add the missing '}'",
        "Unterminated array" => "a list is not closed; add the missing ']'",
        "Unterminated comment block" => "a comment is not closed; add the missing */",
        "Expected comma" => "a ',' is missing",
        "Unexpected comma" => "there is a ',' too many",
        "Unexpected close brace" => "there is a '}' too many",
        "Unexpected close bracket" => "there is a ']' too many",
        "Expected colon after the string or word in object property" => {
            "a ':' is missing behind the name of a field"
        }
        "Expected value after colon in object property" => "a value is missing behind the ':'",
        "Expected string for object property" => "the name of a field must be in double quotes",
        "Single-quoted strings are not allowed" => "texts must be in double quotes",
        "Unexpected word" => "a text must be in double quotes",
        "Text cannot contain more than one JSON value" => {
            "something follows the end of the JSON; take it away"
        }
        "Maximum nesting depth exceeded" => "it is nested too deep",
        what if what.starts_with("Unterminated string") => "a string is not closed; add the missing '\"'",
        _ => "this cannot be read as JSON",
    };
    let place = place.replace(" column ", ", column ").trim_end_matches('.').to_owned();
    if place.is_empty() { words.to_owned() } else { format!("line {place}: {words}") }
}

/// Whether a text is JSON as machines write it, without anything of a person's.
pub fn is_plain(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a text says nothing at all: editors empty a file before they write it.
pub fn is_blank(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    jsonc_parser::parse_to_serde_value::<Value>(text, &options()).is_ok_and(|value| value.is_null())
}

/// Where the services stand, if there are any. They may be the whole file.
pub fn place_of_services(root: &Map<String, Value>) -> Option<&'static [&'static str]> {
    let is_entry = |value: &Value| TELLING.iter().any(|key| value.get(key).is_some());
    let is_bare = || !root.is_empty() && root.values().all(is_entry);
    PLACES.into_iter().find(|place| at(root, place).is_some()).or_else(|| is_bare().then_some(&[][..]))
}

/// The services at this place. A list is read by the names in it.
pub fn services_at(root: &Map<String, Value>, place: &[&str]) -> Result<Map<String, Value>, String> {
    if place.is_empty() {
        return Ok(root.clone());
    }
    match at(root, place) {
        Some(Value::Object(services)) => Ok(services.clone()),
        Some(Value::Array(items)) if items.iter().all(Value::is_object) && !items.is_empty() => {
            let mut services = Map::new();
            for (at, item) in items.iter().enumerate() {
                let mut name = name_in(item, at);
                if services.contains_key(&name) {
                    name.push_str(&format!("-{}", at + 1));
                }
                services.insert(name, item.clone());
            }
            Ok(services)
        }
        _ => Err(format!("'{}' must be an object", place.join("."))),
    }
}

fn name_in(item: &Value, at: usize) -> String {
    let name = item.get("name").and_then(Value::as_str);
    name.map_or_else(
        || format!("server-{}", at + 1),
        |name| name.split_whitespace().collect::<Vec<_>>().join("-"),
    )
}

/// The value under these keys.
pub fn at<'a>(root: &'a Map<String, Value>, place: &[&str]) -> Option<&'a Value> {
    let (first, rest) = place.split_first()?;
    rest.iter().try_fold(root.get(*first)?, |value, key| value.get(key))
}

fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}
