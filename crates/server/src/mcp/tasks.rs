//! `tasks/…` of the extension `io.modelcontextprotocol/tasks`: a task is a run that goes on after its call was answered.

use super::Answered;
use super::client::Capabilities;
use super::door::Door;
use super::outcome::{self, for_era};
use crate::manage::time;
use mcp::error::{Failure, failure_of_call};
use mcp::modern::Cache;
use mcp::{Era, Message, RpcError, Version};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool::{Ability, Context, ErrorKind, Run, RunAnswer, RunId, RunQuestion};

pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How often clients are to ask, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1000;

/// What a client wants of a task.
pub(super) enum TaskRequest {
    Get(RunId),
    Update(RunId, Map<String, Value>),
    Cancel(RunId),
}

impl TaskRequest {
    pub(super) fn read(method: &str, message: &Message<'_>) -> Answered<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            task_id: String,
            #[serde(default)]
            input_responses: Map<String, Value>,
        }
        let Params { task_id, input_responses } = message.params::<Params>()?;
        let id = task_id.parse().map_err(|_| unknown(&task_id))?;
        Ok(match method {
            "tasks/update" => Self::Update(id, input_responses),
            "tasks/cancel" => Self::Cancel(id),
            _ => Self::Get(id),
        })
    }
}

impl Door {
    /// What comes of a request about a task, which only clients may make that speak of tasks.
    pub(super) async fn task(
        &self,
        cx: &Context,
        capabilities: Option<&Capabilities>,
        request: TaskRequest,
    ) -> Answered<String> {
        let Some(capabilities) = capabilities.filter(|capabilities| capabilities.speaks_of_tasks()) else {
            let data = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
            let message = format!("the client has not declared the extension {EXTENSION}");
            return Err(RpcError { data: Some(data.into()), ..RpcError::new(-32021, message) });
        };
        let result = match request {
            TaskRequest::Get(id) => self.state_of(cx, capabilities, &id).await?,
            TaskRequest::Update(id, responses) => {
                for (question, response) in responses {
                    let Some(answer) = answer_of(&response) else { continue };
                    let answered = self.gateway.answer_run(cx, &id, &question, answer).await;
                    answered.map_err(|error| refused(&id, &error))?;
                }
                json!({})
            }
            TaskRequest::Cancel(id) => {
                self.gateway.cancel_run(cx, &id).await.map_err(|error| refused(&id, &error))?;
                json!({})
            }
        };
        Ok(for_era(Era::Modern, result.to_string(), Cache::No))
    }

    /// The task as it is now.
    async fn state_of(&self, cx: &Context, capabilities: &Capabilities, id: &RunId) -> Answered<Value> {
        let run = self.gateway.find_run(cx, id).await.map_err(|error| refused(id, &error))?;
        let mut task = described(id, &run);
        match run.result {
            None => {
                let asked =
                    self.gateway.questions_of_run(cx, id).await.map_err(|error| refused(id, &error))?;
                ask(&mut task, &asked, capabilities);
            }
            Some(Err(error)) if error.kind() == ErrorKind::Cancelled => task["status"] = "cancelled".into(),
            Some(Err(error)) => match failure_of_call(&error, Version::V2026_07_28) {
                Failure::Error(error) => {
                    task["status"] = "failed".into();
                    task["error"] = json!({ "code": error.code, "message": error.message });
                }
                Failure::Result(text) => complete(&mut task, &outcome::failed(&text)),
            },
            Some(Ok(output)) => complete(&mut task, &outcome::of_output(output, Version::V2026_07_28)),
        }
        Ok(task)
    }
}

/// The result of a call that goes on as a task.
pub(super) fn created(id: &RunId) -> String {
    let now = chrono::Utc::now().timestamp_millis();
    let mut task = working(id, now, now);
    task["resultType"] = "task".into();
    task.to_string()
}

fn described(id: &RunId, run: &Run) -> Value {
    working(id, run.started_at_ms, run.changed_at_ms)
}

fn working(id: &RunId, created_at: i64, updated_at: i64) -> Value {
    json!({
        "taskId": id, "status": "working", "createdAt": time::show(created_at),
        "lastUpdatedAt": time::show(updated_at), "ttlMs": null, "pollIntervalMs": POLL_INTERVAL_MS,
    })
}

fn complete(task: &mut Value, result: &str) {
    task["status"] = "completed".into();
    task["result"] = serde_json::from_str(result).unwrap_or_default();
}

/// What the run asks of this very client, if it can be asked; what it asks of others is only told.
fn ask(task: &mut Value, asked: &[RunQuestion], capabilities: &Capabilities) {
    if asked.is_empty() {
        return;
    }
    let own: Map<_, _> = asked.iter().filter(|question| question.is_for_caller).map(elicited).collect();
    if own.is_empty() || !capabilities.has(Ability::Elicitation.as_str()) {
        task["statusMessage"] = "it waits for a decision".into();
        return;
    }
    task["status"] = "input_required".into();
    task["inputRequests"] = own.into();
}

fn elicited(question: &RunQuestion) -> (String, Value) {
    let schema = question.fields.clone().unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    let params = json!({ "mode": "form", "message": question.title, "requestedSchema": schema });
    (question.id.clone(), json!({ "method": "elicitation/create", "params": params }))
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

fn refused(id: &RunId, error: &tool::Error) -> RpcError {
    match error.kind() {
        ErrorKind::NotFound => unknown(id.as_str()),
        ErrorKind::InvalidInput | ErrorKind::Denied => {
            RpcError::invalid_params(format!("Invalid params: {}", error.in_words()))
        }
        _ => RpcError::new(-32603, error.in_words()),
    }
}
