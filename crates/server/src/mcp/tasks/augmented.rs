//! Tasks of 2025-11-25: the client asks for one with its call (`task`), polls it, and fetches the call's result at last.

use super::{
    POLL_INTERVAL_MS, TaskRequest, answer_of, begun, elicitation, is_for_person, note_questions, refused,
    was_cancelled, working,
};
use crate::mcp::Answered;
use crate::mcp::client::Capabilities;
use crate::mcp::door::Door;
use crate::mcp::outcome::{self, GoesOn};
use crate::mcp::request::CallTool;
use mcp::error::{Failure, failure_of_call};
use mcp::{RpcError, Version};
use runtime::flows::not_waiting;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Duration;
use tool::{Ability, Context, Outcome, Output, Question, RunAnswer, RunId, RunKind, RunQuestion};

/// Where everything about a task says of which.
const RELATED: &str = "io.modelcontextprotocol/related-task";
const VERSION: Version = Version::V2025_11_25;
/// How long a client waits for a run to stop; its calls are given 5 s.
const STOP: Duration = Duration::from_secs(10);

impl Door {
    /// Whether the client wants to have the call as a task. Then nobody waits for it.
    pub(in crate::mcp) fn is_asked_as_task(
        &self,
        cx: &Context,
        version: Version,
        call: &mut CallTool,
    ) -> Answered<bool> {
        // Other versions do not know the word.
        let asked = if version == VERSION { call.extras.take("task") } else { None };
        if asked.is_none_or(|asked| asked.get() == "null") {
            return Ok(false);
        }
        match self.gateway.route(cx, &call.meant()) {
            // The call itself is told what is wrong with it.
            None => Ok(false),
            Some(route) if route.service.run_kind() == Some(RunKind::Flow) => {
                not_waiting(None).0.into_iter().for_each(|(name, value)| call.extras.set(&name, value));
                Ok(true)
            }
            Some(route) => Err(RpcError::new(
                -32601,
                format!("the tool '{}' cannot be called as a task; call it without 'task'", route.name),
            )),
        }
    }

    /// What comes of a request about a task that is answered at once.
    pub(super) async fn augmented_task(
        &self,
        cx: &Context,
        capabilities: Option<&Capabilities>,
        request: TaskRequest,
    ) -> Answered<Value> {
        match request {
            TaskRequest::Get(id) => self.status_of(cx, capabilities, &id).await,
            TaskRequest::Update(..) => Err(RpcError::unknown_method("tasks/update")),
            TaskRequest::Cancel(id) => {
                let looked = self.gateway.find_run(cx, &id).await;
                if looked.map_err(|error| refused(&id, &error, VERSION))?.result.is_some() {
                    let message = format!("Invalid params: the task '{id}' has ended already");
                    return Err(RpcError::invalid_params(message));
                }
                self.gateway.cancel_run(cx, &id).await.map_err(|error| refused(&id, &error, VERSION))?;
                let ended = self.gateway.wait_for_run(&cx.for_at_most(STOP), &id).await;
                ended.map_err(|error| refused(&id, &error, VERSION))?;
                self.status_of(cx, capabilities, &id).await
            }
        }
    }

    /// The task as it is now, without its result.
    async fn status_of(
        &self,
        cx: &Context,
        capabilities: Option<&Capabilities>,
        id: &RunId,
    ) -> Answered<Value> {
        let looked = self.gateway.look_at_run(cx, id).await;
        let (run, asked) = looked.map_err(|error| refused(id, &error, VERSION))?;
        let mut task = with_terms(working(id, run.started_at_ms, run.changed_at_ms));
        match &run.result {
            None => drop(note_questions(&mut task, &asked, capabilities)),
            Some(result) => task["status"] = status(result).into(),
        }
        Ok(task)
    }

    /// The result of the call that became the task, once there is one. What the run asks the caller meanwhile, the client
    /// is asked.
    pub(in crate::mcp) async fn task_result(&self, cx: &Context, id: &RunId) -> Answered<String> {
        let can_ask = cx.client.as_ref().is_some_and(|client| client.can(Ability::Elicitation));
        let mut asked_before = HashSet::new();
        loop {
            let is_wanted = |question: &RunQuestion| {
                can_ask && is_for_person(question) && !asked_before.contains(&question.id)
            };
            let followed = self.gateway.follow_run(cx, id, is_wanted).await;
            let (run, asked) = followed.map_err(|error| refused(id, &error, VERSION))?;
            if let Some(result) = run.result {
                return related(id, &outcome::of_call(result.map(Outcome::Done), VERSION, GoesOn::Run)?);
            }
            let Some(question) = asked.into_iter().next() else { return Err(goes_on(id)) };
            if let Some(answer) = asked_of_client(cx, id, &question).await? {
                let answered = self.gateway.answer_run(cx, id, &question.id, answer).await;
                answered.map_err(|error| refused(id, &error, VERSION))?;
            }
            asked_before.insert(question.id);
        }
    }
}

/// What servers of this version declare. Tasks are not listed: whoever made one has its id.
pub(in crate::mcp) fn capability() -> Value {
    json!({ "cancel": {}, "requests": { "tools": { "call": {} } } })
}

/// The result of a call that was asked for as a task.
pub(in crate::mcp) fn created(id: &RunId) -> String {
    json!({ "task": with_terms(begun(id)) }).to_string()
}

fn with_terms(mut task: Value) -> Value {
    task["ttl"] = Value::Null;
    task["pollInterval"] = POLL_INTERVAL_MS.into();
    task
}

/// A task whose call failed has failed, whether its result says so or it has none.
fn status(result: &tool::Result<Output>) -> &'static str {
    match result {
        _ if was_cancelled(result) => "cancelled",
        Ok(output) if output.is_error() => "failed",
        Ok(_) => "completed",
        Err(_) => "failed",
    }
}

/// What the person in front of the client says, if they decide.
async fn asked_of_client(cx: &Context, id: &RunId, question: &RunQuestion) -> Answered<Option<RunAnswer>> {
    let Some(client) = &cx.client else { return Ok(None) };
    let mut params = elicitation(question);
    params["_meta"] = json!({ RELATED: { "taskId": id } });
    let question = Question { ability: Ability::Elicitation, params: to_raw_value(&params).ok() };
    let response =
        client.ask(cx, question).await.map_err(|error| match failure_of_call(&error, VERSION) {
            Failure::Error(error) => error,
            Failure::Result(text) => RpcError::new(-32603, text),
        })?;
    Ok(serde_json::from_str(response.get()).ok().and_then(|response| answer_of(&response)))
}

/// The result, which says of which task it is.
fn related(id: &RunId, result: &str) -> Answered<String> {
    let mut result: Value =
        serde_json::from_str(result).map_err(|error| RpcError::new(-32603, error.to_string()))?;
    result["_meta"][RELATED] = json!({ "taskId": id });
    Ok(result.to_string())
}

fn goes_on(id: &RunId) -> RpcError {
    RpcError::new(-32603, format!("the task '{id}' goes on; ask for its result again"))
}
