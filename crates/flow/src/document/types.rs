//! Types as authors write them, `int`, `Line[]`, `map<string>?`, and the JSON Schemas that they stand for.

use super::data::Formula;
use super::origin::Origin;
use crate::cursor::{Cursor, bounded, is_identifier};
use crate::limits;
use crate::problem::{Code, Problems};
use crate::source::Content;
use document::did_you_mean;
use expression::Position;
use serde_json::{Map, Value, json};

/// A named thing with a type: an input, or a field of what is returned.
#[derive(Debug, Clone)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// What values it takes; types of the document are `#/$defs/…`.
    pub schema: Value,
    /// It may be left out.
    pub is_optional: bool,
    /// What it is when it is left out.
    pub default: Option<Formula>,
    /// Its value is sealed and never shown.
    pub is_secret: bool,
    pub(crate) origin: Origin,
}

/// Words for types, the origin's among them, and what they are in JSON Schema.
pub const WORDS: [(&str, &str); 22] = [
    ("string", "string"),
    ("text", "string"),
    ("char", "string"),
    ("int", "integer"),
    ("integer", "integer"),
    ("long", "integer"),
    ("short", "integer"),
    ("number", "number"),
    ("double", "number"),
    ("float", "number"),
    ("decimal", "number"),
    ("bool", "boolean"),
    ("boolean", "boolean"),
    ("date", "date"),
    ("datetime", "date-time"),
    ("time", "time"),
    ("any", "any"),
    ("object", "object"),
    ("map", "object"),
    ("list", "array"),
    ("array", "array"),
    ("null", "null"),
];

const SCHEMA_TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];

/// Reads types; `names` are those that the document defines.
pub(crate) struct Types<'a> {
    pub(crate) names: Vec<&'a str>,
}

impl Types<'_> {
    /// Reads a map of names to types.
    fn fields(&self, cursor: &Cursor<'_>, problems: &mut Problems) -> Vec<Declared> {
        if !cursor.is_map() {
            problems.add(cursor.mismatch("an object of names and types"));
        }
        let fields = bounded(cursor.entries().collect(), cursor, problems);
        fields.into_iter().map(|(name, field)| self.field(name, &field, problems)).collect()
    }

    fn field(&self, name: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Declared {
        if !is_identifier(name) {
            problems.add(cursor.error(Code::Syntax, format!("'{name}' is no name: letters, digits and _")));
        }
        let origin = Origin::of(cursor);
        let name = name.to_owned();
        let Some(text) = cursor.as_text() else {
            let mut schema = self.schema(cursor, problems);
            check_secret(cursor, problems);
            let is_secret = is_secret(cursor);
            let default = schema.get("default").and_then(|value| literal(value, &origin));
            if is_secret {
                refuse_default(cursor, problems);
                // Callers see the schema; what was published with one goes on with it.
                schema.as_object_mut().map(|schema| schema.remove("default"));
            }
            return Declared { is_optional: default.is_some(), name, schema, default, is_secret, origin };
        };
        let (text, default) = match text.split_once('=') {
            Some((text, default)) => {
                let start = Position::of(cursor.as_text().unwrap_or_default(), text.len() + 1);
                (text, Formula::parse(default, Origin::within(cursor, start), problems))
            }
            None => (text, None),
        };
        let text = text.trim();
        let is_optional = text.ends_with('?') || default.is_some();
        let schema = self.word(text, cursor, problems);
        Declared { name, schema, is_optional, default, is_secret: false, origin }
    }

    /// Reads the type of something that cannot be secret.
    pub(crate) fn open_schema(&self, cursor: &Cursor<'_>, problems: &mut Problems) -> Value {
        refuse_secrets(cursor, problems);
        self.schema(cursor, problems)
    }

    /// Reads inputs: of these, each may be secret as a whole.
    pub(crate) fn inputs(&self, cursor: &Cursor<'_>, problems: &mut Problems) -> Vec<Declared> {
        cursor.entries().for_each(|(_, input)| refuse_secrets_within(&input, problems));
        self.fields(cursor, problems)
    }

    /// Reads a type: a word, a JSON Schema, or an object of names and types.
    fn schema(&self, cursor: &Cursor<'_>, problems: &mut Problems) -> Value {
        match &cursor.tree.content {
            Content::Text(text) => self.word(text.trim(), cursor, problems),
            Content::Map(_) if is_schema(cursor) => self.json_schema(cursor, problems),
            Content::Map(_) => object(&self.fields(cursor, problems)),
            Content::List(items) if items.len() == 1 => {
                let item = cursor.items().next().map(|item| self.schema(&item, problems));
                json!({"type": "array", "items": item})
            }
            _ => {
                problems.add(cursor.mismatch("a type"));
                json!({})
            }
        }
    }

    fn json_schema(&self, cursor: &Cursor<'_>, problems: &mut Problems) -> Value {
        let mut schema = cursor.tree.to_value();
        if let Some(fields) = schema.as_object_mut() {
            fields.remove(SECRET);
            fields.retain(|name, value| name != "default" || !value.is_null());
        }
        if let Err(error) = tool::schema::Schema::compile(&self.with_definitions(&schema), "field") {
            problems.add(cursor.error(Code::Syntax, error.message()));
            return json!({});
        }
        schema
    }

    /// References to the document's types are not followed yet.
    fn with_definitions(&self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        let definitions: Map<_, _> = self.names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("$defs".to_owned(), definitions.into());
        }
        schema
    }

    fn word(&self, text: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Value {
        // Counted before anything calls itself for it.
        let levels = text.matches(['?', '[', '<']).count();
        if levels > limits::TYPE_LEVELS {
            let message =
                format!("a type has at most {} of '[]', '?' and '<>' in one another", limits::TYPE_LEVELS);
            problems.add(cursor.error(Code::LimitExceeded, message));
            return json!({});
        }
        self.inner_word(text, cursor, problems)
    }

    fn inner_word(&self, text: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Value {
        if let Some(inner) = text.strip_suffix('?') {
            return nullable(self.inner_word(inner.trim_end(), cursor, problems));
        }
        if let Some(inner) = text.strip_suffix("[]") {
            return json!({"type": "array", "items": self.inner_word(inner.trim_end(), cursor, problems)});
        }
        if let Some((outer, inner)) = text.strip_suffix('>').and_then(|text| text.split_once('<')) {
            let inner = inner.rsplit_once(',').map_or(inner, |(_, value)| value);
            let inner = self.inner_word(inner.trim(), cursor, problems);
            match outer.trim() {
                "map" => return json!({"type": "object", "additionalProperties": inner}),
                "list" | "array" => return json!({"type": "array", "items": inner}),
                _ => {}
            }
        }
        self.name(text, cursor, problems)
    }

    fn name(&self, text: &str, cursor: &Cursor<'_>, problems: &mut Problems) -> Value {
        if self.names.contains(&text) {
            return json!({"$ref": format!("#/$defs/{text}")});
        }
        match WORDS.iter().find(|(word, _)| *word == text).map(|(_, kind)| *kind) {
            Some("any") => json!({}),
            Some(format @ ("date" | "date-time" | "time")) => json!({"type": "string", "format": format}),
            Some(kind) => json!({"type": kind}),
            None if problems.is_full() => json!({}),
            None => {
                let known = WORDS.iter().map(|(word, _)| *word).chain(self.names.iter().copied());
                let message = format!("there is no type '{text}'{}", did_you_mean(text, known));
                problems.add(cursor.error(Code::UnknownName, message));
                json!({})
            }
        }
    }
}

const SECRET: &str = "secret";

/// What is neither true nor false shows nothing.
fn is_secret(cursor: &Cursor<'_>) -> bool {
    let secret = cursor.tree.get(SECRET).map(|secret| &secret.content);
    match secret {
        None | Some(Content::Bool(false)) => false,
        Some(Content::Bool(true)) => true,
        // A field of that name, in an object of names and types.
        Some(_) => is_schema(cursor),
    }
}

/// `yes` and "true" are texts.
fn check_secret(cursor: &Cursor<'_>, problems: &mut Problems) {
    if let Some(secret) = cursor.field(SECRET).filter(|_| is_schema(cursor)) {
        secret.bool(problems);
    }
}

/// The text of a flow is kept as it is written, and shown.
fn refuse_default(cursor: &Cursor<'_>, problems: &mut Problems) {
    let default = cursor.field("default").filter(|default| !matches!(default.tree.content, Content::Null));
    if let Some(default) = default {
        let message = "a secret has no default: whoever reads the flow would read it, too; give it with each start, or let \
             the service that needs it keep it";
        problems.add(default.error(Code::Syntax, message));
    }
}

/// What is said to be secret where nothing is sealed would be shown.
fn refuse_secrets(cursor: &Cursor<'_>, problems: &mut Problems) {
    if is_secret(cursor) {
        let message =
            "'secret' is for inputs themselves: make this an input of its own, or the whole input secret";
        problems.add(cursor.error(Code::Syntax, message));
    }
    refuse_secrets_within(cursor, problems);
}

fn refuse_secrets_within(cursor: &Cursor<'_>, problems: &mut Problems) {
    let is_data = |name: &str| matches!(name, "const" | "enum" | "default" | "examples");
    for (name, part) in cursor.entries().filter(|(name, _)| !is_data(name)) {
        match name {
            // Their names may be anything.
            "properties" => part.entries().for_each(|(_, field)| refuse_secrets(&field, problems)),
            _ => refuse_secrets(&part, problems),
        }
    }
    cursor.items().for_each(|item| refuse_secrets(&item, problems));
}

/// A constant as a default.
fn literal(value: &Value, origin: &Origin) -> Option<Formula> {
    Formula::parse(&value.to_string(), origin.clone(), &mut Problems::default())
}

/// The schema of an object with these fields, which takes no others.
pub(crate) fn object(fields: &[Declared]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.clone(), field.schema.clone())).collect();
    let required: Vec<_> =
        fields.iter().filter(|field| !field.is_optional).map(|field| field.name.clone()).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A JSON Schema says so by its words; an object of names and types has types under them.
fn is_schema(cursor: &Cursor<'_>) -> bool {
    let is_type = |text: &str| SCHEMA_TYPES.contains(&text);
    let has_type = cursor.field("type").is_some_and(|field| match &field.tree.content {
        Content::Text(text) => is_type(text),
        Content::List(_) => field.items().all(|item| item.as_text().is_some_and(is_type)),
        _ => false,
    });
    let words = ["$ref", "anyOf", "oneOf", "allOf", "enum", "const"];
    has_type
        || words.iter().any(|word| {
            cursor.field(word).is_some_and(|field| field.is_list() || *word == "$ref" || *word == "const")
        })
}

fn nullable(schema: Value) -> Value {
    match schema {
        Value::Object(fields) if fields.is_empty() => json!({}),
        Value::Object(mut fields) if fields.get("type").is_some_and(Value::is_string) => {
            let kind = fields["type"].take();
            fields.insert("type".to_owned(), json!([kind, "null"]));
            fields.into()
        }
        other => json!({"anyOf": [other, {"type": "null"}]}),
    }
}
