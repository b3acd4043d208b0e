//! Parameters of a tool: what they take, and where each value goes.

mod checks;

pub(crate) use checks::check_parameters;

use super::value_schema::ValueSchema;
use crate::shared::headers::PassedHeaders;
use crate::shared::sign_in::Auth;
use fetch::http::header::HeaderName;
use serde_json::{Value, json};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),* }

        impl $name {
            pub(crate) const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            fn list() -> String {
                Self::ALL.map(Self::as_str).join(", ")
            }

            pub(crate) fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == text)
            }
        }
    };
}

words! {
    /// Where an argument goes.
    Position {
        Path = "path",
        Query = "query",
        Header = "header",
        Body = "body",
        Form = "form",
        WholeBody = "whole_body"
    }
}

words! {
    /// What kind of value an argument is.
    Type {
        String = "String",
        Number = "Number",
        Integer = "Integer",
        Boolean = "Boolean",
        Object = "Object",
        Array = "Array"
    }
}

impl Type {
    /// The type's word in JSON Schema.
    pub(crate) fn in_schema(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
        }
    }

    /// Whether a value is of this type; 3.0 is an integer, as in JSON Schema.
    pub(crate) fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => {
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }
}

words! {
    /// How lists and objects are written in query strings and forms.
    Style {
        Repeat = "repeat",
        Comma = "comma",
        Space = "space",
        Pipe = "pipe",
        Brackets = "brackets",
        Json = "json"
    }
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The name on the wire.
    pub(crate) wire_name: String,
    pub(crate) value_type: Type,
    pub(crate) position: Position,
    /// The name as a header, for those in header position.
    pub(crate) header: Option<HeaderName>,
    pub(crate) is_required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) allowed: Option<Vec<Value>>,
    /// Decides in place of the type.
    pub(crate) schema: Option<ValueSchema>,
    description: Option<String>,
    /// How nested values are written, where that was said.
    style: Option<Style>,
    /// The value is the content of a file.
    pub(crate) file: Option<File>,
}

/// What a file is called and what it is, unless the caller says so.
#[derive(Debug)]
pub(crate) struct File {
    /// The argument holds Base64, not text.
    pub(crate) is_base64: bool,
    pub(crate) filename: String,
    pub(crate) content_type: String,
}

/// What callers must not be able to replace.
#[derive(Clone, Copy)]
pub(crate) struct Reserved<'a> {
    pub(crate) auth: &'a Auth,
    pub(crate) passed: &'a PassedHeaders,
}

impl Parameter {
    /// How this value is written; without a style of their own, lists repeat their key, and objects
    /// are JSON text in a query string and bracketed in a form.
    pub(crate) fn style(&self, value: &Value) -> Style {
        let is_deep = match value {
            Value::Object(_) => true,
            Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
            _ => false,
        };
        let usual = if is_deep && self.position == Position::Form { Style::Brackets } else { Style::Repeat };
        self.style.unwrap_or(usual)
    }

    pub(crate) fn schema(&self) -> Value {
        let mut schema = match &self.schema {
            Some(schema) => schema.written.clone(),
            None if self.value_type == Type::Array => json!({ "type": "array", "items": {} }),
            None => json!({ "type": self.value_type.in_schema() }),
        };
        if let Some(file) = &self.file {
            let encoding = if file.is_base64 { "The file in Base64." } else { "The text of the file." };
            match self.value_type {
                Type::Object => {
                    schema["properties"] = json!({
                        "content": { "type": "string", "description": encoding },
                        "filename": { "type": "string" },
                        "content_type": { "type": "string" }
                    });
                    schema["required"] = json!(["content"]);
                }
                _ => schema["description"] = encoding.into(),
            }
        }
        if let Some(description) = &self.description {
            schema["description"] = description.as_str().into();
        }
        if let Some(default) = &self.default {
            schema["default"] = default.clone();
        }
        if let Some(allowed) = &self.allowed {
            schema["enum"] = allowed.clone().into();
        }
        schema
    }
}
