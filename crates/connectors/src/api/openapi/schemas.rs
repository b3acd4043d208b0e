//! Schemas of a document as JSON Schema that stands alone: references spelled out, dialects made one, size bounded.

use super::document::{Document, Version, list, object, reference};
use super::merge::merged;
use super::names::shorten;
use super::notes::Notes;
use super::refuse;
use serde_json::{Map, Value, json};
use tool::Result;

/// What one tool may say about its arguments; more than a model reads anyway.
const MAX_TOOL_BYTES: usize = 64 * 1024;
/// What all tools of a document may say.
const MAX_TOTAL_BYTES: usize = 16 * 1024 * 1024;
/// How deep references and objects are spelled out.
const MAX_DEPTH: usize = 10;
const MAX_WORDS: usize = 300;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Spells schemas out, and counts what that costs.
pub(super) struct Schemas<'a> {
    document: &'a Document,
    tool_bytes: usize,
    total_bytes: usize,
    /// The references that are being spelled out.
    open: Vec<String>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self { document, tool_bytes: MAX_TOOL_BYTES, total_bytes: MAX_TOTAL_BYTES, open: Vec::new() }
    }

    /// Begins with the next tool.
    ///
    /// # Errors
    /// When the tools so far have said all there is room for.
    pub(super) fn begin_tool(&mut self) -> Result<()> {
        self.total_bytes = self.total_bytes.saturating_sub(MAX_TOOL_BYTES - self.tool_bytes);
        self.tool_bytes = MAX_TOOL_BYTES;
        if self.total_bytes == 0 {
            let message =
                "the schemas of the document are too large together; choose operations with include";
            return Err(refuse("document", "TooLarge", message));
        }
        Ok(())
    }

    /// The schema without references, and with nothing in it that JSON Schema does not know.
    pub(super) fn convert(&mut self, schema: &Value, notes: &mut Notes) -> Map<String, Value> {
        self.convert_at(schema, 0, notes)
    }

    fn spend(&mut self, bytes: usize) -> bool {
        let is_enough = bytes <= self.tool_bytes;
        self.tool_bytes = self.tool_bytes.saturating_sub(bytes);
        is_enough
    }

    fn convert_at(&mut self, schema: &Value, depth: usize, notes: &mut Notes) -> Map<String, Value> {
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(false) => return entries(json!({ "not": {} })),
            _ => return Map::new(),
        };
        if depth > MAX_DEPTH || !self.spend(16) {
            return self.cut(schema, "its fields are not spelled out here");
        }
        if let Some(reference) = reference(schema) {
            return self.referenced(reference, fields, depth, notes);
        }
        let mut result = self.keywords(fields, depth, notes);
        let members = list(fields.get("allOf"));
        if !members.is_empty() {
            result = self.all_of(result, members, depth, notes);
        }
        let is_nullable = |key: &str| fields.get(key) == Some(&Value::Bool(true));
        if self.document.version != Version::V31 && (is_nullable("nullable") || is_nullable("x-nullable")) {
            result = nullable(result);
        }
        result
    }

    fn referenced(
        &mut self,
        reference: &str,
        siblings: &Map<String, Value>,
        depth: usize,
        notes: &mut Notes,
    ) -> Map<String, Value> {
        let document = self.document;
        let target = match document.target(reference) {
            Ok(target) => target,
            Err(unresolved) => {
                notes.warn(format!("{unresolved}; any value is accepted there"));
                return entries(json!({ "description": "Defined in a place that was not imported." }));
            }
        };
        let mut result = if self.open.iter().any(|open| open == reference) {
            self.cut(target, "it contains itself, so its fields are not spelled out again")
        } else {
            self.open.push(reference.to_owned());
            let result = self.convert_at(target, depth + 1, notes);
            self.open.pop();
            result
        };
        // Words and defaults beside a reference are meant for this place.
        for key in ["description", "default"] {
            if let Some(value) = siblings.get(key) {
                self.copy(&mut result, key, value);
            }
        }
        if siblings.get("nullable") == Some(&Value::Bool(true)) { nullable(result) } else { result }
    }

    /// A schema that says only what kind of thing it is, and why no more.
    fn cut(&self, schema: &Value, why: &str) -> Map<String, Value> {
        let schema = self.document.resolve(schema).unwrap_or(schema);
        let mut result = Map::new();
        if let Some(kind) = known_type(schema.get("type")) {
            result.insert("type".into(), kind);
        } else if schema.get("properties").is_some() {
            result.insert("type".into(), "object".into());
        }
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let words = text("title").or_else(|| text("description")).map(|words| shorten(words, 100));
        let description = words.map_or_else(|| format!("({why})"), |words| format!("{words} ({why})"));
        result.insert("description".into(), description.into());
        result
    }

    fn all_of(
        &mut self,
        own: Map<String, Value>,
        members: &[Value],
        depth: usize,
        notes: &mut Notes,
    ) -> Map<String, Value> {
        let members: Vec<_> = members
            .iter()
            .take(50)
            .map(|member| self.convert_at(member, depth + 1, notes))
            .filter(|member| !member.is_empty())
            .collect();
        let joined = members.iter().try_fold(own.clone(), |joined, member| merged(&joined, member));
        let joined = joined.map(|mut joined| {
            let properties = joined.get("properties").cloned();
            // What one member asks for and another one keeps to the server cannot be sent.
            keep_required(&mut joined, |name| properties.as_ref().is_none_or(|all| all.get(name).is_some()));
            joined
        });
        joined.unwrap_or_else(|| {
            let mut result = own;
            result.insert("allOf".into(), members.into_iter().map(Value::Object).collect());
            result
        })
    }

    fn keywords(
        &mut self,
        fields: &Map<String, Value>,
        depth: usize,
        notes: &mut Notes,
    ) -> Map<String, Value> {
        let mut result = Map::new();
        if let Some(kind) = known_type(fields.get("type")) {
            result.insert("type".into(), kind);
        }
        for (key, value) in fields {
            match key.as_str() {
                "properties" => self.properties(&mut result, value, depth, notes),
                "items" | "additionalProperties" | "not" => {
                    let inner = match value {
                        Value::Bool(_) if key == "additionalProperties" => value.clone(),
                        Value::Object(_) | Value::Bool(_) => self.convert_at(value, depth + 1, notes).into(),
                        _ => continue,
                    };
                    result.insert(key.clone(), inner);
                }
                "oneOf" | "anyOf" | "prefixItems" => {
                    let members = list(Some(value)).iter().take(50);
                    let members: Vec<Value> =
                        members.map(|member| self.convert_at(member, depth + 1, notes).into()).collect();
                    if !members.is_empty() {
                        result.insert(key.clone(), members.into());
                    }
                }
                _ => self.copy(&mut result, key, value),
            }
        }
        tidy_bounds(fields, &mut result);
        let properties = object(fields.get("properties"));
        let is_read_only =
            |name: &str| properties.get(name).is_some_and(|property| self.is_read_only(property));
        keep_required(&mut result, |name| !is_read_only(name));
        result
    }

    /// Fields that a caller may send; what the server alone writes is left out.
    fn properties(
        &mut self,
        result: &mut Map<String, Value>,
        value: &Value,
        depth: usize,
        notes: &mut Notes,
    ) {
        let mut properties = Map::new();
        for (name, property) in object(Some(value)) {
            if self.is_read_only(property) {
                continue;
            }
            if !self.spend(name.len()) {
                notes.warn("some schemas are too large to be spelled out whole");
                break;
            }
            properties.insert(name.clone(), self.convert_at(property, depth + 1, notes).into());
        }
        result.insert("properties".into(), properties.into());
    }

    fn is_read_only(&self, property: &Value) -> bool {
        let is_marked = |schema: &Value| schema.get("readOnly") == Some(&Value::Bool(true));
        is_marked(property) || self.document.resolve(property).is_ok_and(is_marked)
    }

    /// Keeps a keyword that has no schemas in it, if its value is of the type it must have.
    fn copy(&mut self, result: &mut Map<String, Value>, key: &str, value: &Value) {
        let is_count = value.as_u64().is_some();
        let is_fit = match key {
            "description" => value.is_string(),
            "format" | "pattern" | "contentEncoding" | "contentMediaType" => value.is_string(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                is_count
            }
            "uniqueItems" => value.is_boolean(),
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            "required" => value.is_array(),
            "const" | "default" => true,
            _ => false,
        };
        if !is_fit {
            return;
        }
        let value = match value.as_str() {
            Some(words) if key == "description" => shorten(words, MAX_WORDS).into(),
            _ => value.clone(),
        };
        if value != "" && self.spend(weight(&value)) {
            result.insert(key.to_owned(), value);
        }
    }
}

/// Roughly the bytes of a value as text.
fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum::<usize>()
        }
    }
}

fn entries(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The type or types that JSON Schema knows; the file of Swagger 2.0 is a text to us.
fn known_type(value: Option<&Value>) -> Option<Value> {
    let known =
        |name: &str| TYPES.into_iter().find(|known| *known == name).or((name == "file").then_some("string"));
    match value? {
        Value::String(name) => known(name).map(Value::from),
        Value::Array(names) => {
            let mut types: Vec<_> = names.iter().filter_map(|name| known(name.as_str()?)).collect();
            types.dedup();
            match types.as_slice() {
                [] => None,
                [one] => Some((*one).into()),
                many => Some(many.into()),
            }
        }
        _ => None,
    }
}

/// Until 3.0 an exclusive bound was a flag beside the bound.
fn tidy_bounds(fields: &Map<String, Value>, result: &mut Map<String, Value>) {
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if fields.get(flag) == Some(&Value::Bool(true))
            && let Some(value) = result.shift_remove(bound)
        {
            result.insert(flag.into(), value);
        }
    }
}

/// Only names, each once, and only those that are to be kept.
fn keep_required(result: &mut Map<String, Value>, is_kept: impl Fn(&str) -> bool) {
    let Some(Value::Array(names)) = result.shift_remove("required") else { return };
    let mut kept: Vec<Value> = Vec::new();
    for name in names {
        if name.as_str().is_some_and(&is_kept) && !kept.contains(&name) {
            kept.push(name);
        }
    }
    if !kept.is_empty() {
        result.insert("required".into(), kept.into());
    }
}

/// The same schema, or null.
fn nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get("type").cloned() {
        Some(Value::String(kind)) if kind != "null" => {
            schema.insert("type".into(), json!([kind, "null"]));
            schema
        }
        Some(_) => schema,
        None if schema.contains_key("enum") || schema.is_empty() => schema,
        None => {
            let mut result = Map::new();
            for key in ["description", "default"] {
                if let Some(value) = schema.shift_remove(key) {
                    result.insert(key.into(), value);
                }
            }
            result.insert("anyOf".into(), json!([schema, { "type": "null" }]));
            result
        }
    }
}
