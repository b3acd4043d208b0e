//! The run of an agent as it goes on: what it does, what its model says, and at last the whole answer.

use super::events::{numbered, with_data};
use crate::Shared;
use crate::manage::call::result_of;
use axum::response::sse::Event;
use flow::engine::Fact;
use mcp::one_line;
use serde_json::{Value, json};
use std::collections::HashMap;
use store::runs::{Record, Run};
use tool::{Outcome, Runs as _};

/// What the tools of calls are called, by path: a journal has their addresses.
#[derive(Default)]
pub(in crate::manage) struct Names(HashMap<String, String>);

impl Names {
    /// Those of the whole run, for whoever comes in between.
    pub(super) async fn of(state: &Shared, run: &Run) -> Self {
        let mut names = Self::default();
        for record in state.flows.journal(run).await.unwrap_or_default() {
            if let Fact::Succeeded { value, .. } = &record.fact {
                names.take(&record.path, value);
            }
        }
        names
    }

    /// A model's answer says what it calls.
    fn take(&mut self, path: &str, value: &Value) {
        for (at, call) in value["calls"].as_array().into_iter().flatten().enumerate() {
            if let Some(name) = name_of(call) {
                self.0.insert(format!("{path}.{at}"), name);
            }
        }
    }
}

/// The tool that a call means, which stands inside where tools are searched for.
fn name_of(call: &Value) -> Option<String> {
    let name = call["name"].as_str()?;
    let inside = (name == "call_tool").then(|| call["arguments"].as_str()).flatten();
    let inside: Value = inside.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Some(inside["name"].as_str().unwrap_or(name).to_owned())
}

/// The event of a record.
pub(in crate::manage) fn event(run: &Run, record: &Record, names: &mut Names) -> Event {
    let Record { seq, record, .. } = record;
    let data: Value = serde_json::from_str(&record.data).unwrap_or_default();
    let of = json!({ "run": run.id, "agent": run.agent() });
    let (name, told) = told(&of, &record.kind, &record.path, &data, names);
    with_data(Event::default().event(name).id(seq.to_string()), &told)
}

/// What is told of a record. What tools said is for the agent alone, and what its model says for everybody once it is
/// checked.
pub(in crate::manage) fn told(
    of: &Value,
    kind: &str,
    path: &str,
    data: &Value,
    names: &mut Names,
) -> (&'static str, Value) {
    let target = data["target"].as_str().unwrap_or_default();
    let named = names.0.get(path).map_or(target, String::as_str);
    let came = || ("progress", json!({ "kind": "came", "path": path }));
    match kind {
        "begun" => {
            ("run", json!({ "kind": "run", "run": of["run"], "agent": of["agent"], "state": "running" }))
        }
        "called" if target == "model" => ("step", step("model", path, "")),
        "called" if target == "handoff" => {
            ("step", step("handoff", path, data["arguments"]["to"].as_str().unwrap_or_default()))
        }
        "called" => ("step", step("tool", path, named)),
        "waiting" if data["for"] == "approval" => {
            ("step", step("approval", path, data["title"]["tool"].as_str().unwrap_or_default()))
        }
        "succeeded" => {
            names.take(path, &data["value"]);
            let text = data["value"]["text"].as_str();
            let text = text.filter(|_| is_readable(&data["value"]) && !is_inside_call(path));
            text.map_or_else(came, |text| ("text", json!({ "text": text })))
        }
        kind => ("progress", json!({ "kind": kind, "path": path })),
    }
}

/// A model has said it, and nothing has to be checked before anybody reads it.
fn is_readable(value: &Value) -> bool {
    value["is_held_back"] == false && value["text"].as_str().is_some_and(|text| !text.is_empty())
}

/// An answer of a model that has to be checked before anybody reads it, and is the last one if it passes.
pub(in crate::manage) fn is_answer_held_back(value: &Value) -> bool {
    value["is_held_back"] == true && value["calls"].as_array().is_some_and(Vec::is_empty)
}

/// The same for a record.
pub(super) fn is_unchecked(record: &Record) -> bool {
    let data: Value = serde_json::from_str(&record.record.data).unwrap_or_default();
    record.record.kind == "succeeded" && is_answer_held_back(&data["value"])
}

/// An agent inside has said it, to the one that has called it.
fn is_inside_call(path: &str) -> bool {
    let around = path.rsplit_once('/').map(|(around, _)| around).unwrap_or_default();
    around.split('/').any(|step| step.rsplit_once(']').is_some_and(|(_, call)| !call.is_empty()))
}

/// The last event: the whole answer, as a call of the agent gives it; and the text of one that has passed.
pub(super) async fn end(state: &Shared, run: &Run, seq: i64) -> (Option<String>, Event) {
    let found = state.flows.find(&run.tenant, &run.id).await.ok().flatten();
    let result = found.and_then(|found| found.result).map(|result| result_of(result.map(Outcome::Done)));
    let mut text = None;
    let told = match result {
        Some(Ok(result)) => {
            let answer: Value = serde_json::from_str(&result).unwrap_or_default();
            text = answer["structuredContent"]["answer"]
                .as_str()
                .filter(|_| answer["isError"] != true)
                .map(str::to_owned);
            one_line(result)
        }
        Some(Err(problem)) => {
            json!({ "isError": true, "state": run.state, "error": problem.told() }).to_string()
        }
        None => json!({ "state": run.state }).to_string(),
    };
    (text, numbered(Event::default().event("end"), seq).data(told))
}

/// The last event of a stream that ends before its run: where that stands, as a call of the agent says it.
pub(super) async fn so_far(state: &Shared, run: &Run, seq: i64) -> Event {
    let agent = run.agent().unwrap_or_default();
    let told = match tool::Runs::standing(&*state.flows, &run.tenant, &run.id).await {
        Ok(standing) => one_line(standing.to_result(agent, &run.id)),
        Err(_) => json!({ "state": run.state }).to_string(),
    };
    numbered(Event::default().event("end"), seq).data(told)
}

/// A step by its path, e.g. `support[2].0`: the agent, and which of its model calls it belongs to.
fn step(kind: &str, path: &str, name: &str) -> Value {
    let own = path.rsplit('/').next().unwrap_or_default();
    let (agent, rest) = own.split_once('[').unwrap_or((own, ""));
    let number: Option<u32> = rest.split(']').next().and_then(|number| number.parse().ok());
    json!({ "kind": kind, "agent": agent, "step": number, "name": name, "path": path })
}
