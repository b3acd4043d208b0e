//! A text under change, of which the rest stays as it was written.

use super::{in_words, options, parse};
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

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

#[cfg(test)]
mod tests {
    use super::super::at;
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
