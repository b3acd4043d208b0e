//! Redaction: what the schema or the name calls a secret never reaches the audit.

use serde_json::Value;
use serde_json::value::RawValue;
use tool::secret::MASK;

/// Names, without case and separators, that mean a secret wherever they end a field's name.
const SECRET_NAMES: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "session",
    "otp",
];

/// The arguments as JSON text with every secret replaced by `***`.
#[must_use]
pub fn redact(arguments: &RawValue, schema: Option<&RawValue>) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(arguments.get()) else {
        return "{\"omitted\":\"unreadable arguments\"}".into();
    };
    let schema = schema.and_then(|schema| serde_json::from_str::<Value>(schema.get()).ok());
    redact_value(&mut value, schema.as_ref());
    value.to_string()
}

fn redact_value(value: &mut Value, schema: Option<&Value>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let of_field = schema.and_then(|schema| schema.get("properties")?.get(name));
                if is_secret_name(name) || of_field.is_some_and(is_secret_schema) {
                    *field = MASK.into();
                } else {
                    redact_value(field, of_field);
                }
            }
        }
        Value::Array(items) => {
            let of_item = schema.and_then(|schema| schema.get("items"));
            for item in items {
                if of_item.is_some_and(is_secret_schema) {
                    *item = MASK.into();
                } else {
                    redact_value(item, of_item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_secret_schema(schema: &Value) -> bool {
    let is_password = schema.get("format").and_then(Value::as_str) == Some("password");
    let is_write_only = schema.get("writeOnly").and_then(Value::as_bool) == Some(true);
    is_password || is_write_only
}

/// Whether a field of this name holds a secret, as far as names tell.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_NAMES.iter().any(|secret| plain.ends_with(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redacted(arguments: &Value, schema: &Value) -> Value {
        let raw = |value: &Value| serde_json::value::to_raw_value(value).unwrap();
        serde_json::from_str(&redact(&raw(arguments), Some(&raw(schema)))).unwrap()
    }

    /// HT-5.6
    #[test]
    fn hides_what_the_schema_or_the_name_calls_secret() {
        let schema = json!({ "properties": {
            "pin": { "type": "string", "format": "password" },
            "note": { "type": "string", "writeOnly": true },
            "codes": { "items": { "format": "password" } },
        } });
        let arguments = json!({
            "pin": "1234", "note": "n", "codes": ["a", "b"], "X-Api-Key": "k", "user": "ada",
            "auth": { "access_token": { "deep": "t" }, "scheme": "x" }, "list": [{ "Password": "p" }], "tokens": 5
        });
        assert_eq!(
            redacted(&arguments, &schema),
            json!({
                "pin": "***", "note": "***", "codes": ["***", "***"], "X-Api-Key": "***", "user": "ada",
                "auth": { "access_token": "***", "scheme": "x" }, "list": [{ "Password": "***" }], "tokens": 5
            })
        );
    }
}
