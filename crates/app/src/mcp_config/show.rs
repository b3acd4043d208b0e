//! An mcp.json for other eyes: as a schema, and without its secrets.

use super::McpConfig;
use serde_json::{Map, Value, json};
use tool::Kind;
use tool::secret::MASK;

impl McpConfig {
    /// The services as they are written, with every secret masked. A value that only refers to
    /// a variable is none.
    #[must_use]
    pub fn masked(&self) -> Value {
        let services: Map<String, Value> =
            self.services.iter().map(|(name, entry)| (name.clone(), masked_entry(entry))).collect();
        json!({ "mcpServers": services })
    }
}

fn masked_entry(entry: &Value) -> Value {
    let mut entry = entry.clone();
    for key in ["env", "headers", "auth_config"] {
        for value in entry.get_mut(key).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
            mask(value);
        }
    }
    if let Some(key) = entry.get_mut("api_key") {
        mask(key);
    }
    for key in ["url", "httpUrl", "serverUrl"] {
        if let Some(Value::String(url)) = entry.get_mut(key)
            && let Some(at) = url.find('?')
        {
            url.replace_range(at + 1.., MASK);
        }
    }
    entry
}

/// Masks everything but the references to variables.
fn mask(value: &mut Value) {
    let text = value.as_str().unwrap_or_default();
    let plain = text.strip_prefix("Bearer ").unwrap_or(text);
    let is_reference = plain.starts_with("${") && plain.ends_with('}') && !plain.contains(":-");
    if !is_reference {
        *value = MASK.into();
    }
}

/// The JSON Schema of an mcp.json, made of the settings of the connector behind it.
#[must_use]
pub fn schema(kinds: &[Kind]) -> Value {
    let mut service =
        kinds.iter().find(|kind| kind.scheme == "mcp").map(Kind::settings_schema).unwrap_or_default();
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
            "api_key": "s3cret"
        });
        let shown = masked_entry(&entry);
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        assert_eq!(shown["env"]["REF"], "${KEY}");
        assert_eq!(shown["headers"]["Authorization"], "Bearer ${TOKEN}");
        assert_eq!(shown["url"], "https://x/?***");
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
