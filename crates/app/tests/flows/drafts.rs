//! Drafts that are tried out: what they say is run, or nothing.

use crate::world::shop;
use serde_json::json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    a_draft_that_cannot_be_read_makes_no_call
}

/// FL-18, UR-2: a condition, a limit or a secret that cannot be read is replaced by nothing: the run is refused with its place.
/// A malformed URI alone is left to its node.
async fn a_draft_that_cannot_be_read_makes_no_call(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.service(shop(&upstream)).await;
    let ship =
        |more: &str| format!("nodes:\n  a: {{exec: 'api://shop/ship', args: {{id: \"'1'\"}}{more}}}\n");
    for (at, (text, path)) in [
        (ship(", only: 'false &&'"), "nodes.a.only"),
        (ship(", onyl: 'false'"), "nodes.a.onyl"),
        (ship(", retry: many"), "nodes.a.retry"),
        (ship(", delivery: once"), "nodes.a.delivery"),
        (format!("{}concurrency: {{limit: none}}\n", ship("")), "concurrency.limit"),
        (format!("{}inputs: {{p: {{type: 'string', secret: 'yes'}}}}\n", ship("")), "inputs.p.secret"),
    ]
    .into_iter()
    .enumerate()
    {
        app.post("flows", json!({ "id": format!("f{at}"), "source": text })).await.is(201);
        let body = json!({ "version": "draft", "wait_seconds": 30, "inputs": {} });
        let refused = app.post(&format!("flows/f{at}/runs"), body).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(refused.body["errors"][0]["path"], path, "{text}: {}", refused.text);
    }
    assert_eq!(upstream.requests().len(), 0);
    let text = "nodes: {a: {exec: 'api//shop', fail: f}, f: {with: 'a.error.code'}}";
    app.post("flows", json!({ "id": "uri", "source": text })).await.is(201);
    let body = json!({ "version": "draft", "wait_seconds": 30 });
    let ran = app.post("flows/uri/runs", body).await.is(200);
    assert_eq!(ran.body["output"], "INVALID_URI", "{}", ran.text);
}
