//! Parameters of a tool: what they take, and where each value goes.

use super::form::is_media_type;
use super::parameter_settings::{FileEncoding, FileSettings, ParameterSettings};
use super::value_schema::ValueSchema;
use crate::shared::headers::{PassedHeaders, check_header_name};
use crate::shared::sign_in::Auth;
use fetch::http::header::{AUTHORIZATION, HeaderName};
use serde_json::{Value, json};
use std::collections::HashSet;
use tool::Problem;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $name { $($variant),* }

        impl $name {
            pub(super) const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            pub(super) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            fn list() -> String {
                Self::ALL.map(Self::as_str).join(", ")
            }

            pub(super) fn parse(text: &str) -> Option<Self> {
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
    pub(super) fn in_schema(self) -> &'static str {
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
    pub(super) fn fits(self, value: &Value) -> bool {
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
pub(super) struct Parameter {
    pub(super) name: String,
    /// The name on the wire.
    pub(super) wire_name: String,
    pub(super) value_type: Type,
    pub(super) position: Position,
    /// The name as a header, for those in header position.
    pub(super) header: Option<HeaderName>,
    pub(super) is_required: bool,
    pub(super) default: Option<Value>,
    pub(super) allowed: Option<Vec<Value>>,
    /// Decides in place of the type.
    pub(super) schema: Option<ValueSchema>,
    description: Option<String>,
    /// How nested values are written, where that was said.
    style: Option<Style>,
    /// The value is the content of a file.
    pub(super) file: Option<File>,
}

/// What a file is called and what it is, unless the caller says so.
#[derive(Debug)]
pub(super) struct File {
    /// The argument holds Base64, not text.
    pub(super) is_base64: bool,
    pub(super) filename: String,
    pub(super) content_type: String,
}

/// What callers must not be able to replace.
#[derive(Clone, Copy)]
pub(super) struct Reserved<'a> {
    pub(super) auth: &'a Auth,
    pub(super) passed: &'a PassedHeaders,
}

impl Parameter {
    /// How this value is written; without a style of their own, lists repeat their key, and objects
    /// are JSON text in a query string and bracketed in a form.
    pub(super) fn style(&self, value: &Value) -> Style {
        let is_deep = match value {
            Value::Object(_) => true,
            Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
            _ => false,
        };
        let usual = if is_deep && self.position == Position::Form { Style::Brackets } else { Style::Repeat };
        self.style.unwrap_or(usual)
    }

    pub(super) fn schema(&self) -> Value {
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

/// Checks the parameters of one tool.
pub(super) fn check_parameters(
    parameters: &[ParameterSettings],
    path: &str,
    reserved: Reserved<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Parameter> {
    let mut names = HashSet::new();
    let mut headers = HashSet::new();
    let mut checked = Vec::new();
    for (index, settings) in parameters.iter().enumerate() {
        let path = format!("{path}.parameters[{index}]");
        let parameter = check_parameter(settings, &path, reserved, problems);
        let header = parameter.as_ref().and_then(|parameter| parameter.header.clone());
        let is_new_header = header.is_none_or(|header| headers.insert(header));
        if !names.insert(settings.name.as_str()) || !is_new_header {
            let message = format!("there are two parameters with the name '{}'", settings.name);
            problems.push(Problem::new(format!("{path}.name"), "DuplicateParameter", message));
        }
        checked.extend(parameter);
    }
    checked
}

fn check_parameter(
    settings: &ParameterSettings,
    path: &str,
    reserved: Reserved<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Parameter> {
    let name = &settings.name;
    let wire_name = settings.sent_as.as_ref().unwrap_or(name);
    let mut refuse =
        |field: &str, code, message| problems.push(Problem::new(format!("{path}.{field}"), code, message));
    if name.is_empty() || name.contains(char::is_control) {
        refuse("name", "InvalidName", "a parameter needs a name without control characters".to_owned());
    }
    let position = Position::parse(&settings.position);
    if position.is_none() {
        let (found, allowed) = (&settings.position, Position::list());
        let message = format!("parameter '{name}' has the position '{found}'; allowed are {allowed}");
        refuse("position", "InvalidPosition", message);
    }
    let value_type = Type::parse(&settings.parameter_type);
    if value_type.is_none() {
        let (found, allowed) = (&settings.parameter_type, Type::list());
        let message = format!("parameter '{name}' has the type '{found}'; allowed are {allowed}");
        refuse("parameter_type", "InvalidType", message);
    }
    if position == Some(Position::Path) {
        check_path_parameter(settings, value_type, &mut refuse);
    }
    let header = (position == Some(Position::Header)).then_some(wire_name);
    let header = header.and_then(|name| check_header_name(name, &format!("{path}.name"), problems));
    let schema = ValueSchema::check(settings, path, problems);
    if schema.is_some() || settings.schema.is_none() {
        check_values(settings, value_type?, schema.as_ref(), path, problems);
    }
    check_not_reserved(settings, header.as_ref(), reserved, path, problems);
    let style = check_style(settings, position?, path, problems);
    let file = check_file(settings, position?, value_type?, path, problems);
    Some(Parameter {
        name: name.clone(),
        wire_name: wire_name.clone(),
        value_type: value_type?,
        position: position?,
        header,
        is_required: settings.required,
        default: settings.default_value.clone(),
        allowed: settings.enum_values.clone().filter(|values| !values.is_empty()),
        schema,
        description: settings.description.clone(),
        style,
        file,
    })
}

fn check_path_parameter(
    settings: &ParameterSettings,
    value_type: Option<Type>,
    refuse: &mut impl FnMut(&str, &'static str, String),
) {
    let name = &settings.name;
    if !settings.required && settings.default_value.is_none() {
        let message = format!("the path parameter '{name}' must be required or have a default_value");
        refuse("required", "PathParameterInvalid", message);
    }
    if matches!(value_type, Some(Type::Object | Type::Array)) {
        let message = format!("the path parameter '{name}' must be a text, a number or a boolean");
        refuse("parameter_type", "PathParameterInvalid", message);
    }
}

/// Default and enumerated values must be what the parameter says it takes.
fn check_values(
    settings: &ParameterSettings,
    value_type: Type,
    schema: Option<&ValueSchema>,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let name = &settings.name;
    let allowed = settings.enum_values.as_deref().unwrap_or_default();
    let fits = |value: &Value| schema.map_or_else(|| value_type.fits(value), |schema| schema.accepts(value));
    for (index, value) in allowed.iter().enumerate().filter(|(_, value)| !fits(value)) {
        let message = format!("parameter '{name}' is of type {} but allows {value}", value_type.as_str());
        problems.push(Problem::new(format!("{path}.enum_values[{index}]"), "WrongType", message));
    }
    let Some(default) = &settings.default_value else { return };
    if !fits(default) {
        let message =
            format!("parameter '{name}' is of type {} but defaults to {default}", value_type.as_str());
        problems.push(Problem::new(format!("{path}.default_value"), "WrongType", message));
    } else if !allowed.is_empty() && !allowed.contains(default) {
        let message = format!("parameter '{name}' defaults to {default}, which enum_values does not list");
        problems.push(Problem::new(format!("{path}.default_value"), "NotAllowed", message));
    }
}

/// A caller must not be able to replace what the service signs in with.
fn check_not_reserved(
    settings: &ParameterSettings,
    header: Option<&HeaderName>,
    reserved: Reserved<'_>,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let is_sign_in = match reserved.auth {
        Auth::None => false,
        Auth::Header(name, _, _) => header == Some(name),
        Auth::Query(name, _) => {
            header.is_none() && name == settings.sent_as.as_ref().unwrap_or(&settings.name)
        }
        Auth::Tokens(_) => header == Some(&AUTHORIZATION),
    };
    if header.is_some_and(|header| reserved.passed.contains(header)) {
        let message = format!("'{}' is handed on (pass_headers) and cannot be a parameter", settings.name);
        problems.push(Problem::new(format!("{path}.name"), "ReservedParameter", message));
    }
    if is_sign_in {
        let message = format!("'{}' carries the service's sign-in and cannot be a parameter", settings.name);
        problems.push(Problem::new(format!("{path}.name"), "ReservedParameter", message));
    }
}

fn check_style(
    settings: &ParameterSettings,
    position: Position,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<Style> {
    let given = settings.style.as_deref()?;
    let name = &settings.name;
    let path = format!("{path}.style");
    let style = Style::parse(given);
    if style.is_none() {
        let message = format!("parameter '{name}' has the style '{given}'; allowed are {}", Style::list());
        problems.push(Problem::new(path, "InvalidStyle", message));
    } else if matches!(position, Position::Path | Position::Header | Position::WholeBody) {
        let message =
            format!("the position of parameter '{name}' is '{}', which has no style", position.as_str());
        problems.push(Problem::new(path, "Unused", message));
    }
    style
}

fn check_file(
    settings: &ParameterSettings,
    position: Position,
    value_type: Type,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<File> {
    let FileSettings { encoding, filename, content_type } = settings.file.as_ref()?;
    let name = &settings.name;
    let mut refuse = |field: &str, code, message| {
        problems.push(Problem::new(format!("{path}.{field}"), code, message));
    };
    if !matches!(position, Position::Form | Position::WholeBody) {
        let message = format!("parameter '{name}' is a file, so its position must be 'form' or 'whole_body'");
        refuse("position", "ParameterPositionMismatch", message);
    }
    if !matches!(value_type, Type::String | Type::Object) {
        let message = format!("parameter '{name}' is a file, so its type must be String or Object");
        refuse("parameter_type", "WrongType", message);
    }
    if !is_media_type(content_type) {
        let message = format!("'{content_type}' is no content type; write e.g. application/pdf");
        refuse("file.content_type", "InvalidContentType", message);
    }
    Some(File {
        is_base64: *encoding == FileEncoding::Base64,
        filename: filename.clone().unwrap_or_else(|| name.clone()),
        content_type: content_type.clone(),
    })
}
