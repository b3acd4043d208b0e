//! What becomes of an operation: the definition of a tool, checked as the connector checks it.

use super::Operation;
use crate::api::openapi::body::{self, Drafted};
use crate::api::openapi::budget::Budget;
use crate::api::openapi::document::Document;
use crate::api::openapi::names::{MAX_DESCRIPTION, shorten, tool_id};
use crate::api::openapi::notes::Notes;
use crate::api::openapi::parameters::{self, Parameter};
use crate::api::openapi::paths::{self, Path};
use crate::api::openapi::schemas::Schemas;
use crate::api::openapi::security::SignIn;
use crate::api::openapi::{Auth, PassedHeaders, Position, Reserved, ToolSettings, refuse, servers, tools};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use tool::{ImportedTool, Result};

/// What one tool may say about its arguments; more than a model reads anyway.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// What all tools of a document may say: what they are, and what clients see of them.
const MAX_TOTAL_BYTES: usize = 16 * 1024 * 1024;
/// The size of all patterns of a document.
const MAX_PATTERNS: usize = 20_000_000;
/// Longer ones are no paths.
const MAX_PATH_BYTES: usize = 2_000;

/// The tools; what can be none is noted with its reason. Where they would say too much together, each says less.
///
/// # Errors
/// When they say too much even so.
pub(in crate::api::openapi) fn to_tools(
    document: &Document,
    operations: &[Operation<'_>],
    sign_in: &SignIn,
    notes: &mut Notes,
) -> Result<Vec<ImportedTool>> {
    // Schemas count twice: in the definition and in what clients see. The rest of a tool needs room, too.
    let share = MAX_TOTAL_BYTES / 3 / operations.len().max(1);
    for max_bytes in [MAX_SCHEMA_BYTES, share.min(MAX_SCHEMA_BYTES)] {
        let mut tried = notes.clone();
        let Some(tools) = to_tools_within(max_bytes, document, operations, sign_in, &mut tried) else {
            continue;
        };
        *notes = tried;
        if max_bytes < MAX_SCHEMA_BYTES {
            notes.warn(format!(
                "the schemas of the document are too large together; those of one tool are spelled out up to {} KiB. \
                 Choose fewer operations with include to have more of them",
                max_bytes / 1024
            ));
        }
        return Ok(tools);
    }
    let message = "the tools of the document are too large together; choose operations with include";
    Err(refuse("document", "TooLarge", message))
}

/// The tools, unless they are too large together, which is noticed on the way.
fn to_tools_within(
    max_bytes: usize,
    document: &Document,
    operations: &[Operation<'_>],
    sign_in: &SignIn,
    notes: &mut Notes,
) -> Option<Vec<ImportedTool>> {
    let (mut total, mut patterns) = (Budget::new(MAX_TOTAL_BYTES), Budget::new(MAX_PATTERNS));
    let mut ids = HashSet::new();
    let mut made = Vec::new();
    for operation in operations {
        notes.begin(&operation.label);
        let mut schemas = Schemas::new(document, max_bytes, &mut patterns);
        let tool = draft(document, operation, sign_in, &mut schemas, notes).and_then(|mut definition| {
            let id = operation.definition.get("operationId").and_then(Value::as_str);
            let id = tool_id(id, operation.method, operation.path, &mut ids);
            definition.shift_insert(0, "id".into(), id.into());
            checked(definition)
        });
        // What clients see of a tool is as large as its schemas; what is skipped has cost as much.
        total.spend(schemas.used());
        match tool {
            Ok(tool) => {
                tool.definition.iter().all(|(name, value)| total.spend_field(name, value));
                made.push(tool);
            }
            Err(reason) => notes.skip(&operation.label, reason),
        }
        if total.is_spent() {
            return None;
        }
    }
    notes.end();
    Some(made)
}

fn draft(
    document: &Document,
    operation: &Operation<'_>,
    sign_in: &SignIn,
    schemas: &mut Schemas<'_>,
    notes: &mut Notes,
) -> Result<Map<String, Value>, String> {
    if !operation.definition.is_object() {
        return Err("it is no object".into());
    }
    if operation.path.len() > MAX_PATH_BYTES {
        return Err(format!("its path has more than {MAX_PATH_BYTES} bytes"));
    }
    for holder in [operation.definition, operation.path_item] {
        if let Some(server) = servers::elsewhere(document, holder) {
            return Err(format!("it is at another server, {server}; import it as a service of its own"));
        }
    }
    let mut all = parameters::of_operation(document, operation.path_item, operation.definition)?;
    let text = |parameter: &Value, key: &str| {
        parameter.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    all.retain(|parameter| !sign_in.carries(&text(parameter, "in"), &text(parameter, "name")));
    let drafts = parameters::draft(document, &all, schemas, notes)?;
    if operation.method != "GET" && operation.method != "HEAD" {
        let drafted = body::draft(document, operation.definition, &all, schemas, notes)?;
        return finish(operation, drafts, drafted, notes);
    }
    if operation.definition.get("requestBody").is_some() {
        notes.warn(format!("the body is left out, since a {} sends none", operation.method));
    }
    finish(operation, drafts, Drafted::default(), notes)
}

fn finish(
    operation: &Operation<'_>,
    drafts: Vec<Parameter>,
    body: Drafted,
    notes: &mut Notes,
) -> Result<Map<String, Value>, String> {
    let fields = body.parameters;
    if drafts.len() + fields.len() > parameters::MAX_PARAMETERS {
        return Err(parameters::too_many());
    }
    let mut taken = HashSet::new();
    let Path { mut endpoint, queried } = paths::expand(operation.path, notes);
    let mut settings = Vec::new();
    // A DELETE sends fields in its query string; a body that the document has must stay one.
    let fields = if operation.method == "DELETE" { as_whole(fields, body.is_required) } else { fields };
    let drafts = paths::with_queried(drafts, &queried);
    for mut parameter in drafts.into_iter().chain(fields) {
        if parameter.position == Position::Path {
            parameter.name = paths::variable(&parameter.name).to_owned();
        }
        let original = parameter.name.clone();
        if parameter.position == Position::Path && !endpoint.contains(&format!("{{{original}}}")) {
            let name = shorten(&original, 50);
            notes.warn(format!("the path has no place for the parameter '{name}'; it is left out"));
            continue;
        }
        parameter.take_name(&mut taken);
        if operation.method == "PATCH" && matches!(parameter.position, Position::Body | Position::Form) {
            parameter.tell_default();
        }
        if parameter.position == Position::Path {
            endpoint = endpoint.replace(&format!("{{{original}}}"), &format!("{{{}}}", parameter.name));
        }
        settings.push(parameter.into_settings(notes));
    }
    undeclared(&mut endpoint, &mut settings, &mut taken);
    let mut definition = Map::new();
    definition.insert("description".into(), description(operation).into());
    definition.insert("method".into(), operation.method.into());
    definition.insert("endpoint".into(), endpoint.into());
    if let Some(content_type) = body.content_type {
        definition.insert("headers".into(), json!({ "Content-Type": content_type }));
    }
    if let Some(form_encoding) = body.form_encoding {
        definition.insert("form_encoding".into(), form_encoding.into());
    }
    definition.insert("parameters".into(), settings.into());
    Ok(definition)
}

/// Fields of a body put back together.
fn as_whole(fields: Vec<Parameter>, is_body_required: bool) -> Vec<Parameter> {
    if fields.is_empty() || fields.iter().any(|field| field.position != Position::Body) {
        return fields;
    }
    let required: Vec<Value> =
        fields.iter().filter(|field| field.is_required).map(|field| field.name.clone().into()).collect();
    let properties: Map<_, _> = fields.into_iter().map(|field| (field.name, field.schema.into())).collect();
    let mut schema =
        Map::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), properties.into())]);
    let is_required = is_body_required || !required.is_empty();
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    vec![Parameter {
        is_required,
        description: Some("The whole body of the request.".into()),
        ..Parameter::new("body", Position::WholeBody, schema)
    }]
}

/// A placeholder that no parameter explains is a text.
fn undeclared(endpoint: &mut String, settings: &mut Vec<Value>, taken: &mut HashSet<String>) {
    let path = endpoint.clone();
    for part in path.split('{').skip(1) {
        let Some((name, _)) = part.split_once('}') else { continue };
        let is_known = |parameter: &Value| parameter["name"] == name && parameter["position"] == "path";
        if name.is_empty() || settings.iter().any(is_known) {
            continue;
        }
        let schema = Map::from_iter([("type".to_owned(), "string".into())]);
        let mut parameter = Parameter { is_required: true, ..Parameter::new(name, Position::Path, schema) };
        parameter.take_name(taken);
        *endpoint = endpoint.replace(&format!("{{{name}}}"), &format!("{{{}}}", parameter.name));
        settings.push(parameter.into_settings(&mut Notes::default()));
    }
}

/// What the operation is for: its summary, then as much of its description as a model reads.
fn description(operation: &Operation<'_>) -> String {
    let text = |holder: &Value, key: &str| {
        let words = holder.get(key).and_then(Value::as_str).map(|words| shorten(words, MAX_DESCRIPTION));
        words.filter(|words| !words.is_empty())
    };
    let either = |key: &str| text(operation.definition, key).or_else(|| text(operation.path_item, key));
    let words = match (either("summary"), either("description")) {
        (Some(summary), Some(more)) if more.starts_with(summary.trim_end_matches('.')) => more,
        (Some(summary), Some(more)) => {
            let end = if summary.ends_with(['.', '!', '?']) { "" } else { "." };
            shorten(&format!("{summary}{end} {more}"), MAX_DESCRIPTION)
        }
        (Some(words), None) | (None, Some(words)) => words,
        (None, None) => operation.label.clone(),
    };
    let is_deprecated = operation.definition.get("deprecated") == Some(&Value::Bool(true));
    if is_deprecated { format!("Deprecated. {words}") } else { words }
}

/// Whatever the connector would refuse is no tool, and the connector says why.
fn checked(definition: Map<String, Value>) -> Result<ImportedTool, String> {
    let definition = Value::Object(definition);
    let settings = ToolSettings::deserialize(&definition).map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    let reserved = Reserved { auth: &Auth::None, passed: &PassedHeaders::default() };
    let made = tools::check(std::slice::from_ref(&settings), reserved, &mut problems);
    if let Some(problem) = problems.first() {
        return Err(problem.message.clone());
    }
    let tool =
        made.values().next().ok_or("it cannot be a tool")?.to_tool().map_err(|error| error.to_string())?;
    let Value::Object(definition) = definition else { return Err("it cannot be a tool".into()) };
    let (input_schema, steered_by) = (tool.input_schema().to_owned(), Map::new());
    Ok(ImportedTool { definition, input_schema, output_schema: None, steered_by })
}
