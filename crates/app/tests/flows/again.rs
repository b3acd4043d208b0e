//! A flow that is deleted and made again under its id: the old one's runs are not its own.

use crate::world::{publish_over_rest, run, shop, start, until};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    a_flow_made_again_has_nothing_of_the_runs_before
    a_run_whose_flow_is_gone_is_not_tried_again
}

/// Deletes a flow and publishes another text under its id.
async fn make_again(app: &TestApp, flow: &str, text: &str) {
    app.delete(&format!("flows/{flow}")).await.is(204);
    let published = publish_over_rest(app, flow, text).await;
    assert_eq!(published.body["version"], 2, "no number is that of another text");
}

/// Runs a flow, and gives the run's id once it has ended.
async fn ended(app: &TestApp, flow: &str, inputs: Value) -> String {
    let id = run(app, flow, inputs).await.is(200).string("id");
    until(app, &id, &["succeeded", "failed"]).await;
    id
}

/// FL-14, FL-23, FL-26, FL-29, FL-32: secrets stay masked, approvals carry over nowhere, retry runs no other text, and known keys
/// answer with no run of before.
async fn a_flow_made_again_has_nothing_of_the_runs_before(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.service(shop(&upstream)).await;
    let secret = "inputs: {pin: {type: string, secret: true}}\nnodes: {a: {with: 'pin'}}";
    publish_over_rest(&app, "sealed", secret).await;
    let sealed = ended(&app, "sealed", json!({ "pin": "hunter2-hunter2" })).await;
    make_again(&app, "sealed", "inputs: {pin: string}\nnodes: {a: {with: 'pin'}}").await;
    for path in ["", "/steps"] {
        let shown = app.get(&format!("runs/{sealed}{path}")).await.is(200);
        assert!(!shown.text.contains("hunter2"), "{}", shown.text);
    }

    publish_over_rest(&app, "asked", "nodes: {ok: {approval: Go, next: done}, done: {with: \"'old'\"}}")
        .await;
    let asked = start(&app, "asked", json!({})).await;
    let view = until(&app, &asked, &["waiting"]).await;
    let approval = view["waiting_for"][0]["approval_id"].as_str().unwrap();
    app.post(&format!("approvals/{approval}"), json!({ "decision": "approve" })).await.is(200);
    until(&app, &asked, &["succeeded"]).await;
    make_again(&app, "asked", "nodes: {ok: {approval: Really, next: done}, done: {with: \"'new'\"}}").await;
    for replay in [json!({}), json!({ "from": "done" }), json!({ "from": "done", "version": 2 })] {
        let refused = app.post(&format!("runs/{asked}/replay"), replay).await.is_problem(404, "NOT_FOUND");
        assert!(refused.text.contains("no version 1 any more"), "{}", refused.text);
    }

    publish_over_rest(&app, "failed", "nodes: {a: {exec: 'api://shop/lost'}}").await;
    let failed = ended(&app, "failed", json!({})).await;
    make_again(&app, "failed", "nodes: {a: {exec: 'api://shop/ship', args: {id: \"'1'\"}}}").await;
    app.post(&format!("runs/{failed}/retry"), json!({})).await.is_problem(404, "NOT_FOUND");
    assert!(upstream.requests().iter().all(|request| request.path != "/ship"));

    publish_over_rest(&app, "keyed", "nodes: {a: {with: \"'old'\"}}").await;
    let keyed = json!({ "dedupe_key": "k", "wait_seconds": 30 });
    let old = app.post("flows/keyed/runs", keyed.clone()).await.is(200).string("id");
    assert_eq!(app.post("flows/keyed/runs", keyed.clone()).await.is(200).string("id"), old);
    make_again(&app, "keyed", "nodes: {a: {with: \"'new'\"}}").await;
    let new = app.post("flows/keyed/runs", keyed).await.is(200);
    assert_eq!((&new.body["output"], &new.body["version"]), (&json!("new"), &json!(2)), "{}", new.text);
}

/// FL-23: it stays failed with the error that it had.
async fn a_run_whose_flow_is_gone_is_not_tried_again(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.service(shop(&upstream)).await;
    publish_over_rest(&app, "gone", "nodes: {a: {exec: 'api://shop/lost'}}").await;
    let failed = ended(&app, "gone", json!({})).await;
    let before = app.get(&format!("runs/{failed}")).await.is(200).body;
    app.delete("flows/gone").await.is(204);
    let refused = app.post(&format!("runs/{failed}/retry"), json!({})).await.is_problem(404, "NOT_FOUND");
    assert!(refused.text.contains("start a new run"), "{}", refused.text);
    let bulk = json!({ "action": "retry", "filter": { "flow": "gone" } });
    assert_eq!(app.post("runs/bulk", bulk).await.is(200).body["done"], 0);
    let after = app.get(&format!("runs/{failed}")).await.is(200).body;
    assert_eq!((&after["state"], &after["error"]), (&before["state"], &before["error"]));
}
