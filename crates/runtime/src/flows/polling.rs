//! The tool `flow_run`: what has become of a run, for clients that were told its id.

use super::Flows;
use super::service::definition as definition_of;
use async_trait::async_trait;
use gateway::ServiceDefinition;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tool::{Call, Connector, Context, Error, ErrorKind, Outcome, Output, Result, RunId, Tool, runs};

/// The longest wait; clients give up on their own soon after.
const MAX_WAIT_SECONDS: u64 = 300;

/// What the tool is called; no flow has this name.
pub const POLLING_TOOL: &str = "flow_run";

struct Polling(Weak<Flows>);

#[derive(Deserialize)]
struct Arguments {
    run_id: RunId,
    #[serde(default)]
    wait_seconds: u64,
}

pub(super) fn definition(flows: &Arc<Flows>) -> ServiceDefinition {
    let connector = Arc::new(Polling(Arc::downgrade(flows)));
    // It is called so whatever flows are called.
    ServiceDefinition {
        made_at_ms: None,
        ..definition_of(runs::POLLING_SCHEME, "runs", "Runs of flows", 1, connector)
    }
}

#[async_trait]
impl Connector for Polling {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let schema = json!({
            "type": "object",
            "properties": {
                "run_id": { "type": "string", "description": "As the flow answered." },
                "wait_seconds": {
                    "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "default": 0,
                    "description": "How long to wait for the end of the run."
                }
            },
            "required": ["run_id"],
            "additionalProperties": false
        });
        let description = "What has become of a flow that was started and goes on: its state, and its output once it \
                           has ended.";
        Ok(vec![Tool::new(POLLING_TOOL, description, &schema)?])
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let flows = self.0.upgrade().ok_or_else(|| Error::unavailable("the program is stopping"))?;
        let gateway = flows.gateway().ok_or_else(|| Error::unavailable("the program is stopping"))?;
        let Arguments { run_id, wait_seconds } =
            serde_json::from_value(call.arguments.as_value()?.clone())
                .map_err(|_| Error::invalid_input("'run_id' is no id of a run").of_parameter("run_id"))?;
        let waiting = cx.for_at_most(Duration::from_secs(wait_seconds.min(MAX_WAIT_SECONDS)));
        let run = match wait_seconds {
            0 => gateway.find_run(cx, &run_id).await.map_err(as_answer)?,
            _ => gateway.wait_for_run(&waiting, &run_id).await.map_err(as_answer)?,
        };
        match run.result {
            // An agent's run tells of its failure itself.
            Some(Ok(output)) if output.is_error() => Ok(Outcome::Done(output)),
            Some(Ok(output)) => {
                let output: Value =
                    output.data().and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default();
                answer(&json!({ "run_id": run_id, "state": "succeeded", "output": output }))
            }
            Some(Err(error)) => Err(error),
            None => answer(&flows.standing(&cx.tenant, &run_id).await?),
        }
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }

    fn is_prefixed(&self) -> bool {
        false
    }
}

/// The tool is there, and its answer is that the run is not.
fn as_answer(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::missing(error.message()),
        _ => error,
    }
}

fn answer(value: &Value) -> Result<Outcome> {
    let raw = serde_json::value::to_raw_value(value)
        .map_err(|error| Error::internal("an answer is no JSON").caused_by(error))?;
    Ok(Outcome::Done(Output::json(raw)))
}
