//! Tools of an API: checked once when the service is opened, then trusted.

use super::auth::Auth;
use super::endpoint::{Piece, check_placeholders, check_query, parse_endpoint};
use super::settings::{ParameterSettings, ToolSettings, check_header_name, check_headers};
use super::value_schema::{ValueSchema, check_places};
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tool::definition::object_schema;
use tool::uri::Method;
use tool::{Problem, Result, Shape, Tool};

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
    Position { Path = "path", Query = "query", Header = "header", Body = "body", WholeBody = "whole_body" }
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

/// A tool whose parts fit together.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) endpoint: String,
    /// The path of the endpoint in pieces.
    pub(super) path: Vec<Piece>,
    /// What stands behind the endpoint's question mark.
    pub(super) query: String,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) parameters: Vec<Parameter>,
    pub(super) timeout: Option<Duration>,
    id: String,
    description: String,
    shape: Shape,
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
}

impl Definition {
    /// The tool as clients see it.
    pub(super) fn to_tool(&self) -> Result<Tool> {
        let properties: Map<_, _> =
            self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.schema())).collect();
        let required = self.parameters.iter().filter(|parameter| parameter.is_required);
        let required = required.map(|parameter| parameter.name.clone()).collect();
        let description = if self.description.is_empty() {
            format!("{} {}", self.method.as_str(), self.endpoint)
        } else {
            self.description.clone()
        };
        let tool = Tool::new(&self.id, description, &object_schema(properties, required))?;
        Ok(tool.shaped(self.shape.clone()))
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let mut schema = match &self.schema {
            Some(schema) => schema.written.clone(),
            None if self.value_type == Type::Array => json!({ "type": "array", "items": {} }),
            None => json!({ "type": self.value_type.in_schema() }),
        };
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

/// Checks every tool and reports every problem; the result is usable when there is none.
pub(super) fn check(
    tools: &[ToolSettings],
    auth: &Auth,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Definition> {
    let mut checked = BTreeMap::new();
    let mut ids = HashSet::new();
    for (index, settings) in tools.iter().enumerate() {
        let path = format!("tools[{index}]");
        check_id(&settings.id, &path, problems);
        if !ids.insert(settings.id.as_str()) {
            let message = format!("there are two tools with the id '{}'", settings.id);
            problems.push(Problem::new(format!("{path}.id"), "DuplicateTool", message));
        }
        if let Some(definition) = check_tool(settings, &path, auth, problems) {
            checked.insert(settings.id.clone(), definition);
        }
    }
    checked
}

fn check_id(id: &str, path: &str, problems: &mut Vec<Problem>) {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if !(1..=64).contains(&id.len()) || !id.bytes().all(is_legal) {
        let message = format!("'{id}' is no tool id; use 1 to 64 letters, digits, '_', '.' or '-'");
        problems.push(Problem::new(format!("{path}.id"), "InvalidId", message));
    }
}

fn check_method(method: &str, path: &str, problems: &mut Vec<Problem>) -> Option<Method> {
    let known = method.parse().ok();
    if known.is_none() {
        let message = format!("'{method}' is no method; use GET, POST, PUT, PATCH, DELETE or HEAD");
        problems.push(Problem::new(format!("{path}.method"), "InvalidMethod", message));
    }
    known
}

fn check_tool(
    settings: &ToolSettings,
    path: &str,
    auth: &Auth,
    problems: &mut Vec<Problem>,
) -> Option<Definition> {
    let method = check_method(&settings.method, path, problems);
    let headers = check_headers(&settings.headers, &format!("{path}.headers"), problems);
    let parameters = check_parameters(&settings.parameters, path, auth, problems);
    check_places(settings, method, path, problems);
    let (path_text, query) = settings.endpoint.split_once('?').unwrap_or((&settings.endpoint, ""));
    let pieces = parse_endpoint(path_text).and_then(|pieces| check_query(query).map(|()| pieces));
    let pieces = match pieces {
        Ok(pieces) => pieces,
        Err(why) => {
            let message = format!("the endpoint '{}' {why}", settings.endpoint);
            problems.push(Problem::new(format!("{path}.endpoint"), "InvalidEndpoint", message));
            return None;
        }
    };
    check_placeholders(&pieces, &settings.parameters, path, problems);
    Some(Definition {
        endpoint: settings.endpoint.clone(),
        path: pieces,
        query: query.to_owned(),
        method: method?,
        headers,
        parameters,
        timeout: settings.timeout_ms.map(Duration::from_millis),
        id: settings.id.clone(),
        description: settings.description.clone(),
        shape: Shape {
            select: settings.select.clone(),
            template: settings.response_template.clone(),
            max_bytes: settings.max_result_bytes,
        },
    })
}

fn check_parameters(
    parameters: &[ParameterSettings],
    path: &str,
    auth: &Auth,
    problems: &mut Vec<Problem>,
) -> Vec<Parameter> {
    let mut names = HashSet::new();
    let mut headers = HashSet::new();
    let mut checked = Vec::new();
    for (index, settings) in parameters.iter().enumerate() {
        let path = format!("{path}.parameters[{index}]");
        let parameter = check_parameter(settings, &path, auth, problems);
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
    auth: &Auth,
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
    check_values(settings, value_type?, schema.as_ref(), path, problems);
    check_not_reserved(settings, header.as_ref(), auth, path, problems);
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
    auth: &Auth,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let is_reserved = match auth {
        Auth::None => false,
        Auth::Header(name, _, _) => header == Some(name),
        Auth::Query(name, _) => {
            header.is_none() && name == settings.sent_as.as_ref().unwrap_or(&settings.name)
        }
    };
    if is_reserved {
        let message = format!("'{}' carries the service's sign-in and cannot be a parameter", settings.name);
        problems.push(Problem::new(format!("{path}.name"), "ReservedParameter", message));
    }
}
