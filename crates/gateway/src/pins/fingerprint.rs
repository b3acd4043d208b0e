//! Fingerprints of tool definitions: one for each part, so that a change can be named.

use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use tool::Tool;

/// What a model decides by; icons and the like may change.
const PARTS: [&str; 5] = ["title", "description", "inputSchema", "outputSchema", "annotations"];
/// 128 bits are enough against those who look for a second definition with the same fingerprint.
const BYTES: usize = 16;

/// The fingerprint of a definition as the service wrote it: of each part, separated by dots. The
/// order of keys does not matter, because many servers have none.
pub(super) fn of(tool: &Tool) -> String {
    let parts = PARTS.map(|part| tool.field(part).map_or_else(String::new, of_part));
    parts.join(".")
}

/// The parts in which two fingerprints differ.
pub(super) fn changed_parts(old: &str, new: &str) -> Vec<&'static str> {
    let (mut old, mut new) = (old.split('.'), new.split('.'));
    PARTS.into_iter().filter(|_| old.next() != new.next()).collect()
}

fn of_part(raw: &RawValue) -> String {
    let mut text = String::new();
    match serde_json::from_str::<Value>(raw.get()) {
        Ok(value) => write_sorted(&value, &mut text),
        // Too deep to be read: every byte counts.
        Err(_) => text.push_str(raw.get()),
    }
    let mut hex = String::with_capacity(BYTES * 2);
    for byte in &Sha256::digest(text)[..BYTES] {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// The value with the keys of every object in order.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (key, field) in fields {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_sorted(field, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(definition: &str) -> String {
        of(&Tool::from_raw(&RawValue::from_string(definition.into()).unwrap()).unwrap())
    }

    #[test]
    fn changes_with_what_a_model_reads_and_with_nothing_else() {
        let one = fingerprint(r#"{"name":"a","description":"d","inputSchema":{"type":"object","x":[1,2]}}"#);
        let reordered = fingerprint(
            r#"{"inputSchema":{"x":[1, 2],"type":"object"},"icons":[],"description":"d","name":"a"}"#,
        );
        assert_eq!(one, reordered);
        let words =
            fingerprint(r#"{"name":"a","description":"d\u200b","inputSchema":{"type":"object","x":[1,2]}}"#);
        assert_eq!(changed_parts(&one, &words), ["description"]);
        let schema = fingerprint(
            r#"{"name":"a","description":"d","inputSchema":{"type":"object","x":[2,1]},"title":"t"}"#,
        );
        assert_eq!(changed_parts(&one, &schema), ["title", "inputSchema"]);
        let deep = format!("{{\"type\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        let deep = format!("{{\"name\":\"a\",\"inputSchema\":{deep}}}");
        assert_eq!(fingerprint(&deep), fingerprint(&deep));
    }
}
