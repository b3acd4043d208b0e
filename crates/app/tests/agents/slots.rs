//! Room for runs: that of agents is not that of flows.

use crate::world::{PATIENCE, agent, begin, until};
use serde_json::json;
use std::time::Duration;
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, eventually};

/// As many runs of a tenant's agents as may be at work at once.
const AT_ONCE: usize = 128;

/// AG-15, F9: agents whose models think have room of their own: flows begin meanwhile, and an agent that asks a flow which asks
/// another agent waits for nobody. What waits for room and is taken back is not begun later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_think_leave_room_for_flows() {
    let app = TestApp::start(Backend::Sqlite).await;
    let thinking = Reply::Late(Duration::from_secs(120), Box::new(Reply::says("late")));
    let slow = Model::replies(vec![thinking; AT_ONCE]).await;
    let quick = Model::replies(vec![Reply::says("here")]).await;
    for (id, model) in [("slow", &slow), ("quick", &quick)] {
        app.post("services", agent(id, model, json!({ "tools": [] }))).await.is(201);
    }
    flow(&app, "f", "nodes: {a: {with: 1}}").await;
    for _ in 0..AT_ONCE {
        begin(&app, "slow", "Go.").await;
    }
    eventually("all models think", PATIENCE, async || slow.asked().len() == AT_ONCE).await;
    let run = app.post("flows/f/runs", json!({})).await.is(202).string("id");
    until(&app, &run, "succeeded").await;
    let ask = app.request(reqwest::Method::POST, "agents/quick/runs");
    let asking = tokio::spawn(ask.json(&json!({ "prompt": "Are you there?", "conversation": "new" })).send());
    let mut queued = Vec::new();
    eventually("the ask waits for room", PATIENCE, async || {
        queued = app.get("runs?agent=quick").await.is(200).items();
        !queued.is_empty()
    })
    .await;
    assert_eq!(queued[0]["state"], "queued", "{queued:?}");
    asking.abort();
    until(&app, queued[0]["id"].as_str().unwrap(), "cancelled").await;
    assert!(quick.asked().is_empty());
}

/// AG-15: as many agents as may be at work at once ask a flow each, which asks another agent: none of them waits for the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_ask_flows_that_ask_agents_do_not_starve() {
    let app = TestApp::start(Backend::Sqlite).await;
    let outer = Model::start(|_, asked| match asked.text.contains("\"tool_call_id\"") {
        false => Reply::Late(Duration::from_secs(5), Box::new(Reply::calls(&[("f", json!({}))]))),
        true => Reply::says("Asked."),
    })
    .await;
    let inner = Model::replies(vec![Reply::says("here"); AT_ONCE]).await;
    app.post("services", agent("inner", &inner, json!({ "tools": [] }))).await.is(201);
    flow(&app, "f", "nodes:\n  think: {agent: inner, args: {prompt: Go.}}\noutput: {said: \"${think}\"}")
        .await;
    app.post("services", agent("outer", &outer, json!({ "tools": ["flow://f"] }))).await.is(201);
    let mut runs = Vec::new();
    for _ in 0..AT_ONCE {
        runs.push(begin(&app, "outer", "Go.").await);
    }
    for run in runs {
        let ended = until(&app, &run, "succeeded").await;
        assert_eq!(ended["output"]["answer"], "Asked.", "{ended}");
    }
    assert_eq!(inner.asked().len(), AT_ONCE);
}

async fn flow(app: &TestApp, id: &str, source: &str) {
    app.post("flows", json!({ "id": id, "source": source })).await.is(201);
    app.post(&format!("flows/{id}/publish"), json!({})).await.is(200);
}
