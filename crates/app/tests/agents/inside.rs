//! Agents and flows inside one another: no circle, no end of depth, and records that say who has chosen what.

use crate::world::{agent, count, crm};
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, http};

/// A published flow that asks an agent.
async fn flow_that_asks(app: &TestApp, flow: &str, agent: &str) {
    let source = format!(
        "nodes:\n  think: {{agent: {agent}, args: {{prompt: Go on.}}}}\noutput: {{said: \"${{think}}\"}}"
    );
    app.post("flows", json!({ "id": flow, "source": source })).await.is(201);
    app.post(&format!("flows/{flow}/publish"), json!({})).await.is(200);
}

/// AG-10, AG-11: an agent that asks a flow stays at work while the flow runs: the flow cannot ask it, and how deep it goes is counted
/// behind the flow, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_circle_and_no_depth_begins_anew_behind_a_flow() {
    let app = TestApp::start(Backend::Sqlite).await;
    let asks = |flow: &str| Reply::calls(&[(flow, json!({}))]);
    let model =
        Model::replies(vec![asks("again"), Reply::says("It cannot be."), asks("deeper"), Reply::says("No.")])
            .await;
    let other = Model::replies(vec![Reply::says("I am deep.")]).await;
    app.post("services", agent("b", &other, json!({ "tools": [] }))).await.is(201);
    let more =
        |depth: usize| json!({ "tools": ["flow://again", "flow://deeper"], "limits": { "depth": depth } });
    app.post("services", agent("a", &model, json!({ "tools": [] }))).await.is(201);
    flow_that_asks(&app, "again", "a").await;
    flow_that_asks(&app, "deeper", "b").await;
    let config = agent("a", &model, more(2))["config"].clone();
    app.patch("services/agent/a", json!({ "config": config })).await.is(200);
    let answer = app.post("agents/a/runs", json!({ "prompt": "Go." })).await.is(200).body;
    assert_eq!(answer["structuredContent"]["answer"], "It cannot be.", "{answer}");
    let heard = &model.asked()[1].text;
    assert!(heard.contains("is at work already (agent://a → flow://again)"), "{heard}");
    let answer = app.post("agents/a/runs", json!({ "prompt": "Go." })).await.is(200).body;
    assert_eq!(answer["structuredContent"]["error"]["reason"], "DEPTH_LIMIT", "{answer}");
    assert_eq!((model.asked().len(), other.asked().len()), (3, 0), "nobody is asked too deep");
}

/// AG-21: every record of an agent's tool call says which agent has chosen it, and at which step of the run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_say_which_agent_has_chosen_a_call_and_when() {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    let first = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({}))]),
        Reply::calls(&[("b__ask", json!({ "prompt": "And you?" }))]),
        Reply::says("Done."),
    ])
    .await;
    let second = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "inner" })), ("nothing", json!({}))]),
        Reply::says("Me too."),
    ])
    .await;
    app.post("services", agent("b", &second, json!({}))).await.is(201);
    app.post("services", agent("a", &first, json!({ "tools": ["api://crm/echo", "agent://b"] })))
        .await
        .is(201);
    let answer = app.post("agents/a/runs", json!({ "prompt": "Go." })).await.is(200).body;
    let run = answer["structuredContent"]["run"].as_str().unwrap();
    let records = app.get(&format!("audit?run={run}")).await.is(200).items();
    let told = |record: &Value| json!([record["tool"], record["agent"], record["step"], record["run_id"]]);
    let mut told: Vec<String> = records.iter().map(|record| told(record).to_string()).collect();
    told.sort_unstable();
    let line = |tool: &str, agent: &str, step: Value| json!([tool, agent, step, run]).to_string();
    let mut expected = [
        line("a__ask", "a", Value::Null),
        line("b__ask", "a", json!(2)),
        line("crm__echo", "a", json!(1)),
        line("crm__echo", "b", json!(3)),
        line("nothing", "b", json!(3)),
    ];
    expected.sort_unstable();
    assert_eq!(told, expected);
    assert_eq!(count(&upstream, "/echo"), 2);
}

/// AG-6: two tools of one name are refused when they are saved, where that can be known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tools_of_one_name_are_not_saved() {
    let app = TestApp::start(Backend::Sqlite).await;
    let model = Model::replies(vec![Reply::says("x")]).await;
    for (tools, path) in [
        (json!(["api://crm/echo", { "uri": "api://crm/send", "as": "crm__echo" }]), "config.tools[1].as"),
        (json!(["api://crm/a.b", "api://crm/a_b"]), "config.tools[1]"),
    ] {
        let refused = app.post("services", agent("a", &model, json!({ "tools": tools }))).await.is(422);
        assert_eq!(refused.body["errors"][0]["path"], path, "{}", refused.text);
        assert!(refused.text.contains("DuplicateName"), "{}", refused.text);
    }
}
