//! The run of an agent as it goes on: what it does, what its model says, and at last the whole answer.

use super::events::with_data;
use crate::Shared;
use crate::manage::call::result_of;
use axum::response::sse::Event;
use serde_json::{Value, json};
use store::runs::{Record, Run};
use tool::{Outcome, Runs as _};

/// The event of a record. What tools said is for the agent alone, and what its model says for everybody once it is checked.
pub(super) fn event(agent: &str, record: &Record) -> Event {
    let Record { seq, record, .. } = record;
    let data: Value = serde_json::from_str(&record.data).unwrap_or_default();
    let (name, told) = match record.kind.as_str() {
        "begun" => ("run", json!({ "kind": "run", "agent": agent, "state": "running" })),
        "called" if data["target"] == "model" => ("step", step("model", &record.path, "")),
        "called" => ("step", step("tool", &record.path, data["target"].as_str().unwrap_or_default())),
        "waiting" => {
            ("step", step("approval", &record.path, data["title"]["tool"].as_str().unwrap_or_default()))
        }
        "succeeded" => match data["value"]["text"].as_str().filter(|_| is_readable(&data["value"])) {
            Some(text) => ("text", json!({ "text": text })),
            None => ("progress", json!({ "kind": "came", "path": record.path })),
        },
        kind => ("progress", json!({ "kind": kind, "path": record.path })),
    };
    with_data(Event::default().event(name).id(seq.to_string()), &told)
}

/// A model has said it, and nothing has to be checked before anybody reads it.
fn is_readable(value: &Value) -> bool {
    value["is_held_back"] == false && value["text"].as_str().is_some_and(|text| !text.is_empty())
}

/// The last event: the whole answer, as a call of the agent gives it.
pub(super) async fn end(state: &Shared, run: &Run, seq: i64) -> Event {
    let found = state.flows.find(&run.tenant, &run.id).await.ok().flatten();
    let result = found.and_then(|found| found.result).map(|result| result_of(result.map(Outcome::Done)));
    let told = match result {
        Some(Ok(text)) => serde_json::from_str(&text).unwrap_or_default(),
        Some(Err(problem)) => json!({ "isError": true, "state": run.state, "error": problem.told() }),
        None => json!({ "state": run.state }),
    };
    with_data(Event::default().event("end").id(seq.to_string()), &told)
}

/// A step by its path, e.g. `support[2].0`: the agent, and which of its model calls it belongs to.
fn step(kind: &str, path: &str, name: &str) -> Value {
    let own = path.rsplit('/').next().unwrap_or_default();
    let (agent, rest) = own.split_once('[').unwrap_or((own, ""));
    let number: Option<u32> = rest.split(']').next().and_then(|number| number.parse().ok());
    json!({ "kind": kind, "agent": agent, "step": number, "name": name, "path": path })
}
