//! Runs that fail, and nodes that take a failure.

use crate::world::{draft, publish, run, shop};
use serde_json::json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    a_failed_call_takes_the_fail_edge
    a_malformed_uri_fails_its_node
    a_failure_that_nothing_takes_ends_the_run
}

/// AP-8, FL-9: an answer of 400 and above is an error with status and body, and takes `fail`.
async fn a_failed_call_takes_the_fail_edge(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
nodes:
  order: {exec: 'api://shop/lost', fail: lost}
  lost: {with: {code: '${order.error.code}', status: '${order.error.status}', message: '${order.error.message}'}}
output: ${lost}
";
    publish(&app, app.database(), "taken", text).await;
    let ended = run(&app, "taken", json!({})).await.is(200);
    let output = &ended.body["output"];
    assert_eq!(
        (&output["status"], &output["code"]),
        (&json!(404), &json!("UPSTREAM_ERROR")),
        "{}",
        ended.text
    );
    assert!(output["message"].as_str().unwrap().contains("/status/404"), "the body is told: {output}");
    assert_eq!(ended.body["state"], "succeeded");
}

/// UR-2: a malformed URI in a draft fails its node, which may take it.
async fn a_malformed_uri_fails_its_node(backend: Backend) {
    let app = TestApp::start(backend).await;
    draft(app.database(), "broken", "nodes: {a: {exec: 'api:/shop'}}").await;
    let body = json!({ "version": "draft", "wait_seconds": 30 });
    let ended = app.post("flows/broken/runs", body.clone()).await.is(200);
    assert_eq!(ended.body["state"], "failed", "{}", ended.text);
    assert_eq!(ended.body["error"]["code"], "INVALID_URI");
    assert_eq!(ended.body["error"]["node"], "a");
    let text = "nodes: {a: {exec: 'api:/shop', fail: b}, b: {with: a.error.code}}\noutput: ${b}";
    draft(app.database(), "mended", text).await;
    let ended = app.post("flows/mended/runs", body).await.is(200);
    assert_eq!(ended.body["output"], "INVALID_URI", "{}", ended.text);
    // A service that is not there is no tool.
    draft(app.database(), "absent", "nodes: {a: {exec: 'api://shop/order'}}").await;
    let body = json!({ "version": "draft", "wait_seconds": 30 });
    let ended = app.post("flows/absent/runs", body).await.is(200);
    assert_eq!(ended.body["error"]["code"], "TOOL_NOT_FOUND", "{}", ended.text);
}

/// FL-1: a failure comes out at the door, with the code that the flow threw.
async fn a_failure_that_nothing_takes_ends_the_run(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = "nodes: {a: {throw: {code: NO_ORDER, message: 'there is no order ${id}'}}}\ninputs: {id: int}";
    publish(&app, app.database(), "thrown", text).await;
    publish(&app, app.database(), "outer", "nodes: {inner: {flow: thrown, args: {id: 7}}}").await;
    for (flow, inputs) in [("thrown", json!({ "id": 7 })), ("outer", json!({}))] {
        let ended = run(&app, flow, inputs.clone()).await.is(200);
        assert_eq!(ended.body["error"]["code"], "NO_ORDER", "{}", ended.text);
        let called = app.call(&format!("flow://{flow}"), inputs).await.is(200);
        assert_eq!(called.body["isError"], true, "{}", called.text);
        assert_eq!(called.body["error"]["service_code"], "NO_ORDER");
        assert!(called.text.contains("there is no order 7"), "{}", called.text);
    }
}
