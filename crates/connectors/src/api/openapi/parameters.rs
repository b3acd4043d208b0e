//! Parameters of an operation as parameters of a tool: same meaning, legal names, and a form the connector can send.

use super::document::{Document, Version, list, object};
use super::names::{argument, shorten, unique};
use super::notes::Notes;
use super::schemas::Schemas;
use crate::api::settings::check_header_name;
use crate::api::tools::{Position, Type};
use crate::api::value_schema::ValueSchema;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

const MAX_WORDS: usize = 500;

/// Objects in a query string are taken apart up to so many fields.
const MAX_FIELDS: usize = 50;

/// What the connector sends by itself, whatever a document says.
const OWN_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// A parameter on its way into a tool.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) sent_as: Option<String>,
    pub(super) position: Position,
    pub(super) is_required: bool,
    pub(super) description: Option<String>,
    pub(super) schema: Map<String, Value>,
}

/// The parameters of an operation, those of its path included, each resolved. The operation's own replace the path's.
pub(super) fn of_operation<'a>(
    document: &'a Document,
    path_item: &'a Value,
    operation: &'a Value,
) -> Result<Vec<&'a Value>, String> {
    let mut found: Vec<&Value> = Vec::new();
    let key = |parameter: &Value| (parameter.get("name").cloned(), parameter.get("in").cloned());
    let all = list(path_item.get("parameters")).iter().chain(list(operation.get("parameters")));
    for parameter in all {
        let parameter = document.resolve(parameter).map_err(|unresolved| unresolved.to_string())?;
        match found.iter().position(|before| key(before) == key(parameter)) {
            Some(at) => found[at] = parameter,
            None => found.push(parameter),
        }
    }
    Ok(found)
}

/// The parameters that are not part of a body. `Err` is why the operation cannot be called.
pub(super) fn draft(
    document: &Document,
    parameters: &[&Value],
    schemas: &mut Schemas<'_>,
    notes: &mut Notes,
) -> Result<Vec<Parameter>, String> {
    let mut drafts = Vec::new();
    for parameter in parameters {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, place) = (text("name"), text("in"));
        let is_required = parameter.get("required") == Some(&Value::Bool(true));
        let position = match place {
            "body" | "formData" if document.version == Version::V2 => continue,
            "header" if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => continue,
            _ if name.is_empty() => Err("has no name"),
            "path" => Ok(Position::Path),
            "query" => Ok(Position::Query),
            "header" if check_header_name(name, "", &mut Vec::new()).is_none() => {
                Err("is a header that a tool cannot set")
            }
            "header" => Ok(Position::Header),
            "cookie" => Err("is sent in a cookie, which tools do not send"),
            _ => Err("is in a place that is not known"),
        };
        match position {
            Ok(position) => drafts.extend(placed(document, parameter, name, position, schemas, notes)?),
            Err(why) => {
                let name = shorten(name, 50);
                if is_required {
                    return Err(format!("the required parameter '{name}' {why}"));
                }
                notes.warn(format!("the optional parameter '{name}' {why}; it is left out"));
            }
        }
    }
    Ok(drafts)
}

/// How a list stands in one text.
#[derive(Debug, Clone, Copy)]
enum Separator {
    Comma,
    Space,
    Tab,
    Pipe,
}

impl Separator {
    fn word(self) -> &'static str {
        match self {
            Self::Comma => "commas",
            Self::Space => "spaces",
            Self::Tab => "tabs",
            Self::Pipe => "'|'",
        }
    }
}

fn placed(
    document: &Document,
    parameter: &Value,
    name: &str,
    position: Position,
    schemas: &mut Schemas<'_>,
    notes: &mut Notes,
) -> Result<Vec<Parameter>, String> {
    let content = object(parameter.get("content")).values().next().and_then(|media| media.get("schema"));
    // Swagger 2.0 has the schema's words in the parameter itself.
    let schema = parameter.get("schema").or(content).unwrap_or(parameter);
    let mut schema = schemas.convert(schema, notes);
    if document.version == Version::V2 {
        schema.shift_remove("required");
    }
    let words = parameter.get("description").and_then(Value::as_str).map(|words| shorten(words, MAX_WORDS));
    let mut draft = Parameter {
        name: name.to_owned(),
        sent_as: None,
        position,
        is_required: position == Position::Path || parameter.get("required") == Some(&Value::Bool(true)),
        description: words.filter(|words| !words.is_empty()),
        schema,
    };
    if parameter.get("deprecated") == Some(&Value::Bool(true)) {
        draft.add_words("Deprecated.");
    }
    let main = main_type(&draft.schema);
    if main == Some(Type::Object) && content.is_none() {
        return objects(parameter, draft, notes);
    }
    if main == Some(Type::Array)
        && let Some(separator) = separator(document, parameter, position)
    {
        draft.schema = Map::from_iter([("type".to_owned(), "string".into())]);
        draft.add_words(&format!("Several values are separated by {}.", separator.word()));
    }
    Ok(vec![draft])
}

/// How a list is written as one text; nothing where its key is repeated.
fn separator(document: &Document, parameter: &Value, position: Position) -> Option<Separator> {
    let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default();
    if document.version == Version::V2 {
        return match text("collectionFormat") {
            "multi" if position == Position::Query => None,
            "ssv" => Some(Separator::Space),
            "tsv" => Some(Separator::Tab),
            "pipes" => Some(Separator::Pipe),
            _ => Some(Separator::Comma),
        };
    }
    if position != Position::Query {
        return Some(Separator::Comma);
    }
    match text("style") {
        "spaceDelimited" => Some(Separator::Space),
        "pipeDelimited" => Some(Separator::Pipe),
        _ if parameter.get("explode") == Some(&Value::Bool(false)) => Some(Separator::Comma),
        _ => None,
    }
}

/// An object in a query string is one key per field, whichever way the keys are written.
fn objects(parameter: &Value, draft: Parameter, notes: &mut Notes) -> Result<Vec<Parameter>, String> {
    let name = draft.name.clone();
    if draft.position != Position::Query {
        return Err(format!("the parameter '{name}' is an object in the {}", draft.position.as_str()));
    }
    let is_deep = parameter.get("style").and_then(Value::as_str) == Some("deepObject");
    let fields = object(draft.schema.get("properties"));
    let is_apart = is_deep || parameter.get("explode") != Some(&Value::Bool(false));
    if fields.is_empty() || fields.len() > MAX_FIELDS || !is_apart {
        notes.warn(format!("the query parameter '{name}' is an object without fixed fields; it is sent as JSON text"));
        return Ok(vec![draft]);
    }
    let required = list(draft.schema.get("required"));
    let field = |(field, schema): (&String, &Value)| Parameter {
        name: if is_deep { format!("{name}[{field}]") } else { field.clone() },
        sent_as: None,
        position: Position::Query,
        is_required: draft.is_required && required.iter().any(|name| name == field.as_str()),
        description: None,
        schema: object(Some(schema)).clone(),
    };
    Ok(fields.iter().map(field).collect())
}

impl Parameter {
    /// Says the default instead of sending it: where a request changes only what it names, a default would
    /// change more than the caller asked for.
    pub(super) fn tell_default(&mut self) {
        let Some(default) = self.schema.shift_remove("default").filter(|default| !default.is_null()) else { return };
        let own = self.schema.shift_remove("description").and_then(|words| words.as_str().map(str::to_owned));
        self.description = self.description.take().or(own);
        self.add_words(&shorten(&format!("Default: {default}"), 100));
    }

    fn add_words(&mut self, words: &str) {
        self.description = Some(match self.description.take() {
            Some(before) => format!("{before} {words}"),
            None => words.to_owned(),
        });
    }

    /// Takes a name that is legal and free; the original one is what is sent.
    pub(super) fn take_name(&mut self, taken: &mut HashSet<String>) {
        let mut name = argument(&self.name);
        if taken.contains(&name) {
            name = argument(&format!("{}_{name}", self.position.as_str()));
        }
        let name = unique(name, taken);
        if name != self.name {
            let original = std::mem::replace(&mut self.name, name);
            let has_name = matches!(self.position, Position::Path | Position::WholeBody);
            self.sent_as = self.sent_as.take().or((!has_name).then_some(original));
        }
    }

    /// The parameter as the connector's settings have it.
    pub(super) fn into_settings(mut self, notes: &mut Notes) -> Value {
        let mut schema = std::mem::take(&mut self.schema);
        let words = schema.shift_remove("description");
        let description = self.description.or_else(|| words.and_then(|words| words.as_str().map(str::to_owned)));
        if self.position == Position::Path {
            without_null(&mut schema);
        }
        let default = schema.shift_remove("default").filter(|default| !default.is_null());
        let value_type = main_type(&schema);
        let allowed = plain_enum(&mut schema, value_type);
        let mut settings = Map::new();
        settings.insert("name".into(), self.name.clone().into());
        settings.insert("parameter_type".into(), value_type.unwrap_or(Type::String).as_str().into());
        settings.insert("position".into(), self.position.as_str().into());
        for (key, value) in [("description", description), ("sent_as", self.sent_as)] {
            if let Some(value) = value {
                settings.insert(key.into(), value.into());
            }
        }
        if self.is_required {
            settings.insert("required".into(), true.into());
        }
        let schema = usable(schema, value_type, &self.name, notes);
        let fits = |value: &Value| match (&schema, value_type) {
            (Some(schema), _) => schema.accepts(value),
            (None, value_type) => value_type.unwrap_or(Type::String).fits(value),
        };
        if let Some(default) = default {
            let is_listed = allowed.as_ref().is_none_or(|allowed| allowed.contains(&default));
            if fits(&default) && is_listed {
                settings.insert("default_value".into(), default);
            } else {
                notes.warn(format!("the default of parameter '{}' is not a value it takes; it is left out", self.name));
            }
        }
        if let Some(allowed) = allowed {
            settings.insert("enum_values".into(), allowed.into());
        }
        if let Some(schema) = schema {
            settings.insert("schema".into(), schema.written);
        }
        settings.into()
    }
}

/// The one type of value that is meant, null aside.
pub(super) fn main_type(schema: &Map<String, Value>) -> Option<Type> {
    let of_word = |word: &str| Type::ALL.into_iter().find(|known| known.in_schema() == word);
    let of_value = |value: &Value| Type::ALL.into_iter().find(|known| known.fits(value));
    match schema.get("type") {
        Some(Value::String(word)) => return of_word(word),
        Some(Value::Array(words)) => {
            let mut types = words.iter().filter_map(|word| of_word(word.as_str()?));
            let first = types.next();
            return first.filter(|_| types.next().is_none());
        }
        _ => {}
    }
    if let Some(value) = schema.get("const") {
        return of_value(value);
    }
    let values = list(schema.get("enum"));
    if let Some(first) = values.first().and_then(of_value) {
        return values.iter().all(|value| first.fits(value)).then_some(first);
    }
    let has = |key: &str| schema.contains_key(key);
    if has("properties") || has("additionalProperties") {
        return Some(Type::Object);
    }
    has("items").then_some(Type::Array)
}

/// Takes the enum out where it is a plain list of values of the type; values that do not fit are dropped.
fn plain_enum(schema: &mut Map<String, Value>, value_type: Option<Type>) -> Option<Vec<Value>> {
    let value_type = value_type?;
    let is_plain = matches!(schema.get("type"), None | Some(Value::String(_)));
    let values = if is_plain { schema.shift_remove("enum") } else { schema.get("enum").cloned() };
    let values = values.as_ref().and_then(Value::as_array)?;
    // YAML reads an unquoted 1.0 or true as what it looks like, where a text was meant.
    let spelled = |value: &Value| match value {
        Value::Number(_) | Value::Bool(_) if value_type == Type::String => value.to_string().into(),
        other => other.clone(),
    };
    let may_be_null = !is_plain;
    let mut kept: Vec<Value> = Vec::new();
    for value in values.iter().map(spelled) {
        if (value_type.fits(&value) || may_be_null && value.is_null()) && !kept.contains(&value) {
            kept.push(value);
        }
    }
    if is_plain {
        return (!kept.is_empty()).then_some(kept);
    }
    schema.insert("enum".into(), kept.into());
    None
}

/// A value in a path cannot be null.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// The schema, where it says more than the type; what cannot be used of it is left out.
fn usable(
    mut schema: Map<String, Value>,
    value_type: Option<Type>,
    name: &str,
    notes: &mut Notes,
) -> Option<ValueSchema> {
    let has_free_items = schema.get("items").is_none_or(|items| object(Some(items)).is_empty());
    let says_only_type = match value_type {
        Some(Type::Array) => has_free_items && schema.keys().all(|key| key == "type" || key == "items"),
        Some(_) => schema.keys().all(|key| key == "type") && !schema.get("type").is_some_and(Value::is_array),
        None => false,
    };
    if says_only_type {
        return None;
    }
    if let Ok(usable) = ValueSchema::compile(schema.clone().into()) {
        return Some(usable);
    }
    // Patterns are written for another engine now and then.
    let mut without = Value::Object(std::mem::take(&mut schema));
    strip_patterns(&mut without);
    notes.warn(format!("the schema of parameter '{name}' has a pattern that cannot be used; it is left out"));
    if let Ok(usable) = ValueSchema::compile(without) {
        return Some(usable);
    }
    let fallback = value_type.map_or_else(|| json!({}), |known| json!({ "type": known.in_schema() }));
    ValueSchema::compile(fallback).ok()
}

fn strip_patterns(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("pattern").is_some_and(Value::is_string) {
                fields.shift_remove("pattern");
            }
            fields.values_mut().for_each(strip_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_patterns),
        _ => {}
    }
}
