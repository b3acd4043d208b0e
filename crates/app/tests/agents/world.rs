//! An agent over tools of an echo server, and few words to ask it.

use serde_json::{Value, json};
use std::time::Duration;
use testkit::model::Model;
use testkit::{Client, Reply, eventually, http};

/// Long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The service `crm`: what it removes is gone, what it sends is sent, and both may take their time.
pub(crate) fn crm(upstream: &http::Server) -> Value {
    let text =
        json!([{ "name": "text", "parameter_type": "String", "required": false, "position": "query" }]);
    json!({ "type": "api", "id": "crm",
        "config": { "base_url": upstream.url(), "retry": { "max_attempts": 1 } },
        "tools": [
            { "id": "echo", "endpoint": "/echo", "parameters": text },
            { "id": "wait", "endpoint": "/slow/4002" },
            { "id": "send", "method": "POST", "endpoint": "/slow/4001" },
            { "id": "remove", "method": "DELETE", "endpoint": "/remove", "parameters": text },
        ] })
}

/// The service `slow`, whose tool says that it only reads.
pub(crate) fn slow(upstream: &http::Server) -> Value {
    let discovery = json!({ "type": "static", "endpoints": [upstream.address().to_string()] });
    json!({ "type": "svc", "id": "slow",
        "config": { "protocol": "http", "scheme": "http", "discovery": discovery },
        "tools": [{ "id": "read", "endpoint": "/slow/4000" }] })
}

/// The service of an agent with this model, all tools of `crm`, and more.
pub(crate) fn agent(id: &str, model: &Model, more: Value) -> Value {
    let mut config = json!({ "provider": "openai", "base_url": model.url(), "model": "m-1", "tools": ["api://crm/*"],
        "retry": { "max_attempts": 1 } });
    let Value::Object(more) = more else { panic!("{more} is no object") };
    config.as_object_mut().unwrap().extend(more);
    json!({ "type": "agent", "id": id, "config": config })
}

/// Has a run begin that goes on by itself, and gives its id.
pub(crate) async fn begin(client: &Client, agent: &str, prompt: &str) -> String {
    begin_with(client, agent, json!({ "prompt": prompt })).await
}

/// The same in a conversation.
pub(crate) async fn begin_in(client: &Client, agent: &str, conversation: &str, prompt: &str) -> String {
    begin_with(client, agent, json!({ "prompt": prompt, "conversation": conversation })).await
}

async fn begin_with(client: &Client, agent: &str, arguments: Value) -> String {
    let call = json!({ "uri": format!("agent://{agent}?async=true"), "arguments": arguments });
    let begun = client.post("call", call).await.is(200).body;
    let told = &begun["structuredContent"];
    assert!(["queued", "running"].iter().any(|state| told["state"] == *state), "{begun}");
    told["run"].as_str().unwrap().to_owned()
}

/// Waits for a run as its caller does.
pub(crate) async fn ended(client: &Client, agent: &str, run: &str) -> Value {
    let reply: Reply =
        client.post(&format!("agents/{agent}/runs"), json!({ "run": run, "wait_seconds": 30 })).await;
    reply.is(200).body
}

/// Waits until the run is in this state.
pub(crate) async fn until(client: &Client, run: &str, state: &str) -> Value {
    let mut view = Value::Null;
    eventually(&format!("run {run} is {state}"), PATIENCE, async || {
        view = client.get(&format!("runs/{run}")).await.is(200).body;
        view["state"] == *state
    })
    .await;
    view
}

/// How often a path was asked for.
pub(crate) fn count(upstream: &http::Server, path: &str) -> usize {
    upstream.requests().iter().filter(|request| request.path == path).count()
}
