//! A tool as clients see it: name, description, schema, and every field its service gave it.

mod in_form;
mod older;

use crate::sanitize::{Hidden, clean, clean_field};
use crate::uri::Method;
use crate::{Error, Result, readable};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a service offers to be called.
///
/// Fields we do not know, the order of keys and the spelling of numbers survive the way from
/// the service to the client: the definition is kept as the service wrote it.
#[derive(Debug, Clone)]
pub struct Tool {
    name: String,
    description: Option<String>,
    input_schema: Arc<RawValue>,
    fields: Vec<(String, Box<RawValue>)>,
    shape: Shape,
    takes_null: bool,
    methods: Vec<Method>,
    is_relayed: bool,
    fills_defaults: bool,
}

/// How the answer of a tool is to look; compiled by the gateway when the tool is loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// A JMESPath expression that picks what matters.
    pub select: Option<String>,
    /// A Go template that turns the answer into text.
    pub template: Option<String>,
    /// The most bytes the answer may have; more is cut at whole items.
    pub max_bytes: Option<usize>,
}

/// Two definitions are equal when they are written the same.
impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
            && self.takes_null == other.takes_null
            && self.methods == other.methods
            && self.is_relayed == other.is_relayed
            && self.fills_defaults == other.fills_defaults
            && self
                .fields
                .iter()
                .map(|(key, value)| (key, value.get()))
                .eq(other.fields.iter().map(|(key, value)| (key, value.get())))
    }
}

impl Tool {
    /// A tool of our own making. `input_schema` is a JSON Schema of type object.
    ///
    /// # Errors
    /// When the schema cannot be written as JSON; a `Value` always can.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: &Value,
    ) -> Result<Self> {
        let definition =
            json!({ "name": name.into(), "description": description.into(), "inputSchema": input_schema });
        Self::from_raw(&to_raw(&definition)?)
    }

    /// A tool as a service described it, an MCP `Tool` object.
    ///
    /// # Errors
    /// When it is no object, or its name or schema is missing or of the wrong type.
    pub fn from_raw(definition: &RawValue) -> Result<Self> {
        let invalid = |why: String| Error::upstream(format!("a tool definition is unusable: {why}"));
        let fields: Fields = serde_json::from_str(definition.get()).map_err(|e| invalid(e.to_string()))?;
        let text = |key: &str| match fields.get(key) {
            None => Ok(None),
            Some(raw) => serde_json::from_str::<Option<String>>(raw.get())
                .map_err(|_| invalid(format!("'{key}' is no string"))),
        };
        let name = text("name")?.filter(|name| !name.is_empty()).ok_or_else(|| invalid("no name".into()))?;
        let description = match fields.get("description") {
            None => None,
            Some(words) => serde_json::from_str::<Option<String>>(&readable(words.get()))
                .map_err(|_| invalid("'description' is no string".into()))?,
        };
        let input_schema: Arc<RawValue> = match fields.get("inputSchema") {
            Some(schema) if schema.get().starts_with('{') => schema.to_owned().into(),
            Some(_) => return Err(invalid(format!("the inputSchema of '{name}' is no object"))),
            None => return Err(invalid(format!("'{name}' has no inputSchema"))),
        };
        Ok(Self {
            name,
            description,
            input_schema,
            fields: fields.0,
            shape: Shape::default(),
            takes_null: false,
            methods: Vec::new(),
            is_relayed: false,
            fills_defaults: true,
        })
    }

    /// The same tool with a shape for its answers.
    #[must_use]
    pub fn shaped(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// The same tool, whose optional parameters may be `null` whatever their schema says: the
    /// connector knows what that means.
    #[must_use]
    pub fn taking_null(mut self, takes_null: bool) -> Self {
        self.takes_null = takes_null;
        self
    }

    /// Optional parameters may be `null` whatever their schema says.
    #[must_use]
    pub fn takes_null(&self) -> bool {
        self.takes_null
    }

    /// The same tool, which uses the first of these methods unless its caller chooses another of them.
    #[must_use]
    pub fn using(mut self, methods: Vec<Method>) -> Self {
        self.methods = methods;
        self
    }

    /// The methods a caller may choose, the tool's own first; none where there is nothing to choose.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The same tool, whose arguments and answers belong to its service: nothing is added to what the caller wrote, and
    /// nothing is cut of the answer unless somebody asks for it.
    #[must_use]
    pub fn relayed(mut self, is_relayed: bool) -> Self {
        self.is_relayed = is_relayed;
        self.fills_defaults = !is_relayed;
        self
    }

    /// The same tool, with or without the defaults of its schema in the arguments that its service gets.
    #[must_use]
    pub fn filling_defaults(mut self, fills_defaults: bool) -> Self {
        self.fills_defaults = fills_defaults;
        self
    }

    /// Arguments that are left out are given with the defaults of the schema.
    #[must_use]
    pub fn fills_defaults(&self) -> bool {
        self.fills_defaults
    }

    /// Its arguments and answers belong to its service.
    #[must_use]
    pub fn is_relayed(&self) -> bool {
        self.is_relayed
    }

    /// The name within its service.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the tool is for.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema(&self) -> &RawValue {
        &self.input_schema
    }

    /// A field of the definition, as the service wrote it.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&RawValue> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// The same tool without what people cannot see in its words, and what that was. Its name and
    /// the data in its schema stay: the service would not know them otherwise.
    #[must_use]
    pub fn cleaned(mut self) -> (Self, BTreeSet<Hidden>) {
        let mut found = BTreeSet::new();
        for (key, value) in &mut self.fields {
            let cleaned = clean_field(key, value.get(), &mut found);
            if let Some(cleaned) = cleaned.and_then(|text| RawValue::from_string(text).ok()) {
                *value = cleaned;
            }
        }
        if !found.is_empty() {
            self.description = self.description.map(|text| clean(&text, &mut found).into_owned());
            if let Some(schema) = self.field("inputSchema") {
                self.input_schema = schema.to_owned().into();
            }
        }
        (self, found)
    }

    /// How the answer is to look.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The definition as a client gets it, under another name and description.
    #[must_use]
    pub fn listed_as(&self, name: &str, description: Option<&str>) -> String {
        let mut text = String::from("{\"name\":");
        text.push_str(&Value::from(name).to_string());
        if let Some(description) = description {
            text.push_str(",\"description\":");
            text.push_str(&Value::from(description).to_string());
        }
        for (key, value) in &self.fields {
            if key == "name" || key == "description" || self.is_task_elsewhere(key, value) {
                continue;
            }
            text.push(',');
            text.push_str(&Value::from(key.as_str()).to_string());
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        text
    }

    /// That a service would run its own tool as a task is between it and us: we wait for it.
    fn is_task_elsewhere(&self, key: &str, value: &RawValue) -> bool {
        self.is_relayed && key == "execution" && value.get().contains("\"optional\"")
    }
}

fn to_raw(value: &Value) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(|error| Error::internal("a definition cannot be written").caused_by(error))
}

/// The fields of an object in their order, values untouched.
struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| &**value)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Fields;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// The schema of a tool that takes no arguments.
#[must_use]
pub fn no_arguments() -> Value {
    object_schema(Map::new(), Vec::new())
}

/// The schema of an object with these properties and no others.
#[must_use]
pub fn object_schema(properties: Map<String, Value>, required: Vec<String>) -> Value {
    let mut schema = json!({ "type": "object", "properties": Value::Object(properties) });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema["additionalProperties"] = false.into();
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_it_does_not_know() {
        let text = r#"{"name":"now","x-new":{"b":1,"a":9007199254740993},"inputSchema":{"type":"object","z":1.0,"a":1e2},"description":"d"}"#;
        let tool = Tool::from_raw(&RawValue::from_string(text.into()).unwrap()).unwrap();
        assert_eq!((tool.name(), tool.description()), ("now", Some("d")));
        assert_eq!(
            tool.listed_as("Time__now", Some("[Time] d")),
            r#"{"name":"Time__now","description":"[Time] d","x-new":{"b":1,"a":9007199254740993},"inputSchema":{"type":"object","z":1.0,"a":1e2}}"#
        );
    }

    #[test]
    fn cleans_words_and_keeps_names() {
        let text = "{\"name\":\"a\u{200b}\",\"title\":\"T\u{202e}\",\"description\":\"d\\u001b[2J\",\"inputSchema\":{\"title\":\"\u{e0041}\"}}";
        let tool = Tool::from_raw(&RawValue::from_string(text.into()).unwrap()).unwrap();
        let (tool, found) = tool.cleaned();
        assert_eq!(
            (tool.name(), tool.description(), tool.input_schema().get()),
            ("a\u{200b}", Some("d"), "{\"title\":\"\"}")
        );
        assert_eq!(tool.field("title").unwrap().get(), "\"T\"");
        assert_eq!(found.len(), 4);
        let (same, found) = tool.clone().cleaned();
        assert!(same == tool && found.len() == 1, "the name alone is left: {found:?}");
    }

    #[test]
    fn refuses_definitions_that_cannot_be_called() {
        for (text, why) in [
            ("[]", "expected an object"),
            (r#"{"inputSchema":{}}"#, "no name"),
            (r#"{"name":"","inputSchema":{}}"#, "no name"),
            (r#"{"name":7,"inputSchema":{}}"#, "'name' is no string"),
            (r#"{"name":"a"}"#, "'a' has no inputSchema"),
            (r#"{"name":"a","inputSchema":[]}"#, "is no object"),
        ] {
            let raw = RawValue::from_string(text.into()).unwrap();
            let message = Tool::from_raw(&raw).unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
