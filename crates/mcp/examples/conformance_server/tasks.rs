//! Tools that take their time as tasks, for clients that know the extension.

use super::tools::Call;
use super::{Context, Fixture, input, model, result};
use rmcp::model::{CallToolResponse, CallToolResult, ClientCapabilities, CreateTaskResult, ErrorData};
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use serde_json::{Value, json};
use std::time::Duration;

/// Tools that may become a task, each with the argument that it needs.
pub(crate) const NAMES: [(&str, &str); 6] = [
    ("confirm_delete", "filename"),
    ("failing_job", ""),
    ("multi_input", ""),
    ("protocol_error_job", ""),
    ("slow_compute", "seconds"),
    ("test_tool_with_task", ""),
];

/// `None` when the tool is no such tool.
pub(crate) fn call(
    call: &Call<'_>,
    fixture: &Fixture,
    cx: &Context,
) -> Result<Option<CallToolResponse>, ErrorData> {
    let Some((name, _)) = NAMES.into_iter().find(|(name, _)| *name == call.name) else { return Ok(None) };
    let seconds = call.arguments.and_then(|all| all.get("seconds")).and_then(Value::as_f64).unwrap_or(0.0);
    let mut who = Value::Null;
    if name == "test_tool_with_task" {
        let Some(answer) = input::answer(call.responses, "user_name")? else {
            let question = input::question("What is your name?", "name", "string");
            return Ok(Some(input::ask([("user_name", question)], None).into()));
        };
        who = answer["content"]["name"].clone();
    }
    let knows_tasks = cx.client_capabilities().is_some_and(|client| client.supports_tasks());
    if !knows_tasks && name == "failing_job" {
        let needed: ClientCapabilities =
            model(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    if !knows_tasks {
        return Ok(Some(CallToolResponse::Complete(said(&format!("Done without a task. {who}"), false))));
    }
    let options = TaskOptions::new().with_poll_interval_ms(200);
    let work = move |task| -> rmcp::task_manager::TaskFuture { Box::pin(run(name, seconds, who, task)) };
    let task = fixture.tasks.spawn(options, work);
    Ok(Some(CreateTaskResult::new(task).into()))
}

async fn run(
    name: &'static str,
    seconds: f64,
    who: Value,
    task: TaskContext,
) -> Result<CallToolResult, TaskExit> {
    let ask = async |key: &str| {
        let question = input::question(&format!("Confirm {key}?"), "confirmed", "boolean");
        task.request_input(key, model(question)).await
    };
    Ok(match name {
        "confirm_delete" => said(&format!("The answer was {}", ask("confirm").await?), false),
        "multi_input" => {
            let (first, second) = tokio::join!(ask("first"), ask("second"));
            said(&format!("The answers were {} and {}", first?, second?), false)
        }
        "failing_job" => {
            tokio::time::sleep(Duration::from_secs(1)).await;
            said("The job failed.", true)
        }
        "protocol_error_job" => return Err(ErrorData::internal_error("the job broke", None).into()),
        "test_tool_with_task" => said(&format!("Done for {who}."), false),
        _ => {
            tokio::select! {
                () = task.cancelled() => return Err(TaskExit::Cancelled),
                () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => said("computed", false),
            }
        }
    })
}

fn said(text: &str, is_error: bool) -> CallToolResult {
    result(json!({ "content": [super::content::text(text)], "isError": is_error }))
}
