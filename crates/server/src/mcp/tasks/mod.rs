//! `tasks/…`: a task is a run that goes on after its call was answered. Two versions tell of it in words of their own.

mod augmented;
mod extension;

pub(super) use augmented::{capability, created as created_as_asked};
pub(super) use extension::{EXTENSION, created};

use super::Answered;
use super::client::Capabilities;
use super::door::Door;
use super::outcome::for_era;
use crate::manage::time;
use mcp::error::{Failure, failure_of_call};
use mcp::modern::Cache;
use mcp::{Era, Message, RpcError, Version};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool::{Ability, Context, ErrorKind, Output, RunAnswer, RunId, RunQuestion};

/// How often clients are to ask, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1000;

/// What a client wants of a task, at once.
pub(super) enum TaskRequest {
    Get(RunId),
    /// Of the extension alone.
    Update(RunId, Map<String, Value>),
    Cancel(RunId),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    task_id: String,
    #[serde(default)]
    input_responses: Map<String, Value>,
}

impl TaskRequest {
    pub(super) fn read(method: &str, message: &Message<'_>) -> Answered<Self> {
        let Params { task_id, input_responses } = message.params()?;
        let id = parse(&task_id)?;
        Ok(match method {
            "tasks/update" => Self::Update(id, input_responses),
            "tasks/cancel" => Self::Cancel(id),
            _ => Self::Get(id),
        })
    }
}

/// Of which task the client wants the result.
pub(super) fn read_id(message: &Message<'_>) -> Answered<RunId> {
    parse(&message.params::<Params>()?.task_id)
}

fn parse(id: &str) -> Answered<RunId> {
    id.parse().map_err(|_| unknown(id))
}

impl Door {
    /// What comes of a request about a task.
    pub(super) async fn task(
        &self,
        cx: &Context,
        version: Version,
        capabilities: Option<&Capabilities>,
        request: TaskRequest,
    ) -> Answered<String> {
        let result = match version.era() {
            Era::Legacy => self.augmented_task(cx, capabilities, request).await?,
            Era::Modern => self.task_of_extension(cx, capabilities, request).await?,
        };
        Ok(for_era(version.era(), result.to_string(), Cache::No))
    }
}

/// A task that goes on, in the words that both versions have.
fn working(id: &RunId, created_at: i64, updated_at: i64) -> Value {
    json!({
        "taskId": id, "status": "working", "createdAt": time::show(created_at), "lastUpdatedAt": time::show(updated_at),
    })
}

/// One that has begun just now.
fn begun(id: &RunId) -> Value {
    let now = chrono::Utc::now().timestamp_millis();
    working(id, now, now)
}

/// Says of a task that goes on what it waits for, and gives the questions that this very client can be asked.
fn note_questions<'q>(
    task: &mut Value,
    asked: &'q [RunQuestion],
    capabilities: Option<&Capabilities>,
) -> Vec<&'q RunQuestion> {
    if asked.is_empty() {
        return Vec::new();
    }
    task["statusMessage"] = "it waits for a decision".into();
    let can_ask = capabilities.is_some_and(|capabilities| capabilities.can(Ability::Elicitation));
    let is_own = |question: &&RunQuestion| can_ask && is_for_person(question);
    let own: Vec<_> = asked.iter().filter(is_own).collect();
    if !own.is_empty() {
        task["status"] = "input_required".into();
    }
    own
}

/// The person in front of the client is asked, and not its model.
fn is_for_person(question: &RunQuestion) -> bool {
    question.is_for_caller && question.sampling.is_none() && form(question).is_some()
}

/// A question of a run, as a person is asked.
fn elicitation(question: &RunQuestion) -> Value {
    json!({ "mode": "form", "message": question.title, "requestedSchema": form(question) })
}

/// What a form asks for: plain fields, of which those that are not required may be left out. None where others are wanted,
/// which no form can ask for.
fn form(question: &RunQuestion) -> Option<Value> {
    let Some(fields) = &question.fields else { return Some(json!({ "type": "object", "properties": {} })) };
    let properties = fields["properties"].as_object().into_iter().flatten();
    let properties = properties.map(|(name, field)| Some((name.clone(), form_field(field)?)));
    let properties = properties.collect::<Option<Map<_, _>>>()?;
    let mut form = json!({ "type": "object", "properties": properties });
    if let Some(required) = fields.get("required") {
        form["required"] = required.clone();
    }
    Some(form)
}

/// A field of a form, without the `null` of those that may be left out.
fn form_field(field: &Value) -> Option<Value> {
    let choices = field["anyOf"].as_array().into_iter().flatten();
    let mut field = choices.chain([field]).find(|choice| choice["type"] != "null")?.clone();
    if let Some(kind) = field["type"].as_array() {
        field["type"] = kind.iter().find(|kind| *kind != "null")?.clone();
    }
    if let Some(values) = field.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    if !["email", "uri", "date", "date-time"].iter().any(|format| field["format"] == *format) {
        field.as_object_mut()?.shift_remove("format");
    }
    let is_plain = ["string", "integer", "number", "boolean"].iter().any(|kind| field["type"] == *kind);
    is_plain.then_some(field)
}

/// A person who neither accepts nor declines has not decided.
fn answer_of(response: &Value) -> Option<RunAnswer> {
    let is_approved = match response["action"].as_str()? {
        "accept" => true,
        "decline" => false,
        _ => return None,
    };
    Some(RunAnswer { is_approved, data: response.get("content").cloned().unwrap_or_default() })
}

fn unknown(id: &str) -> RpcError {
    let id: String = id.chars().take(100).collect();
    RpcError::invalid_params(format!("Invalid params: there is no task '{id}'"))
}

fn refused(id: &RunId, error: &tool::Error, version: Version) -> RpcError {
    match error.kind() {
        ErrorKind::NotFound => unknown(id.as_str()),
        ErrorKind::InvalidInput | ErrorKind::Denied => {
            RpcError::invalid_params(format!("Invalid params: {}", error.in_words()))
        }
        _ => match failure_of_call(error, version) {
            Failure::Error(error) => error,
            Failure::Result(text) => RpcError::new(-32603, text),
        },
    }
}

/// Somebody has had the run end.
fn was_cancelled(result: &tool::Result<Output>) -> bool {
    let error = match result {
        Ok(output) => output.failure(),
        Err(error) => Some(error),
    };
    error.is_some_and(|error| error.kind() == ErrorKind::Cancelled)
}
