//! Redaction: what the schema or the name calls a secret never reaches the audit.

use super::address::masked;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use tool::readable;
use tool::secret::names::is_secret_name;
use tool::secret::{MASK, PHONE, Redactor, SecretValues, masked_number};

/// The arguments as JSON text with every secret replaced by `***`.
#[must_use]
pub fn redact(arguments: &RawValue) -> String {
    Redaction::default().apply(arguments)
}

/// Which fields of a tool's arguments are secret, read from its schema once.
#[derive(Debug, Default)]
pub(crate) struct Redaction {
    hiding: Hiding,
    /// Of an object; those with nothing secret below are left out.
    fields: Vec<(String, Redaction)>,
    /// The names of all that an object was described with.
    described: Vec<String>,
    /// Of an array.
    items: Option<Box<Redaction>>,
}

/// How much of a value is hidden.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Hiding {
    #[default]
    Nothing,
    /// Everything here is secret.
    All,
    /// Here are telephone numbers, one or several, of which the middle is hidden.
    Numbers,
}

impl Redaction {
    /// What the schema says; one that cannot be read says nothing.
    pub(crate) fn of_schema(schema: &RawValue) -> Self {
        serde_json::from_str(&readable(schema.get()))
            .map(|schema| Self::of_value(&schema))
            .unwrap_or_default()
    }

    fn of_value(schema: &Value) -> Self {
        let properties = || schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let fields = properties().map(|(name, field)| (name.clone(), Self::of_value(field)));
        let items = schema.get("items").map(Self::of_value).filter(|items| !items.is_empty());
        Self {
            hiding: hiding_of(schema),
            fields: fields.filter(|(_, field)| !field.is_empty()).collect(),
            described: properties().map(|(name, _)| name.clone()).collect(),
            items: items.map(Box::new),
        }
    }

    fn is_empty(&self) -> bool {
        self.hiding == Hiding::Nothing && self.fields.is_empty() && self.items.is_none()
    }

    fn field(&self, name: &str) -> Option<&Self> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, field)| field)
    }

    /// The arguments as JSON text with every secret replaced by `***`.
    pub(crate) fn apply(&self, arguments: &RawValue) -> String {
        self.take_out(arguments).0
    }

    /// The same, and what was replaced.
    pub(crate) fn take_out(&self, arguments: &RawValue) -> (String, Vec<Value>) {
        // Most calls carry no secret: looking costs far less than writing anew.
        let mut deserializer = serde_json::Deserializer::from_str(arguments.get());
        match (SecretDetector { redaction: Some(self) }).deserialize(&mut deserializer) {
            Ok(false) => (arguments.get().to_owned(), Vec::new()),
            Ok(true) | Err(_) => {
                let Ok(mut value) = serde_json::from_str::<Value>(arguments.get()) else {
                    return ("{\"omitted\":\"unreadable arguments\"}".into(), Vec::new());
                };
                let mut hidden = Vec::new();
                redact_value(&mut value, Some(self), &mut hidden);
                (value.to_string(), hidden)
            }
        }
    }
}

/// The arguments as they are kept, unless there were too many bytes of them, and all that may stand in no text about the
/// call.
pub(super) fn kept(
    arguments: Result<&RawValue, usize>,
    tool: Option<&Redaction>,
    is_private: bool,
    secrets: &SecretValues,
) -> (String, Vec<Value>) {
    let (text, mut hidden) = match arguments {
        Ok(raw) if is_private => take_out_undescribed(tool, raw),
        Ok(raw) => tool.unwrap_or(&Redaction::default()).take_out(raw),
        Err(size) => (format!("{{\"omitted\":\"{size} bytes of arguments\"}}"), Vec::new()),
    };
    hidden.extend(secrets.expose().iter().map(|secret| secret.as_str().into()));
    (without(secrets, text), hidden)
}

/// The arguments of an ask in a conversation without what is said there: it is sealed where it is kept. Nothing for any other.
pub(super) fn without_conversation(arguments: &RawValue) -> Option<Box<RawValue>> {
    let mut fields: Map<String, Value> = serde_json::from_str(arguments.get()).ok()?;
    fields.get("conversation").filter(|conversation| !conversation.is_null())?;
    for said in ["prompt", "context"] {
        if let Some(said) = fields.get_mut(said).filter(|said| !said.is_null()) {
            *said = MASK.into();
        }
    }
    RawValue::from_string(Value::Object(fields).to_string()).ok()
}

/// The arguments without all that the tool's schema does not describe, which is everything where there is no tool, and what
/// was replaced.
fn take_out_undescribed(tool: Option<&Redaction>, arguments: &RawValue) -> (String, Vec<Value>) {
    let mut hidden = Vec::new();
    let Ok(Value::Object(mut fields)) = serde_json::from_str(arguments.get()) else {
        return ("{\"omitted\":\"unreadable arguments\"}".into(), hidden);
    };
    for (name, field) in &mut fields {
        if !tool.is_some_and(|tool| tool.described.contains(name)) {
            hidden.push(std::mem::replace(field, MASK.into()));
        }
    }
    let mut rest = Value::Object(fields);
    redact_value(&mut rest, tool, &mut hidden);
    (rest.to_string(), hidden)
}

/// Says whether there is anything to hide, without keeping what it reads.
struct SecretDetector<'a> {
    redaction: Option<&'a Redaction>,
}

impl<'de> DeserializeSeed<'de> for SecretDetector<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for SecretDetector<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut is_found = false;
        while let Some(Key(name)) = map.next_key()? {
            let redaction = self.redaction.and_then(|redaction| redaction.field(&name));
            is_found |= is_secret_name(&name) || hides(redaction);
            is_found |= map.next_value_seed(SecretDetector { redaction })?;
        }
        Ok(is_found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let redaction = self.redaction.and_then(|redaction| redaction.items.as_deref());
        let mut is_found = false;
        while let Some(found) = list.next_element_seed(SecretDetector { redaction })? {
            is_found |= found || hides(redaction);
        }
        Ok(is_found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(masked(text).is_some())
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

fn redact_value(value: &mut Value, redaction: Option<&Redaction>, hidden: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let of_field = redaction.and_then(|redaction| redaction.field(name));
                match of_field.map_or(Hiding::Nothing, |redaction| redaction.hiding) {
                    _ if is_secret_name(name) => hidden.push(std::mem::replace(field, MASK.into())),
                    Hiding::All => hidden.push(std::mem::replace(field, MASK.into())),
                    Hiding::Numbers => mask_numbers(field, hidden),
                    Hiding::Nothing => redact_value(field, of_field, hidden),
                }
            }
        }
        Value::Array(items) => {
            let of_item = redaction.and_then(|redaction| redaction.items.as_deref());
            for item in items {
                match of_item.map_or(Hiding::Nothing, |redaction| redaction.hiding) {
                    Hiding::All => hidden.push(std::mem::replace(item, MASK.into())),
                    Hiding::Numbers => mask_numbers(item, hidden),
                    Hiding::Nothing => redact_value(item, of_item, hidden),
                }
            }
        }
        Value::String(text) => {
            if let Some((shown, secrets)) = masked(text) {
                hidden.extend(secrets.into_iter().map(Value::from));
                *text = shown;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn mask_numbers(value: &mut Value, hidden: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mask_numbers(item, hidden)),
        Value::String(text) => {
            let masked = masked_number(text);
            hidden.push(std::mem::replace(value, masked.into()));
        }
        // Whoever writes something else there means something else.
        other => hidden.push(std::mem::replace(other, MASK.into())),
    }
}

/// A text about a call, without what was hidden of its arguments: services like to repeat what they refuse.
pub(super) fn redact_text(text: &str, hidden: &[Value]) -> String {
    /// Redacting each "a" would hide more than a secret.
    const SHORTEST: usize = 3;
    let mut texts = Vec::new();
    hidden.iter().for_each(|value| collect_texts(value, &mut texts));
    texts.retain(|text| text.len() >= SHORTEST);
    Redactor::new(texts.iter().map(String::as_str)).apply(text)
}

/// JSON text without values that are secret whatever they are called.
fn without(secrets: &SecretValues, text: String) -> String {
    if secrets.is_empty() {
        return text;
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(value) => secrets.masked(value).to_string(),
        Err(_) => secrets.masked_text(&text),
    }
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|field| collect_texts(field, texts)),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::String(text) => texts.push(text.clone()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Null | Value::Bool(_) => {}
    }
}

fn hiding_of(schema: &Value) -> Hiding {
    let format = schema.get("format").and_then(Value::as_str);
    let is_write_only = schema.get("writeOnly").and_then(Value::as_bool) == Some(true);
    match format {
        Some("password") => Hiding::All,
        _ if is_write_only => Hiding::All,
        Some(PHONE) => Hiding::Numbers,
        _ => Hiding::Nothing,
    }
}

fn hides(redaction: Option<&Redaction>) -> bool {
    redaction.is_some_and(|redaction| redaction.hiding != Hiding::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redacted(arguments: &Value, schema: &Value) -> Value {
        let raw = |value: &Value| serde_json::value::to_raw_value(value).unwrap();
        serde_json::from_str(&Redaction::of_schema(&raw(schema)).apply(&raw(arguments))).unwrap()
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

    /// SM-7
    #[test]
    fn hides_the_middle_of_telephone_numbers() {
        let schema =
            json!({ "properties": { "to": { "format": "phone" }, "content": { "writeOnly": true } } });
        for (to, shown) in [
            (json!("13800138000"), json!("138****8000")),
            (json!(["13800138000", "+8613900139000"]), json!(["138****8000", "+86139****9000"])),
            (json!({ "number": "13800138000" }), json!("***")),
        ] {
            let arguments = json!({ "to": to, "content": "your code is 123456" });
            assert_eq!(redacted(&arguments, &schema), json!({ "to": shown, "content": "***" }));
        }
    }

    /// HT-5.6
    #[test]
    fn hides_the_same_in_what_a_service_says_about_a_call() {
        let arguments =
            r#"{"user":"ada","password":"p+w9","pin_token":4711,"otp":"7","auth_secret":{"a":["deep9"]}}"#;
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let (_, hidden) = Redaction::default().take_out(&arguments);
        let said = "HTTP 400: ada /x?password=p%2Bw9&pin_token=4711&otp=7 {\"a\":[\"deep9\"]}";
        let expected = "HTTP 400: ada /x?password=***&pin_token=***&otp=7 {\"a\":[\"***\"]}";
        assert_eq!(redact_text(said, &hidden), expected);
        assert_eq!(redact_text(said, &[]), said);
    }

    #[test]
    fn leaves_arguments_without_secrets_as_they_came() {
        let schema = serde_json::value::to_raw_value(&json!({ "properties": { "a": {} } })).unwrap();
        let text = r#"{ "a":1.0, "b":[{"c\u0041":9007199254740993}], "d":null}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        assert_eq!(Redaction::of_schema(&schema).apply(&raw), text);
        let hidden = RawValue::from_string(r#"{"a":[{"pass\u0077ord":"x"}]}"#.to_owned()).unwrap();
        assert_eq!(redact(&hidden), r#"{"a":[{"password":"***"}]}"#);
    }

    #[test]
    fn survives_depth_bombs() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        let raw = RawValue::from_string(deep).unwrap();
        assert_eq!(redact(&raw), r#"{"omitted":"unreadable arguments"}"#);
    }
}
