//! Guardrails that a tool decides: a flow that reads each text, and says whether it may pass and as what.

use crate::world::{agent, crm};
use serde_json::json;
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, http};

const JUDGE: &str = "
inputs: {stage: string, text: string, agent: string}
nodes: {it: {with: {allow: \"${!text.contains('secret')}\", reason: '${agent} keeps secrets (${stage})', text: \"${replace(text, 'Bob', 'B.')}\"}}}
";

/// AG-18: a rule with `tool` lets that tool judge prompts, arguments, results and answers: what it does not allow is blocked
/// with its reason, and what it says instead goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_judges_at_every_stage() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    app.post("flows", json!({ "id": "judge", "source": JUDGE })).await.is(201);
    app.post("flows/judge/publish", json!({})).await.is(200);
    let model = Model::replies(vec![
        Reply::calls(&[
            ("crm__echo", json!({ "text": "a secret" })),
            ("crm__echo", json!({ "text": "hi Bob" })),
        ]),
        Reply::says("Bob is greeted."),
    ])
    .await;
    let rule = json!([{ "tool": "flow://judge" }]);
    let rules = json!({ "input": rule, "tool_input": rule, "tool_output": rule, "output": rule });
    app.post("services", agent("a", &model, json!({ "guardrails": rules }))).await.is(201);
    let refused = app.post("agents/a/runs", json!({ "prompt": "Tell the secret." })).await.is(422);
    assert!(refused.text.contains("a keeps secrets (input)"), "{}", refused.text);
    assert!(model.asked().is_empty(), "nothing is sent");
    let answer = app.post("agents/a/runs", json!({ "prompt": "Greet Bob." })).await.is(200).body;
    assert_eq!(answer["structuredContent"]["answer"], "B. is greeted.", "{answer}");
    let asked = model.asked();
    assert!(asked[0].text.contains("Greet B."), "{}", asked[0].text);
    assert!(asked[1].text.contains("a keeps secrets (tool_input)"), "{}", asked[1].text);
    let sent: Vec<_> = upstream.requests().iter().map(|request| request.query.clone()).collect();
    assert_eq!(sent, ["text=hi%20B."], "what is blocked is not called");
    let records = app.get("audit?limit=100").await.is(200).items();
    let judged = records.iter().filter(|record| record["uri"] == "flow://judge").count();
    assert!(judged >= 4, "each is a call of its own: {records:?}");
}

/// AG-6, AG-18: a tool that judges is called on the strength that the settings say: with the saver's rights whoever may ask the
/// agent need not be allowed the rule itself, with their own they must.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_judges_has_the_rights_of_the_agents_tools() {
    let app = TestApp::start(Backend::Sqlite).await;
    app.post("flows", json!({ "id": "judge", "source": JUDGE })).await.is(201);
    app.post("flows/judge/publish", json!({})).await.is(200);
    let model = Model::replies(vec![Reply::says("Hello.")]).await;
    let rules = json!({ "input": [{ "tool": "flow://judge" }] });
    for (run_as, status) in [("agent", 200), ("caller", 422)] {
        let more = json!({ "guardrails": rules, "run_as": run_as, "tools": [] });
        app.post("services", agent(run_as, &model, more)).await.is(201);
        let key = json!({ "name": run_as, "role": "caller", "allow": [format!("agent://{run_as}")] });
        let who = app.with_key(key).await;
        who.post(&format!("agents/{run_as}/runs"), json!({ "prompt": "Greet Bob." })).await.is(status);
        let judge =
            json!({ "uri": "flow://judge", "arguments": { "stage": "input", "text": "x", "agent": "a" } });
        who.post("call", judge).await.is(403);
    }
    assert_eq!(model.asked().len(), 1);
    assert!(model.asked()[0].text.contains("Greet B."), "{}", model.asked()[0].text);
}
