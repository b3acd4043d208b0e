//! JSON with comments: read strictly, edited in place, so that comments, order and unknown keys stay.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::HashMap;

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

/// A key that an object holds twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    /// The keys that lead to it, and itself.
    pub path: Vec<String>,
    /// Where it stands first, from 1.
    pub first_line: usize,
    /// Where it stands last; what stands there counts.
    pub last_line: usize,
}

/// The keys that stand twice in one object, which a parsed value no longer tells.
pub fn repeated(text: &str) -> Vec<Repeated> {
    let text = text.trim_start_matches('\u{feff}');
    let mut found = Vec::new();
    if let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &options())
        && let Some(root) = parsed.value
    {
        look_for_repeated(text, &root, &mut Vec::new(), &mut found);
    }
    found
}

fn look_for_repeated(text: &str, value: &ast::Value<'_>, path: &mut Vec<String>, found: &mut Vec<Repeated>) {
    match value {
        ast::Value::Object(object) => {
            let mut seen: HashMap<&str, usize> = HashMap::new();
            for property in &object.properties {
                let name = property.name.as_str();
                path.push(name.to_owned());
                if let Some(first) = seen.insert(name, property.range.start) {
                    let (first_line, last_line) = (line(text, first), line(text, property.range.start));
                    found.push(Repeated { path: path.clone(), first_line, last_line });
                }
                look_for_repeated(text, &property.value, path, found);
                path.pop();
            }
        }
        ast::Value::Array(array) => {
            array.elements.iter().for_each(|item| look_for_repeated(text, item, path, found));
        }
        ast::Value::StringLit(_)
        | ast::Value::NumberLit(_)
        | ast::Value::BooleanLit(_)
        | ast::Value::NullKeyword(_) => {}
    }
}

fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// A text under change: what is not changed stays as it was written.
pub struct Document {
    root: CstRootNode,
    object: CstObject,
    services: CstObject,
    expected: Map<String, Value>,
    place: Vec<String>,
}

impl Document {
    /// Opens a text with the services at this place, which is made if it is missing.
    pub fn open(text: &str, place: &[&str]) -> Result<Self, String> {
        let expected = parse(text)?;
        let root = CstRootNode::parse(text.trim_start_matches('\u{feff}'), &options())
            .map_err(|error| in_words(&error.to_string()))?;
        let object = root.object_value_or_create().ok_or("it must be a JSON object")?;
        let mut services = object.clone();
        for key in place {
            services = services
                .object_value_or_create(key)
                .ok_or_else(|| format!("'{}' must be an object", place.join(".")))?;
        }
        let place = place.iter().map(|key| (*key).to_owned()).collect();
        Ok(Self { root, object, services, expected, place })
    }

    /// Puts a service in, in the place of the one with its name or behind the others.
    pub fn set(&mut self, name: &str, value: &Value) {
        put(&self.services, name, value);
        self.expected_services().insert(name.to_owned(), value.clone());
    }

    /// Takes a service out.
    pub fn remove(&mut self, name: &str) {
        if let Some(found) = self.services.get(name) {
            found.remove();
        }
        self.expected_services().shift_remove(name);
    }

    /// Puts a key of the file itself in.
    pub fn set_key(&mut self, key: &str, value: &Value) {
        put(&self.object, key, value);
        self.expected.insert(key.to_owned(), value.clone());
    }

    /// Takes a key of the file itself out.
    pub fn remove_key(&mut self, key: &str) {
        if let Some(found) = self.object.get(key) {
            found.remove();
        }
        self.expected.shift_remove(key);
    }

    /// The changed text, which says what it should: a file with a key twice, for one, cannot be
    /// changed like this.
    pub fn text(mut self) -> Result<String, String> {
        self.expected_services();
        let mut text = self.root.to_string();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if parse(&text)? != self.expected {
            return Err("it cannot be changed in place; look for a key that is there twice".into());
        }
        Ok(text)
    }

    fn expected_services(&mut self) -> &mut Map<String, Value> {
        let mut found = &mut self.expected;
        for key in &self.place {
            let next = found.entry(key.as_str()).or_insert_with(|| Value::Object(Map::new()));
            if !next.is_object() {
                *next = Value::Object(Map::new());
            }
            found = next.as_object_mut().expect("it was made an object above");
        }
        found
    }
}

fn put(object: &CstObject, key: &str, value: &Value) {
    match object.get(key) {
        Some(found) => found.set_value(input(value)),
        None => drop(object.append(key, input(value))),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEXT: &str = "// mine\n{\n  \"inputs\": [], // kept\n  \"mcpServers\": {\n    // the clock\n    \
        \"time\": { \"command\": \"uvx\", \"x\": 1.50 }, /* odd */\n    \"old\": { \"url\": \"https://x\" }\n  }\n}\n";

    #[test]
    fn changes_one_service_and_nothing_else() {
        let mut document = Document::open(TEXT, &["mcpServers"]).unwrap();
        document.set("new", &json!({ "command": "a", "args": ["b"] }));
        document.remove("old");
        let text = document.text().unwrap();
        for kept in ["// mine", "\"inputs\": [], // kept", "// the clock", "\"x\": 1.50 }", "/* odd */"] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        let root = parse(&text).unwrap();
        assert_eq!(root["mcpServers"]["new"], json!({ "command": "a", "args": ["b"] }));
        assert!(root["mcpServers"].get("old").is_none() && root["mcpServers"].get("time").is_some());
    }

    #[test]
    fn finds_keys_that_are_there_twice() {
        let text = "{ // a\n \"x\": [{ \"a\": 1,\n \"a\": 2 }],\n \"m\": { \"s\": {}, \"t\": {} },\n \"m\": {\n \"s\": {} } }";
        let found =
            repeated(text).into_iter().map(|found| (found.path.join("."), found.first_line, found.last_line));
        assert_eq!(found.collect::<Vec<_>>(), [("x.a".to_owned(), 2, 3), ("m".to_owned(), 4, 5)]);
        assert!(repeated(TEXT).is_empty() && repeated("").is_empty());
    }

    #[test]
    fn makes_the_place_that_is_missing() {
        for (text, place) in
            [("", &["mcpServers"][..]), ("{}", &["servers"]), ("{\"a\":1}", &["mcp", "servers"])]
        {
            let mut document = Document::open(text, place).unwrap();
            document.set("a", &json!({ "command": "b" }));
            let root = parse(&document.text().unwrap()).unwrap();
            assert_eq!(at(&root, place).unwrap()["a"]["command"], "b", "{text}");
        }
        assert!(Document::open("[]", &["mcpServers"]).is_err());
        assert!(Document::open(r#"{"mcpServers":7}"#, &["mcpServers"]).is_err());
    }

    #[test]
    fn refuses_what_it_cannot_change_safely() {
        let twice = r#"{"mcpServers":{"a":{"command":"x"}},"mcpServers":{"b":{"command":"y"}}}"#;
        let mut document = Document::open(twice, &["mcpServers"]).unwrap();
        document.set("c", &json!({}));
        assert!(document.text().unwrap_err().contains("twice"));
        assert!(parse(&format!("{{\"a\":{}", "[".repeat(100_000))).is_err());
        assert!(parse("{'a': 1}").is_err() && parse("{a: 1}").is_err());
    }
}
