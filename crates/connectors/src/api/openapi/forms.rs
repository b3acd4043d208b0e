//! Forms: one parameter per field, files among them, each written as the document says.

use super::body::{Body, Drafted, FORM, fields_of, whole};
use super::document::{Version, list, object};
use super::names::shorten;
use super::notes::Notes;
use super::parameters::Parameter;
use super::styles::{self, Listed};
use super::values::main_type;
use super::{Position, Style, Type};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// A form of names and texts. One without fixed fields is a text that the caller writes.
pub(super) fn urlencoded(
    version: Version,
    body: &Body<'_>,
    schema: &Map<String, Value>,
    notes: &mut Notes,
) -> Drafted {
    let Some(mut parameters) = fields_of(body, schema, Position::Form) else {
        return as_text(body, schema, notes);
    };
    for parameter in &mut parameters {
        let encoding = body.encodings.get(&parameter.name).unwrap_or(&Value::Null);
        match main_type(&parameter.schema) {
            Some(Type::Array) => parameter.list(styles::of_list(version, encoding, Position::Form)),
            _ if is_json(encoding) => parameter.style = Some(Style::Json),
            // Objects are in brackets anyway.
            _ => {}
        }
    }
    Drafted { parameters, ..Drafted::default() }
}

/// A form of parts, some of which may be files. `Err` is why the operation cannot be called.
pub(super) fn multipart(
    version: Version,
    body: &Body<'_>,
    schema: &Map<String, Value>,
    notes: &mut Notes,
) -> Result<Drafted, String> {
    let parameters = fields_of(body, schema, Position::Form);
    let mut parameters = parameters.ok_or("takes a form with parts (multipart) without fixed fields")?;
    for parameter in &mut parameters {
        let encoding = body.encodings.get(&parameter.name).unwrap_or(&Value::Null);
        let is_list = main_type(&parameter.schema) == Some(Type::Array);
        let items = object(parameter.schema.get("items"));
        if is_list && is_file(items, encoding) {
            let name = shorten(&parameter.name, 50);
            notes.warn(format!("the parameter '{name}' is a list of files, of which a tool sends one"));
            let file = file(items, encoding);
            parameter.become_file(file);
        } else if is_file(&parameter.schema, encoding) {
            let file = file(&parameter.schema, encoding);
            parameter.become_file(file);
        } else if is_list {
            let listed = styles::of_list(version, encoding, Position::Form);
            // Lists of objects are parts of JSON, unless the document says otherwise.
            let is_plain = listed == Listed::Styled(None);
            parameter.list(if is_plain { Listed::Styled(Some(Style::Repeat)) } else { listed });
        } else if !styles::is_deep(encoding) && is_nested(&parameter.schema) {
            parameter.style = Some(Style::Json);
        }
    }
    Ok(Drafted { parameters, form_encoding: Some("multipart"), ..Drafted::default() })
}

fn is_nested(schema: &Map<String, Value>) -> bool {
    matches!(main_type(schema), Some(Type::Object) | None)
}

fn is_json(encoding: &Value) -> bool {
    encoding.get("contentType").and_then(Value::as_str).is_some_and(|media| media.contains("json"))
}

/// Whether a part is bytes: said with `format` until 3.0, and with the content's type since.
fn is_file(schema: &Map<String, Value>, encoding: &Value) -> bool {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if text("format") == Some("binary") {
        return true;
    }
    let is_text = text("contentEncoding").is_some() || is_json(encoding);
    let may_be_bytes = matches!(main_type(schema), Some(Type::String) | None);
    let is_typed = text("contentMediaType").or_else(|| encoding.get("contentType").and_then(Value::as_str));
    let is_bytes = is_typed.is_some_and(|media| !media.starts_with("text/") && !media.contains("json"));
    may_be_bytes && !is_text && is_bytes
}

/// The settings of a file; its type is the document's where that names one.
fn file(schema: &Map<String, Value>, encoding: &Value) -> Value {
    let own = schema.get("contentMediaType").and_then(Value::as_str);
    let named = encoding.get("contentType").and_then(Value::as_str).or(own).unwrap_or_default();
    let first = named.split(',').next().unwrap_or_default().trim();
    if first.is_empty() || first.contains('*') {
        return json!({ "encoding": "base64" });
    }
    json!({ "encoding": "base64", "content_type": first })
}

impl Parameter {
    /// Makes it a file with a name and a type, which servers ask for.
    fn become_file(&mut self, file: Value) {
        let own = self.schema.shift_remove("description").and_then(|words| words.as_str().map(str::to_owned));
        self.description = self.description.take().or(own);
        self.schema = Map::from_iter([("type".to_owned(), "object".into())]);
        self.file = Some(file);
    }
}

fn as_text(body: &Body<'_>, schema: &Map<String, Value>, notes: &mut Notes) -> Drafted {
    notes.warn("forms without fixed fields are one parameter that takes the form as a text");
    let required: HashSet<_> = list(schema.get("required")).iter().filter_map(Value::as_str).collect();
    let field = |(name, field): (&String, &Value)| {
        let kind = main_type(object(Some(field))).unwrap_or(Type::String).in_schema();
        let is_required = required.contains(name.as_str());
        format!("{name} ({kind}{})", if is_required { ", required" } else { "" })
    };
    let fields: Vec<_> = object(schema.get("properties")).iter().map(field).collect();
    let mut words = "A URL-encoded form like a=1&b=two%20words.".to_owned();
    if !fields.is_empty() {
        words.push_str(&format!(" Fields: {}", fields.join(", ")));
    }
    let mut parameter = whole(body, Map::from_iter([("type".to_owned(), "string".into())]));
    parameter.description = Some(shorten(&words, 2000));
    Drafted { parameters: vec![parameter], content_type: Some(FORM.into()), ..Drafted::default() }
}
