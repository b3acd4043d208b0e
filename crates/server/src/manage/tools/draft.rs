//! What a Tool is checked for before it is stored: every problem at once, with its path in the body.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::manage::runs::rights::may_run;
use crate::manage::secrets::{AddressChange, Visibility, empty_masks, masked};
use crate::manage::tables;
use gateway::{ToolBody, ToolDefinition};
use runtime::tool_definition::{URI_TYPE, body_of, table_of};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use store::{Tool, ToolStatus};
use tool::schema::Schema;
use tool::secret::MASK;
use tool::uri::ParseError;
use tool::{Role, ToolId};

const MAX_NAME: usize = 64;

/// The fields that every Tool has; the others make its definition.
const COMMON: [&str; 5] = ["name", "type", "alias", "description", "status"];

/// A Tool as a body describes it, and what is wrong with it.
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) alias: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) status: ToolStatus,
    /// Everything else.
    pub(crate) definition: Value,
    pub(crate) problems: Vec<tool::Problem>,
    /// The tool as clients would see it.
    pub(crate) tool: Option<tool::Tool>,
    pub(crate) shape: tool::Shape,
}

impl Draft {
    /// The draft, if nothing is wrong with it.
    pub(crate) fn accepted(self) -> Result<Self> {
        if self.problems.is_empty() { Ok(self) } else { Err(Problem::invalid(self.problems)) }
    }
}

/// Reads and checks a whole Tool.
pub(crate) async fn check(state: &Shared, signed_in: &SignedIn, body: Map<String, Value>) -> Result<Draft> {
    let mut body = body;
    body.retain(|_, value| !value.is_null());
    // What we show of an index is no part of the Tool, also when it is sent back.
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove(super::search_index::MIRROR);
    }
    let kind = body.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let inline = state.gateway.inline(&kind);
    let mut problems = Vec::new();
    match schema_of(state, &kind) {
        Some(schema) => {
            problems.extend(Schema::compile(&schema, "field")?.check(&Value::Object(body.clone())))
        }
        None => problems.push(unknown_type(state, body.get("type"))),
    }
    let text = |body: &Map<String, Value>, field: &str| body.get(field)?.as_str().map(str::to_owned);
    let name = text(&body, "name").unwrap_or_default();
    if body.get("name").is_some_and(Value::is_string) {
        problems.extend(check_name(&name));
    }
    if let (Some(inline), Some(config)) =
        (inline.filter(|inline| inline.part.is_some()), body.get_mut("config"))
    {
        (inline.complete)(config);
        if (inline.needs_manager)(config) && signed_in.caller.role < Role::Manager {
            return Err(Problem::forbidden("only managers let a tool into the private network"));
        }
    }
    let mut draft = Draft {
        alias: text(&body, "alias"),
        description: text(&body, "description"),
        status: body.get("status").and_then(status_of).unwrap_or_default(),
        definition: Value::Object(
            body.into_iter().filter(|(name, _)| !COMMON.contains(&name.as_str())).collect(),
        ),
        name,
        kind,
        problems,
        tool: None,
        shape: tool::Shape::default(),
    };
    check_body(state, signed_in, &mut draft).await;
    if let Some(config) = draft.definition.get("config") {
        let mut masks = empty_masks(config, &config_schema(state, &draft.kind), "config");
        masks.retain(|mask| !draft.problems.iter().any(|known| mask.is_within(&known.path)));
        draft.problems.extend(masks);
    }
    Ok(draft)
}

async fn check_body(state: &Shared, signed_in: &SignedIn, draft: &mut Draft) {
    let body = match draft.kind == URI_TYPE {
        true => readable_uri_tool(state, draft),
        false => readable_inline(state, draft),
    };
    // The schema has said what is missing or of the wrong type.
    let Some(body) = body else { return };
    if let ToolBody::Uri(tool) = &body {
        draft.shape = tool.shape.clone();
    }
    let definition = ToolDefinition {
        id: ToolId::generate(),
        name: draft.name.clone(),
        description: draft.description.clone(),
        is_active: false,
        version: 0,
        body,
    };
    let checked = state.gateway.check_tool(&signed_in.tenant, &definition).await;
    // Where both refuse the same place, the gateway's words are finer.
    draft.problems.retain(|problem| !checked.problems.iter().any(|finer| finer.path == problem.path));
    draft.problems.extend(checked.problems);
    if let Some(tool) = &checked.tool {
        draft.shape = tool.shape().clone();
    }
    draft.tool = checked.tool;
}

fn readable_inline(state: &Shared, draft: &Draft) -> Option<ToolBody> {
    let has_config = draft.definition.get("config").is_some_and(Value::is_object);
    let is_readable = state.gateway.inline(&draft.kind)?.part.is_none() || has_config;
    body_of(&draft.kind, &draft.definition).ok().filter(|_| is_readable)
}

/// The Tool without the fields that have problems already. In place of a wrong URI stands one that leads
/// nowhere, so that the rest is checked without a target.
fn readable_uri_tool(state: &Shared, draft: &mut Draft) -> Option<ToolBody> {
    let mut fields = draft.definition.as_object().cloned()?;
    fields.retain(|name, _| !draft.problems.iter().any(|problem| problem.is_within(name)));
    if draft.definition.get("arguments").is_some() && !fields.contains_key("arguments") {
        fields.shift_remove("hidden"); // its values may be among them
    }
    let uri = fields.get("uri").and_then(Value::as_str).map(str::parse::<tool::Uri>);
    let uri = uri.map(|uri| uri.and_then(|uri| state.gateway.check_options(&uri)));
    if !matches!(uri, Some(Ok(()))) {
        let kind = state.gateway.kinds().iter().find(|kind| kind.ambient.is_none())?;
        fields.insert("uri".into(), format!("{}://.nowhere/nothing", kind.scheme).into());
    }
    let body = body_of(&draft.kind, &Value::Object(fields)).ok();
    for reason in uri.iter().filter_map(|uri| uri.as_ref().err()).flat_map(ParseError::reasons) {
        draft.problems.push(tool::Problem::new("uri", "InvalidUri", reason.to_string()));
    }
    body
}

/// A table that a Tool leads to must be there for whoever makes the Tool: its callers need no
/// right of their own.
pub(crate) async fn check_table(state: &Shared, signed_in: &SignedIn, draft: &Draft) -> Result<()> {
    if let Some(table) = table_of(&draft.definition) {
        tables::find(state, signed_in, &table).await?;
    }
    Ok(())
}

/// A flow that a Tool leads to may be run by whoever makes the Tool: its callers need no right of their own.
pub(crate) fn check_flow(signed_in: &SignedIn, draft: &Draft) -> Result<()> {
    let uri = draft.definition.get("uri").filter(|_| draft.kind == URI_TYPE);
    let Some(Ok(uri)) = uri.and_then(Value::as_str).map(str::parse::<tool::Uri>) else { return Ok(()) };
    // Nobody with a list of what they may call makes Tools, so that any version is as good.
    if uri.scheme() == tool::runs::SCHEME {
        may_run(signed_in, uri.service())?;
    }
    Ok(())
}

/// Those who only call cannot take a name that is in use, or they could listen in on others' calls.
pub(crate) fn check_free(state: &Shared, signed_in: &SignedIn, draft: &Draft) -> Result<()> {
    let name = &draft.name;
    let catalog = state.gateway.catalog().tenant(&signed_in.tenant);
    // A Tool that shares its name gets a suffix where another Tool has it already.
    let may_share = shares_names(state, &draft.kind);
    let takes = |route: &gateway::Route| route.name == *name && !(may_share && route.is_own());
    let is_taken = catalog.is_some_and(|catalog| catalog.routes().iter().any(|route| takes(route)));
    if signed_in.caller.role >= Role::Manager {
        return Ok(());
    }
    if is_taken {
        return Err(Problem::new(Code::Conflict, format!("the name '{name}' is taken already")));
    }
    // The service may be switched off, away, or not made yet.
    if name.contains(gateway::SERVICE_SEPARATOR) {
        let message = "names with '__' are those of services' tools; choose another, or ask a manager";
        return Err(Problem::new(Code::Forbidden, message));
    }
    Ok(())
}

/// Tools over tables are made to be bound, and need a name of their own only where they are.
pub(crate) fn shares_names(state: &Shared, kind: &str) -> bool {
    state.gateway.inline(kind).is_some_and(|inline| inline.part.is_none())
}

fn unknown_type(state: &Shared, given: Option<&Value>) -> tool::Problem {
    let inline = state.gateway.kinds().iter().filter_map(|kind| kind.inline);
    let known: Vec<_> = inline.flat_map(|inline| inline.tool_types).copied().chain([URI_TYPE]).collect();
    let known = known.join(", ");
    match given.and_then(Value::as_str) {
        None => tool::Problem::new("type", "Required", format!("a tool needs a 'type': one of {known}")),
        Some(kind) => {
            let message = format!("{}; use one of {known}", state.gateway.registry().no_tool_type(kind));
            tool::Problem::new("type", "UnknownType", message)
        }
    }
}

fn check_name(name: &str) -> Option<tool::Problem> {
    if gateway::is_reserved(name) {
        let message = format!("'{name}' is the name of a tool of ours, of doors that search; choose another");
        return Some(tool::Problem::new("name", "ReservedName", message));
    }
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_legal) {
        return None;
    }
    let message = format!("a tool's name has 1 to {MAX_NAME} letters, digits, '_', '.' or '-'");
    Some(tool::Problem::new("name", "InvalidName", message))
}

fn status_of(status: &Value) -> Option<ToolStatus> {
    serde_json::from_value(status.clone()).ok()
}

/// The JSON Schema of a body, without what only the gateway can check.
fn schema_of(state: &Shared, kind: &str) -> Option<Value> {
    let mut properties = json!({
        "name": { "type": "string" },
        "type": { "type": "string" },
        "alias": { "type": "string", "maxLength": 200 },
        "description": { "type": "string", "maxLength": 10_000 },
        "status": { "enum": ["testing", "active", "inactive"] },
        "metadata": { "type": "object" },
    });
    let (more, required) = if kind == URI_TYPE {
        let more = json!({
            "uri": { "type": "string" },
            "arguments": { "type": "object" },
            "hidden": { "type": "array", "items": { "type": "string" } },
            "rename": { "type": "object", "additionalProperties": { "type": "string" } },
            "response_template": { "type": "string" },
            "select": { "type": "string" },
            "max_result_bytes": { "type": "integer", "minimum": 1 },
            "input_schema": { "type": "object" },
        });
        (more, json!(["name", "uri"]))
    } else {
        match state.gateway.inline(kind)? {
            inline if inline.part.is_some() => {
                (json!({ "config": { "type": "object" } }), json!(["name", "config"]))
            }
            // What the connector wants of them it says itself.
            inline => {
                let names = (inline.schema)().get("properties").and_then(Value::as_object).cloned();
                let names = names.unwrap_or_default().into_iter().map(|(name, _)| (name, json!({})));
                (Value::Object(names.collect()), json!(["name"]))
            }
        }
    };
    if let (Some(properties), Value::Object(more)) = (properties.as_object_mut(), more) {
        properties.extend(more);
    }
    let schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    Some(schema)
}

/// A whole Tool as a body would describe it.
pub(crate) fn body_from(tool: &Tool) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("name".into(), tool.name.as_str().into());
    body.insert("type".into(), tool.kind.as_str().into());
    body.insert("alias".into(), tool.alias.clone().into());
    body.insert("description".into(), tool.description.clone().into());
    body.insert("status".into(), tool.status.as_str().into());
    body.extend(tool.definition.as_object().cloned().unwrap_or_default());
    body
}

/// The Tool with the fields of a change; secrets that were left out or sent back masked stay, unless the Tool leads
/// somewhere else now.
pub(crate) fn changed(
    state: &Shared,
    old: &Tool,
    mut changes: Map<String, Value>,
) -> (Map<String, Value>, AddressChange) {
    let mut body = body_from(old);
    let mut moving = AddressChange::default();
    if let Some(config) = changes.get_mut("config").filter(|config| config.is_object()) {
        let (old_config, schema) = (&old.definition["config"], config_schema(state, &old.kind));
        moving = AddressChange::between(config, old_config, &schema);
        *config = moving.with_secrets(config.take(), old_config, &schema, "config");
    }
    if let Some(arguments) = changes.get_mut("arguments") {
        restore(arguments, &old.definition["arguments"]);
    }
    body.extend(changes);
    (body, moving)
}

/// The definition with every secret masked.
pub(crate) fn shown(
    state: &Shared,
    kind: &str,
    definition: &Value,
    visibility: Visibility,
) -> Map<String, Value> {
    let mut shown = definition.as_object().cloned().unwrap_or_default();
    if let Some(config) = shown.get_mut("config") {
        *config = masked(config, &config_schema(state, kind), visibility);
    }
    if let Some(arguments) = shown.get_mut("arguments") {
        let raw = RawValue::from_string(arguments.to_string()).unwrap_or_default();
        *arguments = serde_json::from_str(&gateway::audit::redact(&raw)).unwrap_or_default();
    }
    shown
}

/// The schema of a `config`; one of a type we no longer have shows no field.
fn config_schema(state: &Shared, kind: &str) -> Value {
    let hidden = || json!({ "additionalProperties": { "writeOnly": true } });
    state.gateway.inline(kind).map_or_else(hidden, |inline| (inline.schema)().clone())
}

/// Puts old values where the new ones are masks.
fn restore(new: &mut Value, old: &Value) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            for (name, field) in new {
                if let Some(old) = old.get(name) {
                    restore(field, old);
                }
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            new.iter_mut().zip(old).for_each(|(new, old)| restore(new, old));
        }
        (new, old) if new.as_str() == Some(MASK) => *new = old.clone(),
        _ => {}
    }
}
