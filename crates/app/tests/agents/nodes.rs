//! Agents as nodes of flows: they judge for guards, and are handed over to.

use crate::world::{agent, crm};
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, TestApp, http, on_both_databases};

on_both_databases! {
    an_agent_judges_for_a_guard
    a_handoff_asks_for_a_reason_with_a_context
    an_agent_in_place_is_not_published
}

async fn publish(app: &Client, id: &str, text: &str) {
    app.post("flows", json!({ "id": id, "source": text })).await.is(201);
    app.post(&format!("flows/{id}/publish"), json!({})).await.is(200);
}

async fn run(app: &Client, flow: &str, inputs: Value) -> Value {
    let body = json!({ "inputs": inputs, "wait_seconds": 30 });
    app.post(&format!("flows/{flow}/runs"), body).await.is(200).body["output"].clone()
}

/// FL-15: an agent says in JSON whether a value passes; whatever else it says is no pass.
async fn an_agent_judges_for_a_guard(backend: Backend) {
    let replies = [
        r#"{"passed": true}"#,
        r#"{"passed": false, "findings": [{"path": "", "message": "rude"}], "value": "**"}"#,
        "It seems fine to me.",
    ];
    let model = Model::replies(replies.map(Reply::says).into()).await;
    let app = TestApp::start(backend).await;
    app.post("services", agent("judge", &model, json!({ "tools": [] }))).await.is(201);
    for (check, action, expected) in [
        ("moderation", "redact", json!("hello")),
        ("jailbreak", "redact", json!("**")),
        ("hallucination", "warn", json!("GUARD")),
    ] {
        let text = format!(
            "inputs: {{t: string}}\nnodes: {{g: {{guard: {{check: {check}, of: '${{t}}', by: 'agent://judge', action: {action}}}, next: ok, fail: f}}, ok: {{with: g.value}}, f: {{with: g.error.code}}}}"
        );
        publish(&app, check, &text).await;
        assert_eq!(run(&app, check, json!({ "t": "hello" })).await, expected, "{check}");
        let asked = model.asked().last().unwrap().text.clone();
        assert!(asked.contains(check) && asked.contains("hello") && asked.contains("passed"), "{asked}");
    }
    assert_eq!(model.asked().len(), 3);
}

/// A handoff asks the agent what its reason says, and gives the values of some names along.
async fn a_handoff_asks_for_a_reason_with_a_context(backend: Backend) {
    let model = Model::replies(vec![Reply::says("It is paid back.")]).await;
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("billing", &model, json!({}))).await.is(201);
    let text = "inputs: {order: string}\nnodes: {h: {handoff: 'agent://billing', context: [order], reason: 'A refund is due'}}";
    publish(&app, "refund", text).await;
    assert_eq!(run(&app, "refund", json!({ "order": "O-77" })).await, "It is paid back.");
    let asked = model.asked()[0].text.clone();
    assert!(asked.contains("A refund is due") && asked.contains("O-77"), "{asked}");
}

/// An agent that is written into a flow could only fail: publishing says what to do instead.
async fn an_agent_in_place_is_not_published(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "nodes: {a: {agent: {model: m-1, instructions: Be kind}, args: {prompt: Hi}}}";
    let made = app.post("flows", json!({ "id": "kind", "source": text })).await.is(201);
    assert!(made.text.contains("make one of type 'agent'"), "{}", made.text);
    app.post("flows/kind/publish", json!({})).await.is_problem(422, "VALIDATION_FAILED");
}
