//! Runs of agents that go on by themselves: begun, waited for, shown, cancelled, and there for nobody else.

use crate::world::{agent, begin, count, crm, ended, until};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    a_run_goes_on_by_itself_and_is_shown
    a_run_is_there_for_its_caller_alone
    a_run_is_cancelled_paused_and_tried_again
    a_run_can_be_followed_again_from_where_one_was
    a_streamed_conversation_is_numbered_as_its_journal_is
}

async fn world(backend: Backend, model: &Model, more: Value) -> (TestApp, http::Server) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("a", model, more)).await.is(201);
    (app, upstream)
}

fn twelve() -> Vec<Reply> {
    vec![Reply::calls(&[("crm__echo", json!({ "text": "x" }))]), Reply::says("It is twelve.")]
}

/// AG-15: an `async` call is answered at once with its run, which REST shows as it shows those of flows.
async fn a_run_goes_on_by_itself_and_is_shown(backend: Backend) {
    let model = Model::replies(twelve()).await;
    let (app, upstream) = world(backend, &model, json!({})).await;
    let run = begin(&app, "a", "When?").await;
    let answer = ended(&app, "a", &run).await;
    let told = &answer["structuredContent"];
    assert_eq!((&told["answer"], &told["run"]), (&json!("It is twelve."), &json!(run)), "{answer}");
    assert_eq!(told["usage"]["model_calls"], 2, "{answer}");
    let shown = app.get(&format!("runs/{run}")).await.is(200).body;
    assert_eq!((&shown["agent"], &shown["flow"]), (&json!("a"), &Value::Null), "{shown}");
    assert_eq!(shown["output"]["answer"], "It is twelve.", "{shown}");
    let steps = app.get(&format!("runs/{run}/steps")).await.is(200).items();
    let kinds: Vec<_> = steps.iter().map(|step| (step["path"].as_str(), step["kind"].as_str())).collect();
    let expected = [("a[1]", "model"), ("a[1].0", "tool"), ("a[2]", "model")];
    assert_eq!(kinds, expected.map(|(path, kind)| (Some(path), Some(kind))));
    assert_eq!(app.get("runs?agent=a").await.is(200).items().len(), 1);
    assert_eq!(app.get("runs?agent=b").await.is(200).items().len(), 0);
    assert_eq!(count(&upstream, "/echo"), 1);
    let waited = app.post("agents/a/runs", json!({ "prompt": "x", "wait_seconds": 30 })).await.is(200).body;
    assert_eq!(waited["structuredContent"]["state"], "succeeded", "{waited}");
    // What is refused is refused at once.
    app.post("agents/a/runs", json!({ "prompt": " ", "wait_seconds": 0 })).await.is(422);
    app.post("agents/a/runs", json!({ "prompt": "x", "wait_seconds": 301 })).await.is(422);
}

/// AG-15: others find no such run, by whichever way; managers do.
async fn a_run_is_there_for_its_caller_alone(backend: Backend) {
    let model = Model::replies(twelve()).await;
    let (app, _upstream) = world(backend, &model, json!({})).await;
    app.post("services", agent("b", &model, json!({}))).await.is(201);
    let caller = |name: &str| json!({ "name": name, "role": "caller" });
    let (ada, bob) = (app.with_key(caller("ada")).await, app.with_key(caller("bob")).await);
    let run = begin(&ada, "a", "When?").await;
    ended(&ada, "a", &run).await;
    ended(&app, "a", &run).await;
    for (client, agent) in [(&bob, "a"), (&ada, "b")] {
        let asked = client.post(&format!("agents/{agent}/runs"), json!({ "run": run })).await;
        asked.is_problem(404, "NOT_FOUND");
    }
    for path in ["", "/steps", "/events"] {
        bob.get(&format!("runs/{run}{path}")).await.is(404);
    }
    bob.post(&format!("runs/{run}/cancel"), json!({})).await.is(404);
    assert_eq!(bob.get("runs").await.is(200).items().len(), 0);
    let other = app.with_tenant("other").await;
    other.get(&format!("runs/{run}")).await.is(404);
    ada.post("agents/a/runs", json!({ "run": run, "prompt": "x" })).await.is(422);
    ada.post("agents/a/runs", json!({ "run": "no id" })).await.is(404);
}

/// AG-15: a run is steered as those of flows are. One that failed goes on where it failed.
async fn a_run_is_cancelled_paused_and_tried_again(backend: Backend) {
    let model = Model::start(|number, _| match number {
        0 => Reply::calls(&[("crm__wait", json!({}))]),
        1 => Reply::calls(&[("crm__echo", json!({}))]),
        2 => Reply::error(401, "no"),
        _ => Reply::says("It is twelve."),
    })
    .await;
    let (app, upstream) = world(backend, &model, json!({})).await;
    let run = begin(&app, "a", "When?").await;
    testkit::eventually("a tool is called", crate::world::PATIENCE, async || {
        count(&upstream, "/slow/4002") == 1
    })
    .await;
    app.post(&format!("runs/{run}/cancel"), json!({})).await.is(200);
    until(&app, &run, "cancelled").await;
    assert_eq!(model.asked().len(), 1);
    let run = begin(&app, "a", "When?").await;
    let failed = until(&app, &run, "failed").await;
    assert_eq!(failed["error"]["reason"], "MODEL_AUTH", "{failed}");
    let told = ended(&app, "a", &run).await;
    assert_eq!((&told["isError"], &told["error"]["reason"]), (&json!(true), &json!("MODEL_AUTH")), "{told}");
    app.post(&format!("runs/{run}/retry"), json!({})).await.is(200);
    until(&app, &run, "succeeded").await;
    assert_eq!(count(&upstream, "/echo"), 1, "what was done is not done again");
    app.post(&format!("runs/{run}/replay"), json!({})).await.is(400);
}

/// AG-16: the events of a run are numbered, and go on behind the one that was heard last.
async fn a_run_can_be_followed_again_from_where_one_was(backend: Backend) {
    let model = Model::replies(twelve()).await;
    let (app, _upstream) = world(backend, &model, json!({})).await;
    let ask = app.request(Method::POST, "agents/a/runs").header("accept", "text/event-stream");
    let all = heard(ask.json(&json!({ "prompt": "When?", "wait_seconds": 30 }))).await;
    let names: Vec<_> = all.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["run", "step", "progress", "step", "progress", "step", "text", "end"], "{all:?}");
    let end: Value = serde_json::from_str(&all.last().unwrap().2).unwrap();
    assert_eq!(end["structuredContent"]["answer"], "It is twelve.", "{end}");
    let run = end["structuredContent"]["run"].as_str().unwrap().to_owned();
    for seen in 0..all.len() {
        let follow = app.request(Method::GET, &format!("runs/{run}/events"));
        let rest = heard(follow.header("last-event-id", (seen + 1).to_string())).await;
        assert_eq!(rest, all[seen + 1..], "behind event {seen}");
    }
}

/// The events of a stream, as name, number and data.
async fn heard(request: reqwest::RequestBuilder) -> Vec<(String, String, String)> {
    let text = request.send().await.unwrap().text().await.unwrap();
    let field =
        |name: &'static str| text.lines().filter_map(move |line| line.strip_prefix(name)).map(str::to_owned);
    let events = field("event: ").zip(field("id: ")).zip(field("data: "));
    events.map(|((name, id), data)| (name, id, data)).collect()
}

/// AG-16: a run of a conversation that is followed while its caller waits has the numbers of its journal: whoever comes back
/// misses nothing and hears no step twice. Tools have their names there, and handoffs are steps.
async fn a_streamed_conversation_is_numbered_as_its_journal_is(backend: Backend) {
    let model = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "text": "x" }))]),
        Reply::calls(&[("handoff_to_b", json!({ "reason": "b knows" }))]),
        Reply::says("It is twelve."),
    ])
    .await;
    let handoffs = json!([{ "to": "agent://b", "when": "always" }]);
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("b", &model, json!({}))).await.is(201);
    app.post("services", agent("a", &model, json!({ "handoffs": handoffs }))).await.is(201);
    let ask = app.request(Method::POST, "agents/a/runs").header("accept", "text/event-stream");
    let live = heard(ask.json(&json!({ "prompt": "When?", "conversation": "new" }))).await;
    let end: Value = serde_json::from_str(&live.last().unwrap().2).unwrap();
    assert_eq!(end["structuredContent"]["answer"], "It is twelve.", "{live:?}");
    let run = end["structuredContent"]["run"].as_str().unwrap().to_owned();
    let follow = |seen: &str| {
        let follow = app.request(Method::GET, &format!("runs/{run}/events"));
        follow.header("last-event-id", seen.to_owned())
    };
    let kept = heard(follow("0")).await;
    let steps = |events: &[(String, String, String)]| -> Vec<(String, String, String)> {
        events.iter().filter(|(name, ..)| matches!(name.as_str(), "run" | "step" | "end")).cloned().collect()
    };
    assert_eq!(steps(&live), steps(&kept), "{live:?}");
    let told: Vec<Value> = kept.iter().map(|(.., data)| serde_json::from_str(data).unwrap()).collect();
    let named = |kind: &str| told.iter().find(|step| step["kind"] == kind).map(|step| step["name"].clone());
    assert_eq!((named("tool"), named("handoff")), (Some(json!("crm__echo")), Some(json!("b"))), "{kept:?}");
    assert!(live.iter().any(|(name, _, data)| name == "text" && data.contains("twelve")), "{live:?}");
    for (_, seen, _) in &live {
        let rest = heard(follow(seen)).await;
        let number = |id: &str| id.parse::<u64>().unwrap();
        let behind: Vec<_> = kept.iter().filter(|(_, id, _)| number(id) > number(seen)).cloned().collect();
        assert_eq!(rest, behind, "behind event {seen}");
    }
    let steps = app.get(&format!("runs/{run}/steps")).await.is(200).items();
    assert!(steps.iter().any(|step| step["kind"] == "handoff" && step["state"] == "succeeded"), "{steps:?}");
}
