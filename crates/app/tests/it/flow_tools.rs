//! Tools that lead to flows.

use crate::flows::publish;
use crate::instances::{Session, bind, instance};
use serde_json::json;
use testkit::{Backend, TestApp, on_both_databases};

on_both_databases! {
    a_tool_leads_to_a_flow
}

const SHIP: &str = "inputs: {id: string, by: string}\nnodes: {a: {with: {sent: '${id}', by: '${by}'}}}\nreturns: {sent: string, by: string}";

/// TB-2.1, FL-32: a Tool with presets leads to a flow, at every door; whoever makes it may run the flow, and its callers need
/// the right to the Tool alone.
async fn a_tool_leads_to_a_flow(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("flows", json!({ "id": "ship", "source": SHIP })).await.is(201);
    publish(&app, "ship").await.is(200);
    let tool =
        |uri: &str| json!({ "name": "send_it", "type": "uri", "uri": uri, "arguments": { "by": "dhl" } });
    let ann = app.with_key(json!({ "name": "ann", "role": "manager", "allow": ["flow://other"] })).await;
    let refused = ann.post("tools", tool("flow://ship")).await.is_problem(403, "FORBIDDEN");
    assert!(refused.text.contains("ann has an allow-list"), "{}", refused.text);
    let desk = json!({ "name": "desk", "role": "manager", "scopes": ["read", "manage"] });
    let desk = app.with_key(desk).await;
    desk.post("tools", tool("flow://ship")).await.is_problem(403, "FORBIDDEN");
    let made = app.post("tools", tool("flow://ship")).await.is(201);
    let wrong = json!({ "name": "x", "type": "uri", "uri": "flow://ship", "arguments": { "bye": 1 } });
    app.post("tools", wrong).await.is_problem(422, "VALIDATION_FAILED");

    let expected = json!({ "sent": "7", "by": "dhl" });
    let called = app.call_name("send_it", json!({ "id": "7" })).await.is(200);
    assert_eq!(called.body["structuredContent"], expected, "{}", called.text);
    let run = app.get("runs?flow=ship").await.is(200).items().remove(0);
    assert_eq!(run["state"], "succeeded", "{run}");
    let eve = app.with_key(json!({ "name": "eve", "role": "caller", "allow": ["send_it"] })).await;
    let called = eve.call_name("send_it", json!({ "id": "7" })).await.is(200);
    assert_eq!(called.body["structuredContent"], expected, "{}", called.text);
    eve.call("flow://ship", json!({ "id": "7", "by": "ups" })).await.is_problem(403, "FORBIDDEN");

    let door = instance(&app, "door").await;
    bind(&app, &door, &[&made.string("id")]).await.is(201);
    let session = Session::open(&app, &door.key, "2025-11-25").await;
    assert_eq!(session.names().await, json!(["send_it"]));
    let called = session.call("send_it", json!({ "id": "8" })).await;
    assert_eq!(called["result"]["structuredContent"], json!({ "sent": "8", "by": "dhl" }), "{called}");
}
