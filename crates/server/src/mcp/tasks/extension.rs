//! Tasks of 2026-07-28: the extension `io.modelcontextprotocol/tasks`, which a client declares with each request.

use super::{
    POLL_INTERVAL_MS, TaskRequest, answer_of, begun, elicitation, note_questions, refused, was_cancelled,
    working,
};
use crate::mcp::Answered;
use crate::mcp::client::Capabilities;
use crate::mcp::door::Door;
use crate::mcp::outcome;
use mcp::error::{Failure, failure_of_call};
use mcp::{RpcError, Version};
use serde_json::{Map, Value, json};
use tool::{Context, RunId, RunQuestion};

pub(in crate::mcp) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const VERSION: Version = Version::V2026_07_28;

impl Door {
    /// What comes of a request about a task, which only clients may make that speak of tasks.
    pub(super) async fn task_of_extension(
        &self,
        cx: &Context,
        capabilities: Option<&Capabilities>,
        request: TaskRequest,
    ) -> Answered<Value> {
        let Some(capabilities) = capabilities.filter(|capabilities| capabilities.speaks_of_tasks()) else {
            let data = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
            let message = format!("the client has not declared the extension {EXTENSION}");
            return Err(RpcError { data: Some(data.into()), ..RpcError::new(-32021, message) });
        };
        match request {
            TaskRequest::Get(id) => self.state_of(cx, capabilities, &id).await,
            TaskRequest::Update(id, responses) => {
                for (question, response) in responses {
                    let Some(answer) = answer_of(&response) else { continue };
                    let answered = self.gateway.answer_run(cx, &id, &question, answer).await;
                    answered.map_err(|error| refused(&id, &error, VERSION))?;
                }
                Ok(json!({}))
            }
            TaskRequest::Cancel(id) => {
                self.gateway.cancel_run(cx, &id).await.map_err(|error| refused(&id, &error, VERSION))?;
                Ok(json!({}))
            }
        }
    }

    /// The task as it is now, with its result.
    async fn state_of(&self, cx: &Context, capabilities: &Capabilities, id: &RunId) -> Answered<Value> {
        let looked = self.gateway.look_at_run(cx, id).await;
        let (run, asked) = looked.map_err(|error| refused(id, &error, VERSION))?;
        let mut task = with_terms(working(id, run.started_at_ms, run.changed_at_ms));
        match run.result {
            None => {
                let own = note_questions(&mut task, &asked, Some(capabilities));
                if !own.is_empty() {
                    task["inputRequests"] = own.into_iter().map(elicited).collect::<Map<_, _>>().into();
                }
            }
            Some(result) if was_cancelled(&result) => task["status"] = "cancelled".into(),
            Some(Err(error)) => match failure_of_call(&error, VERSION) {
                Failure::Error(error) => {
                    task["status"] = "failed".into();
                    task["error"] = json!({ "code": error.code, "message": error.message });
                }
                Failure::Result(text) => complete(&mut task, &outcome::failed(&text, &error, VERSION)),
            },
            Some(Ok(output)) => complete(&mut task, &outcome::of_output(output, VERSION)),
        }
        Ok(task)
    }
}

/// The result of a call that goes on as a task.
pub(in crate::mcp) fn created(id: &RunId) -> String {
    let mut task = with_terms(begun(id));
    task["resultType"] = "task".into();
    task.to_string()
}

fn with_terms(mut task: Value) -> Value {
    task["ttlMs"] = Value::Null;
    task["pollIntervalMs"] = POLL_INTERVAL_MS.into();
    task
}

fn complete(task: &mut Value, result: &str) {
    task["status"] = "completed".into();
    task["result"] = serde_json::from_str(result).unwrap_or_default();
}

fn elicited(question: &RunQuestion) -> (String, Value) {
    (question.id.clone(), json!({ "method": "elicitation/create", "params": elicitation(question) }))
}
