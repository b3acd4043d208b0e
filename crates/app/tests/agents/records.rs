//! One ask is one call: one admission, one record, one run, whichever way it is asked.

use crate::world::{PATIENCE, agent, crm, until};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::model::{Model, Reply};
use testkit::{Backend, TestApp, eventually, http};

/// A server with the agent `a`, whose model says this.
pub(crate) async fn world(replies: Vec<Reply>, more: Value) -> (TestApp, http::Server, Model) {
    let (app, upstream) = (TestApp::start(Backend::Sqlite).await, http::Server::start().await);
    let model = Model::replies(replies).await;
    app.post("services", crm(&upstream)).await.is(201);
    app.post("services", agent("a", &model, more)).await.is(201);
    (app, upstream, model)
}

fn twelve() -> Vec<Reply> {
    vec![Reply::says("It is twelve.")]
}

/// AG-21: one record, with the run, the agent and what was used, also of an ask that goes on by itself; and of a conversation
/// nothing that was said.
#[tokio::test]
async fn an_ask_leaves_one_record_with_its_run() {
    let (app, _upstream, _model) = world(twelve(), json!({})).await;
    for (at, more) in [
        json!({}),
        json!({ "conversation": "new" }),
        json!({ "wait_seconds": 30 }),
        json!({ "wait_seconds": 0 }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut ask = more.clone();
        ask["prompt"] = "When does the raven fly?".into();
        let answer = app.post("agents/a/runs", ask).await.body;
        let run = answer["structuredContent"]["run"].as_str().unwrap().to_owned();
        let mut records = Vec::new();
        eventually("the ask is recorded", PATIENCE, async || {
            records = app.get("audit?tool=a__ask").await.is(200).items();
            records.len() > at
        })
        .await;
        assert_eq!(records.len(), at + 1, "{more}: {records:#?}");
        let record = &records[0];
        assert_eq!((&record["run"], &record["agent"]), (&json!(run), &json!("a")), "{more}: {record}");
        assert_eq!(record["usage"]["model_calls"], 1, "{more}: {record}");
        assert_eq!(record["parent_request_id"], Value::Null, "{more}: {record}");
        assert_eq!(app.get(&format!("audit?run={run}")).await.is(200).items().len(), 1, "{more}");
        let is_told = record["arguments"].to_string().contains("raven");
        assert_eq!(is_told, more["conversation"].is_null(), "{record}");
    }
    let csv = app.request(Method::GET, "audit/export?format=csv").send().await.unwrap().text().await.unwrap();
    assert!(csv.lines().next().unwrap().contains("run,agent,step,usage"), "{csv}");
}

/// AG-21: waiting for a run is no call of its own, so that no limit is reached after the run has begun.
#[tokio::test]
async fn an_ask_that_is_waited_for_counts_once() {
    let (app, _upstream, model) = world(twelve(), json!({})).await;
    let key = json!({ "name": "ci", "role": "caller", "limits": { "calls_per_minute": 1 } });
    let key = app.with_key(key).await;
    let ask = json!({ "prompt": "When?", "wait_seconds": 30 });
    let answer = key.post("agents/a/runs", ask.clone()).await.is(200).body;
    assert_eq!(answer["structuredContent"]["state"], "succeeded", "{answer}");
    key.post("agents/a/runs", ask).await.is(429);
    assert_eq!(model.asked().len(), 1);
}

/// AG-15, AG-21: a run that somebody has ended says so to whoever asks for it, and has its record.
#[tokio::test]
async fn a_cancelled_run_tells_what_it_was() {
    let late = Reply::Late(Duration::from_secs(60), Box::new(Reply::says("Never.")));
    let replies = vec![Reply::calls(&[("crm__echo", json!({ "text": "x" }))]), late];
    let (app, _upstream, model) = world(replies, json!({})).await;
    let begun = app.post("agents/a/runs", json!({ "prompt": "When?", "wait_seconds": 0 })).await.is(202).body;
    let run = begun["structuredContent"]["run"].as_str().unwrap().to_owned();
    eventually("the model is asked again", PATIENCE, async || model.asked().len() == 2).await;
    app.post(&format!("runs/{run}/cancel"), json!({})).await.is(200);
    until(&app, &run, "cancelled").await;
    let told = app.post("agents/a/runs", json!({ "run": run })).await.is(200).body;
    let content = &told["structuredContent"];
    assert_eq!((&content["run"], &content["state"]), (&json!(run), &json!("cancelled")), "{told}");
    assert_eq!(
        (&told["isError"], &content["error"]["service"], &told["error"]["service"]),
        (&json!(true), &json!("a"), &json!("a"))
    );
    let mut records = Vec::new();
    eventually("the run is recorded", PATIENCE, async || {
        records = app.get(&format!("audit?run={run}&tool=a__ask")).await.is(200).items();
        !records.is_empty()
    })
    .await;
    assert_eq!((records.len(), &records[0]["agent"]), (1, &json!("a")), "{records:?}");
    assert_eq!(records[0]["usage"]["model_calls"], 1, "{records:?}");
}

/// AG-21, F9: an ask whose caller goes away is recorded with its run and what that has used, and counted as cancelled.
#[tokio::test]
async fn an_ask_that_is_taken_back_is_recorded_with_what_it_used() {
    let late = Reply::Late(Duration::from_secs(60), Box::new(Reply::says("Never.")));
    let replies = vec![Reply::calls(&[("crm__echo", json!({ "text": "x" }))]), late];
    let (app, _upstream, model) = world(replies, json!({})).await;
    let ask = app.request(Method::POST, "agents/a/runs").json(&json!({ "prompt": "When?" }));
    let asking = tokio::spawn(ask.send());
    eventually("the model is asked again", PATIENCE, async || model.asked().len() == 2).await;
    asking.abort();
    let mut records = Vec::new();
    eventually("the ask is recorded", PATIENCE, async || {
        records = app.get("audit?tool=a__ask").await.is(200).items();
        !records.is_empty()
    })
    .await;
    let record = &records[0];
    assert_eq!((&record["agent"], record["run"].is_string()), (&json!("a"), true), "{record}");
    let usage = &record["usage"];
    assert_eq!((&usage["model_calls"], &usage["input_tokens"]), (&json!(1), &json!(10)), "{record}");
    let metrics = app.get("/metrics").await.is(200).text;
    assert!(metrics.contains("mcp_all_in_one_agent_runs_total{state=\"cancelled\"} 1"), "{metrics}");
}
