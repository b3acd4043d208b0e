//! Tools of an API: checked once when the service is opened, then trusted.

use super::endpoint::{Piece, check_placeholders, check_query, parse_endpoint};
use super::error_template::ErrorTemplate;
use super::parameters::{Parameter, Position, Reserved, check_parameters};
use super::settings::{FormEncoding, ToolSettings};
use super::value_schema::check_places;
use crate::shared::headers::check_headers;
use fetch::http::header::HeaderMap;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tool::definition::object_schema;
use tool::secret::names::without_query_secrets;
use tool::uri::Method;
use tool::{Error, Problem, Result, Shape, Tool};

/// A tool whose parts fit together.
#[derive(Debug)]
pub(crate) struct Definition {
    /// As everybody may see it: without the secrets in its query string.
    pub(crate) endpoint: String,
    /// The path of the endpoint in pieces.
    pub(crate) path: Vec<Piece>,
    /// What stands behind the endpoint's question mark.
    pub(crate) query: String,
    /// Those that may be sent, the tool's own first.
    pub(crate) methods: Vec<Method>,
    pub(crate) headers: HeaderMap,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) timeout: Option<Duration>,
    /// Whether it may be repeated, where that does not follow from the method.
    pub(crate) is_idempotent: Option<bool>,
    pub(crate) form_encoding: FormEncoding,
    pub(crate) error_template: Option<ErrorTemplate>,
    id: String,
    description: String,
    shape: Shape,
}

impl Definition {
    /// The tool as clients see it.
    pub(crate) fn to_tool(&self) -> Result<Tool> {
        let tool = Tool::new(&self.id, self.description(), &self.input_schema())?;
        Ok(self.finished(tool))
    }

    /// The same with what its methods promise.
    pub(crate) fn to_annotated_tool(&self) -> Result<Tool> {
        let reads = |method: &Method| matches!(method, Method::Get | Method::Head);
        let is_reading = self.methods.iter().all(reads);
        let is_idempotent =
            self.is_idempotent.unwrap_or_else(|| self.methods.iter().copied().all(is_idempotent));
        let definition = json!({
            "name": self.id, "description": self.description(), "inputSchema": self.input_schema(),
            "annotations": {
                "readOnlyHint": is_reading, "destructiveHint": !is_reading, "idempotentHint": is_idempotent,
                "openWorldHint": false,
            },
        });
        let definition = to_raw_value(&definition)
            .map_err(|error| Error::internal("a definition cannot be written").caused_by(error))?;
        Ok(self.finished(Tool::from_raw(&definition)?))
    }

    fn input_schema(&self) -> Value {
        let properties: Map<_, _> =
            self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.schema())).collect();
        let required = self.parameters.iter().filter(|parameter| parameter.is_required);
        let required = required.map(|parameter| parameter.name.clone()).collect();
        object_schema(properties, required)
    }

    fn description(&self) -> String {
        if self.description.is_empty() {
            format!("{} {}", self.methods.first().map_or("", |method| method.as_str()), self.endpoint)
        } else {
            self.description.clone()
        }
    }

    fn finished(&self, tool: Tool) -> Tool {
        tool.shaped(self.shape.clone()).taking_null(true).using(self.methods.clone())
    }

    /// Whether any parameter goes there.
    pub(crate) fn has(&self, position: Position) -> bool {
        self.parameters.iter().any(|parameter| parameter.position == position)
    }
}

/// Checks every tool and reports every problem; the result is usable when there is none.
pub(crate) fn check(
    tools: &[ToolSettings],
    reserved: Reserved<'_>,
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
        if let Some(definition) = check_tool(settings, &path, reserved, problems) {
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

/// The tool's own method and those that are open beside it.
fn check_methods(settings: &ToolSettings, path: &str, problems: &mut Vec<Problem>) -> Vec<Method> {
    let more = settings.methods.iter().enumerate().map(|(at, method)| (format!("methods[{at}]"), method));
    let mut methods = Vec::new();
    for (field, method) in [("method".to_owned(), &settings.method)].into_iter().chain(more) {
        match method.parse() {
            Ok(known) if methods.contains(&known) => {}
            Ok(known) => methods.push(known),
            Err(()) => {
                let message = format!("'{method}' is no method; use GET, POST, PUT, PATCH, DELETE or HEAD");
                problems.push(Problem::new(format!("{path}.{field}"), "InvalidMethod", message));
            }
        }
    }
    methods
}

fn check_tool(
    settings: &ToolSettings,
    path: &str,
    reserved: Reserved<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Definition> {
    let methods = check_methods(settings, path, problems);
    let error_template = ErrorTemplate::check(settings.error_template.as_deref(), path, problems);
    let headers = check_headers(&settings.headers, &format!("{path}.headers"), problems);
    let parameters = check_parameters(&settings.parameters, path, reserved, problems);
    check_places(settings, &methods, path, problems);
    let form_encoding = check_body(settings, &parameters, &methods, path, problems);
    let (path_text, query) = settings.endpoint.split_once('?').unwrap_or((&settings.endpoint, ""));
    let pieces = parse_endpoint(path_text).and_then(|pieces| check_query(query).map(|()| pieces));
    let pieces = match pieces {
        Ok(pieces) => pieces,
        Err(why) => {
            let message = format!("the endpoint '{}' {why}", without_query_secrets(&settings.endpoint));
            problems.push(Problem::new(format!("{path}.endpoint"), "InvalidEndpoint", message));
            return None;
        }
    };
    check_placeholders(&pieces, &settings.parameters, path, problems);
    Some(Definition {
        endpoint: without_query_secrets(&settings.endpoint).into_owned(),
        path: pieces,
        query: query.to_owned(),
        methods,
        headers,
        parameters,
        timeout: settings.timeout_ms.map(Duration::from_millis),
        is_idempotent: settings.idempotent,
        form_encoding,
        error_template,
        id: settings.id.clone(),
        description: settings.description.clone(),
        shape: Shape {
            select: settings.select.clone(),
            template: settings.response_template.clone(),
            max_bytes: settings.max_result_bytes,
        },
    })
}

/// A body is one thing: JSON or a form, and a form with files has parts.
fn check_body(
    settings: &ToolSettings,
    parameters: &[Parameter],
    methods: &[Method],
    path: &str,
    problems: &mut Vec<Problem>,
) -> FormEncoding {
    let has = |position| parameters.iter().any(|parameter| parameter.position == position);
    let is_file = |parameter: &&Parameter| parameter.file.is_some() && parameter.position == Position::Form;
    let file = parameters.iter().find(is_file);
    let mut refuse = |field: &str, code, message: String| {
        problems.push(Problem::new(format!("{path}.{field}"), code, message));
    };
    if has(Position::Body) && has(Position::Form) {
        let message = "there are body and form parameters; a request has one body, so use one of the two";
        refuse("parameters", "ParameterPositionMismatch", message.to_owned());
    }
    if settings.form_encoding.is_some() && !has(Position::Form) {
        let message = "form_encoding does nothing without a parameter whose position is 'form'";
        refuse("form_encoding", "Unused", message.to_owned());
    }
    if let Some(file) = file
        && let Some(method) = methods.iter().find(|method| !takes_form(**method))
    {
        let method = method.as_str();
        let message = format!("a {method} request cannot carry the file '{}'; use POST or PUT", file.name);
        refuse("method", "ParameterPositionMismatch", message);
    }
    match (settings.form_encoding, file) {
        (Some(FormEncoding::Urlencoded), Some(file)) => {
            let message = format!("the file '{}' needs the form_encoding 'multipart'", file.name);
            refuse("form_encoding", "ParameterPositionMismatch", message);
            FormEncoding::Multipart
        }
        (None, Some(_)) => FormEncoding::Multipart,
        (given, _) => given.unwrap_or_default(),
    }
}

/// Methods whose forms travel in the body: whoever asks for a form means one.
pub(crate) fn takes_form(method: Method) -> bool {
    takes_body(method) || method == Method::Delete
}

/// Methods whose arguments travel in the body; those of the others go into the query string.
pub(crate) fn takes_body(method: Method) -> bool {
    match method {
        Method::Post | Method::Put | Method::Patch => true,
        Method::Get | Method::Delete | Method::Head => false,
    }
}

/// Methods that may be repeated without doing something twice.
pub(crate) fn is_idempotent(method: Method) -> bool {
    match method {
        Method::Get | Method::Head | Method::Put | Method::Delete => true,
        Method::Post | Method::Patch => false,
    }
}
