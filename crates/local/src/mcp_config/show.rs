//! An mcp.json for other eyes: as a schema, and without its secrets.

use super::McpConfig;
use super::mask::hide;
use serde_json::{Map, Value, json};
use std::path::Path;
use tool::Kind;
use tool::secret::MASK;

impl McpConfig {
    /// The file as it is, without comments and with every secret masked. A value that only refers
    /// to a variable is none.
    #[must_use]
    pub fn masked(&self) -> Value {
        let services: Map<String, Value> =
            self.services.iter().map(|(name, entry)| (name.clone(), masked_entry(entry))).collect();
        let mut root = Value::Object(self.root.clone());
        hide(&mut root);
        // One by one: a service named 'token' is none.
        let mut found = &mut root;
        for key in self.place() {
            found = &mut found[*key];
        }
        *found = Value::Object(services);
        root
    }
}

/// The settings of each service by its name, in the words of the connector and with secrets masked: what the file says
/// now, as far as it can be read.
#[must_use]
pub fn shown(path: &Path) -> Map<String, Value> {
    let Ok(config) = McpConfig::read(path) else { return Map::new() };
    config.names().map(|name| (name.to_owned(), masked_entry(&config.understood(name)))).collect()
}

/// An entry with its secrets masked.
pub fn masked_entry(entry: &Value) -> Value {
    let mut entry = entry.clone();
    hide(&mut entry);
    entry
}

/// Puts back what is masked in `new` exactly as it is in `shown`, the masked form of `old`.
pub(super) fn unmask(new: &mut Value, old: &Value, shown: &Value) {
    match (new, old, shown) {
        (Value::Object(new), Value::Object(old), Value::Object(shown)) => {
            for (key, value) in new {
                if let (Some(old), Some(shown)) = (old.get(key), shown.get(key)) {
                    unmask(value, old, shown);
                }
            }
        }
        (Value::Array(new), Value::Array(old), Value::Array(shown)) => {
            for ((new, old), shown) in new.iter_mut().zip(old).zip(shown) {
                unmask(new, old, shown);
            }
        }
        (new, old, shown) if new == shown => *new = old.clone(),
        _ => {}
    }
}

/// Where something is masked.
pub(super) fn masks(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(MASK) => found.push(place.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| masks(item, &format!("{place}[{at}]"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, field)| masks(field, &format!("{place}.{key}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The JSON Schema of an mcp.json, made of the settings of the connector behind it.
#[must_use]
pub fn schema(kinds: &[Kind]) -> Value {
    let mut service = kinds
        .iter()
        .find(|kind| kind.scheme == connectors::MCP_SCHEME)
        .map(|kind| kind.settings_schema().clone())
        .unwrap_or_default();
    let definitions = service.as_object_mut().and_then(|service| service.shift_remove("$defs"));
    if let Some(service) = service.as_object_mut() {
        service.shift_remove("$schema");
        // Clients write keys of their own; they are kept and passed over.
        service.insert("additionalProperties".into(), true.into());
        service.insert("title".into(), "Service".into());
        if let Some(Value::Object(properties)) = service.get_mut("properties") {
            let boolean = |text: &str| json!({ "type": "boolean", "description": text });
            properties.insert("disabled".into(), boolean("The service is switched off."));
            properties.insert("enabled".into(), boolean("`false` switches the service off."));
            let text = "A file of NAME=value lines for the environment, beside the mcp.json.";
            properties.insert("envFile".into(), json!({ "type": "string", "description": text }));
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcp.json",
        "description": "MCP servers by name. `servers` and `mcp` are read like `mcpServers`.",
        "type": "object",
        "properties": {
            "mcpServers": {
                "type": "object",
                "propertyNames": { "pattern": "^[^\\s${}]+$" },
                "additionalProperties": { "$ref": "#/$defs/Service" }
            }
        },
        "$defs": with_service(definitions, service)
    })
}

fn with_service(definitions: Option<Value>, service: Value) -> Value {
    let mut definitions = definitions.unwrap_or_else(|| json!({}));
    definitions["Service"] = service;
    definitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_what_may_be_secret_and_shows_the_rest() {
        let entry = json!({
            "command": "npx", "args": ["-y"], "env": { "KEY": "s3cret", "REF": "${KEY}", "DEF": "${KEY:-s3cret}" },
            "headers": { "Authorization": "Bearer ${TOKEN}", "X": "Bearer s3cret" }, "url": "https://x/?key=s3cret",
            "api_key": "s3cret", "oauth": { "clientSecret": "s3cret", "clientId": "me" }
        });
        let shown = masked_entry(&entry);
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        assert_eq!(shown["env"]["REF"], "${KEY}");
        assert_eq!(shown["headers"]["Authorization"], "Bearer ${TOKEN}");
        assert_eq!(shown["url"], "https://x/?***");
        assert_eq!(shown["oauth"]["clientId"], "me");
    }

    #[test]
    fn masks_secrets_among_arguments() {
        let args = json!([
            "-y",
            "pkg",
            "--api-key",
            "s3cret",
            "--token=s3cret",
            "GITHUB_TOKEN=s3cret",
            "--header",
            "Authorization: Bearer s3cret",
            "https://ada:s3cret@x/?k=s3cret",
            "--token",
            "${TOKEN}",
            "--port=80"
        ]);
        let shown = masked_entry(&json!({ "args": args }));
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        let kept = json!([
            "-y",
            "pkg",
            "--api-key",
            "***",
            "--token=***",
            "GITHUB_TOKEN=***",
            "--header",
            "Authorization:***",
            "https://***@x/?***",
            "--token",
            "${TOKEN}",
            "--port=80"
        ]);
        assert_eq!(shown["args"], kept);
    }

    #[test]
    fn the_schema_accepts_what_we_read() {
        let schema = tool::schema::Schema::compile(&schema(connectors::ALL), "setting").unwrap();
        let good = json!({ "mcpServers": {
            "Time": { "command": "uvx", "args": ["mcp-server-time"], "disabled": false, "autoApprove": [] },
            "web": { "type": "http", "url": "https://x/mcp", "headers": { "A": "b" } }
        } });
        assert_eq!(schema.check(&good), []);
        assert!(!schema.accepts(&json!({ "mcpServers": { "bad name": {} } })));
        assert!(!schema.accepts(&json!({ "mcpServers": { "a": { "args": 7 } } })));
    }
}
