//! Runs that are paused, tried again and repeated.

use crate::world::{PATIENCE, publish, run, shop, start, until};
use serde_json::json;
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_failed_run_is_tried_again_where_it_failed
    a_sub_flow_that_failed_is_run_again_by_a_retry
    a_run_is_repeated_from_a_node
    a_paused_run_begins_nothing_new
    many_runs_are_steered_at_once
}

/// FL-23: a retry does what failed again, and nothing else.
async fn a_failed_run_is_tried_again_where_it_failed(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {key: string}
nodes:
  first: {exec: 'api://shop/ship', args: {id: one}, next: second}
  second: {exec: 'api://shop/flaky', args: {key: '${key}'}}
";
    publish(&app, app.database(), "twice", text).await;
    let failed = run(&app, "twice", json!({ "key": "a" })).await.is(200);
    assert_eq!(failed.body["state"], "failed", "{}", failed.text);
    let id = failed.string("id");
    app.post(&format!("runs/{id}/retry"), json!({})).await.is(200);
    until(&app, &id, &["succeeded"]).await;
    let paths: Vec<_> = upstream.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths.iter().filter(|path| *path == "/ship").count(), 1, "{paths:?}");
    assert_eq!(paths.len(), 3);
    app.post(&format!("runs/{id}/retry"), json!({})).await.is_problem(409, "CONFLICT");
}

/// A retry starts another child, not the one that failed.
async fn a_sub_flow_that_failed_is_run_again_by_a_retry(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "child", "nodes: {a: {exec: 'api://shop/flaky', args: {key: child}}}")
        .await;
    publish(&app, app.database(), "parent", "nodes: {inner: {flow: child}}").await;
    let failed = run(&app, "parent", json!({})).await.is(200);
    assert_eq!(failed.body["state"], "failed", "{}", failed.text);
    let id = failed.string("id");
    app.post(&format!("runs/{id}/retry"), json!({})).await.is(200);
    until(&app, &id, &["succeeded"]).await;
    assert_eq!(app.get(&format!("runs?parent={id}")).await.is(200).body["total"], 2);
}

/// FL-23: a replay copies what ended before a node and is another run.
async fn a_run_is_repeated_from_a_node(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
inputs: {id: string}
nodes:
  first: {exec: 'api://shop/order', args: {id: '${id}'}, next: second}
  second: {exec: 'api://shop/ship', args: {id: '${first.path}'}, with: second.body.id}
output: ${second}
";
    publish(&app, app.database(), "two", text).await;
    let ended = run(&app, "two", json!({ "id": "7" })).await.is(200);
    let id = ended.string("id");
    let replay = app.post(&format!("runs/{id}/replay"), json!({ "from": "second" })).await.is(202);
    assert_eq!(replay.body["replay_of"], *id);
    let again = until(&app, &replay.string("id"), &["succeeded"]).await;
    assert_eq!(again["output"], "/orders/7");
    assert_eq!(upstream.requests().len(), 3, "the first node was not called again");
    let body = json!({ "inputs": { "id": "8" } });
    let whole = app.post(&format!("runs/{id}/replay"), body).await.is(202).string("id");
    assert_eq!(until(&app, &whole, &["succeeded"]).await["output"], "/orders/8");
    let unknown = app.post(&format!("runs/{id}/replay"), json!({ "from": "third" })).await;
    unknown.is_problem(422, "VALIDATION_FAILED");
}

/// A pause lets calls end and starts nothing; a resume goes on.
async fn a_paused_run_begins_nothing_new(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
nodes:
  first: {exec: 'api://shop/slow', args: {ms: 1500}, next: second}
  second: {exec: 'api://shop/ship', args: {id: x}}
";
    publish(&app, app.database(), "two", text).await;
    let id = start(&app, "two", json!({})).await;
    eventually("the first call is under way", PATIENCE, async || upstream.requests().len() == 1).await;
    app.post(&format!("runs/{id}/pause"), json!({})).await.is(200);
    until(&app, &id, &["paused"]).await;
    assert_eq!(upstream.requests().len(), 1);
    app.post(&format!("runs/{id}/resume"), json!({})).await.is(200);
    until(&app, &id, &["succeeded"]).await;
    assert_eq!(upstream.requests().len(), 2);
}

/// What fits a filter is steered together, and what cannot be is told.
async fn many_runs_are_steered_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "waits", "nodes: {w: {wait: {signal: go}}}").await;
    let ids = futures::future::join_all((0..5).map(|_| start(&app, "waits", json!({})))).await;
    for id in &ids {
        until(&app, id, &["waiting"]).await;
    }
    let bulk = |action: &str| json!({ "action": action, "filter": { "flow": "waits" } });
    let failed = app.post("runs/bulk", bulk("retry")).await.is(200);
    assert_eq!((&failed.body["done"], failed.body["failed"].as_array().unwrap().len()), (&json!(0), 5));
    let done = app.post("runs/bulk", bulk("cancel")).await.is(200);
    assert_eq!((&done.body["matched"], &done.body["done"]), (&json!(5), &json!(5)));
    for id in &ids {
        until(&app, id, &["cancelled"]).await;
    }
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    caller.post("runs/bulk", bulk("cancel")).await.is_problem(403, "FORBIDDEN");
    app.post("runs/bulk", bulk("delete")).await.is(200);
    assert_eq!(app.get("runs").await.is(200).body["total"], 0);
}
