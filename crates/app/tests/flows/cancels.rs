//! Runs that are taken back, and what that reaches.

use crate::world::{PATIENCE, publish, shop, start, until};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_cancel_reaches_calls_and_children
    a_run_that_has_not_begun_is_cancelled_at_once
}

/// FL-22: within 5 s the calls of a cancelled run end, and those of its children.
async fn a_cancel_reaches_calls_and_children(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "slow", "nodes: {s: {exec: 'api://shop/slow', args: {ms: 60000}}}").await;
    publish(
        &app,
        app.database(),
        "outer",
        "nodes: {inner: {flow: slow}, own: {exec: 'api://shop/slow', args: {ms: 60000}}}",
    )
    .await;
    let id = start(&app, "outer", json!({})).await;
    eventually("both calls are under way", PATIENCE, async || upstream.requests().len() == 2).await;
    let begun = Instant::now();
    app.post(&format!("runs/{id}/cancel"), json!({})).await.is(200);
    until(&app, &id, &["cancelled"]).await;
    let child =
        app.get(&format!("runs?parent={id}")).await.is(200).items()[0]["id"].as_str().unwrap().to_owned();
    until(&app, &child, &["cancelled"]).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // What was under way is in the audit as what it is.
    eventually("both calls are on record", PATIENCE, async || {
        app.get("audit?tool=shop__slow&status=error").await.is(200).body["total"] == 2
    })
    .await;
    app.post(&format!("runs/{id}/cancel"), json!({})).await.is_problem(409, "CONFLICT");
}

/// One that waits for its turn ends without having begun.
async fn a_run_that_has_not_begun_is_cancelled_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "concurrency: {limit: 1}\nnodes: {w: {wait: {signal: go}}}";
    publish(&app, app.database(), "alone", text).await;
    let first = start(&app, "alone", json!({})).await;
    until(&app, &first, &["waiting"]).await;
    let second = start(&app, "alone", json!({})).await;
    assert_eq!(app.get(&format!("runs/{second}")).await.is(200).body["state"], "queued");
    let cancelled = app.post(&format!("runs/{second}/cancel"), json!({})).await.is(200);
    assert_eq!(cancelled.body["state"], "cancelled");
    app.post(&format!("runs/{first}/signals/go"), json!({})).await.is(202);
    until(&app, &first, &["succeeded"]).await;
}
