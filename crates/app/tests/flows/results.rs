//! What runs give: at once, later, of which version, and to whom it is told.

use crate::world::{PATIENCE, publish, run, shop, start, until};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    a_flow_is_a_tool_that_gives_its_result
    an_asynchronous_start_answers_with_the_run
    each_version_stays_what_it_was
    sub_flows_inherit_the_tenant_and_arguments_win
    a_run_sees_the_unit_of_the_key_that_started_it
    a_run_sees_the_unit_of_the_user_that_started_it
    a_flow_that_takes_longer_than_its_caller_goes_on
    a_known_key_answers_with_the_first_run
}

const ORDER: &str = "
name: Order
inputs: {id: string}
returns: {path: string}
nodes:
  order: {exec: 'api://shop/order', args: {id: '${id}'}}
output: {path: '${order.path}'}
";

/// FL-1: a run gives its result at every door, or why it failed.
async fn a_flow_is_a_tool_that_gives_its_result(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "order", ORDER).await;
    let ended = run(&app, "order", json!({ "id": "7" })).await.is(200);
    assert_eq!((&ended.body["state"], &ended.body["version"]), (&json!("succeeded"), &json!(1)));
    assert_eq!(ended.body["output"], json!({ "path": "/orders/7" }));
    let called = app.call("flow://order", json!({ "id": "8" })).await.is(200);
    assert_eq!(called.body["structuredContent"], json!({ "path": "/orders/8" }), "{}", called.text);
    let named = app.call_name("order", json!({ "id": "9" })).await.is(200);
    assert_eq!(named.body["structuredContent"], json!({ "path": "/orders/9" }), "{}", named.text);
    run(&app, "order", json!({ "id": 7 })).await.is_problem(422, "VALIDATION_FAILED");
    run(&app, "order", json!({})).await.is_problem(422, "VALIDATION_FAILED");
    run(&app, "nowhere", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");

    // Each call of the run is in the audit, with its run and node.
    let id = ended.string("id");
    let audit = app.get("audit?limit=100&tool=shop__order").await.is(200).items();
    let of_run: Vec<_> = audit.iter().filter(|entry| entry["run_id"] == *id).collect();
    assert_eq!(of_run.len(), 1, "{audit:?}");
    assert_eq!(of_run[0]["node"], "order");
    let steps = app.get(&format!("runs/{id}/steps")).await.is(200).items();
    assert_eq!((&steps[0]["path"], &steps[0]["state"]), (&json!("order"), &json!("succeeded")));
    assert_eq!(steps[0]["idempotency_key"], format!("{id}:order"));
    assert_eq!(steps[0]["arguments"], json!({ "id": "7" }));
}

/// FL-2: `async=true` answers at once with the id of a run that goes on.
async fn an_asynchronous_start_answers_with_the_run(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "nodes: {wait: {exec: 'api://shop/slow', args: {ms: 300}, with: wait.path}}";
    publish(&app, app.database(), "slow", text).await;
    let started = app.call("flow://slow?async=true", json!({})).await.is(200);
    let id = started.body["task"]["id"].as_str().unwrap().to_owned();
    // Whoever looks for an answer finds the run there, too, as an MCP client without tasks does.
    assert_eq!(started.body["structuredContent"], json!({ "run_id": id }), "{}", started.text);
    assert_eq!(started.body["content"][0]["text"], json!({ "run_id": id }).to_string(), "{}", started.text);
    let ended = until(&app, &id, &["succeeded"]).await;
    assert_eq!(ended["output"], "/slow/300");
    let polled = app.call_name("flow_run", json!({ "run_id": id, "wait_seconds": 5 })).await.is(200);
    assert_eq!(polled.body["structuredContent"]["output"], "/slow/300", "{}", polled.text);
    let listed = app.get("runs?flow=slow&state=succeeded").await.is(200).items();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["id"], *id);
}

/// FL-4, FL-26: `version=N` runs that version, without it the latest; a version never changes.
async fn each_version_stays_what_it_was(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = |value: u32| format!("nodes: {{one: {{with: '{value}'}}}}");
    assert_eq!(publish(&app, app.database(), "versioned", &text(1)).await, 1);
    assert_eq!(run(&app, "versioned", json!({})).await.is(200).body["output"], 1);
    assert_eq!(publish(&app, app.database(), "versioned", &text(2)).await, 2);
    eventually("the second version is the current one", PATIENCE, async || {
        run(&app, "versioned", json!({})).await.is(200).body["output"] == 2
    })
    .await;
    let old = app.call("flow://versioned?version=1", json!({})).await.is(200);
    assert_eq!(old.body["content"][0]["text"], "1");
    let old = app.post("flows/versioned/runs", json!({ "version": 1, "wait_seconds": 30 })).await.is(200);
    assert_eq!((&old.body["version"], &old.body["output"]), (&json!(1), &json!(1)));
    app.post("flows/versioned/runs", json!({ "version": 3 })).await.is(404);
    let refused = app.post("flows/versioned/runs", json!({ "version": "newest" })).await;
    refused.is_problem(422, "VALIDATION_FAILED");
    // Managers try the draft.
    let tried =
        app.post("flows/versioned/runs", json!({ "version": "draft", "wait_seconds": 30 })).await.is(200);
    assert_eq!((&tried.body["version"], &tried.body["output"]), (&json!(null), &json!(1)));
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    caller.post("flows/versioned/runs", json!({ "version": "draft" })).await.is_problem(403, "FORBIDDEN");
}

/// FL-3: sub-flows see the tenant and the unit of their parents, unless their arguments say otherwise.
async fn sub_flows_inherit_the_tenant_and_arguments_win(backend: Backend) {
    let app = TestApp::start(backend).await;
    let child = "nodes: {seen: {with: {tenant: '${tenantId}', bu: '${buCode}'}}}";
    publish(&app, app.database(), "child", child).await;
    let parent = "
nodes:
  plain: {flow: child}
  told: {flow: child, args: {tenantId: other, buCode: north}}
  below: {flow: middle, args: {buCode: south}}
";
    publish(&app, app.database(), "middle", "nodes: {seen: {flow: child}}").await;
    publish(&app, app.database(), "parent", parent).await;
    let ended = run(&app, "parent", json!({})).await.is(200);
    assert_eq!(ended.body["output"]["plain"], json!({ "tenant": "default", "bu": null }), "{}", ended.text);
    assert_eq!(ended.body["output"]["told"], json!({ "tenant": "other", "bu": "north" }));
    assert_eq!(ended.body["output"]["below"], json!({ "tenant": "default", "bu": "south" }));
    let children = app.get(&format!("runs?parent={}", ended.string("id"))).await.is(200).items();
    assert_eq!(children.len(), 3);
    assert!(children.iter().all(|child| child["trigger"]["type"] == "flow"), "{children:?}");
    // A flow that runs itself comes to an end.
    publish(&app, app.database(), "circle", "nodes: {again: {flow: circle}}").await;
    let ended = run(&app, "circle", json!({})).await.is(200);
    assert_eq!(ended.body["state"], "failed");
    assert!(ended.text.contains("10 deep"), "{}", ended.text);
}

/// FL-3: `buCode` is that of the key, for sub-flows, too; nobody names another one, and a key that has one gives no other.
async fn a_run_sees_the_unit_of_the_key_that_started_it(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "child", "nodes: {seen: {with: buCode}}").await;
    let parent =
        "nodes: {own: {with: buCode}, below: {flow: child}, told: {flow: child, args: {buCode: south}}}";
    publish(&app, app.database(), "parent", parent).await;
    let north = app.with_key(json!({ "name": "n", "role": "manager", "bu_code": "north" })).await;
    let ended = run(&north, "parent", json!({})).await.is(200);
    assert_eq!(ended.body["output"], json!({ "own": "north", "below": "north", "told": "south" }));
    let called = north.call("flow://parent", json!({})).await.is(200);
    assert!(called.text.contains("north"), "{}", called.text);
    let other = north.post("flows/parent/runs", json!({ "inputs": { "buCode": "south" } })).await;
    other.is_problem(403, "FORBIDDEN");
    let key = |bu_code: Value| json!({ "name": "k", "role": "caller", "bu_code": bu_code });
    north.post("keys", key(json!("south"))).await.is_problem(403, "FORBIDDEN");
    north.post("keys", json!({ "name": "k", "role": "caller" })).await.is_problem(403, "FORBIDDEN");
    let made = north.post("keys", key(json!("north"))).await.is(201);
    assert_eq!(made.body["bu_code"], "north");
    let id = made.string("id");
    let moved = app.patch(&format!("keys/{id}"), json!({ "bu_code": null })).await.is(200);
    assert_eq!(moved.body["bu_code"], json!(null));
    app.post("keys", key(json!(""))).await.is_problem(422, "VALIDATION_FAILED");
    let ended = run(&app, "parent", json!({})).await.is(200);
    assert_eq!(ended.body["output"]["own"], json!(null));
}

/// FL-3: a person has a unit as a key has: it is in the token, and the runs of the person see it.
async fn a_run_sees_the_unit_of_the_user_that_started_it(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "seen", "nodes: {own: {with: buCode}}").await;
    let user = |name: &str, unit: Value| json!({ "username": name, "password": "long enough", "role": "manager", "bu_code": unit });
    app.post("users", user("bad", json!(""))).await.is_problem(422, "VALIDATION_FAILED");
    let made = app.post("users", user("nora", json!("north"))).await.is(201);
    assert_eq!(made.body["bu_code"], "north", "{}", made.text);
    let login = json!({ "username": "nora", "password": "long enough" });
    let token = app.as_nobody().post("auth/login", login).await.is(200).string("token");
    let claims = BASE64.decode(token.split('.').nth(1).unwrap());
    let claims: Value = serde_json::from_slice(&claims.unwrap()).unwrap();
    assert_eq!(claims["bu_code"], "north", "{claims}");
    let nora = app.as_key(token);
    assert_eq!(run(&nora, "seen", json!({})).await.is(200).body["output"], "north");
    // Whoever has a unit gives no other.
    nora.post("users", user("sam", json!("south"))).await.is_problem(403, "FORBIDDEN");
    nora.post("users", user("sam", json!(null))).await.is_problem(403, "FORBIDDEN");
    nora.post("users", user("ned", json!("north"))).await.is(201);
    let path = format!("users/{}", made.string("id"));
    nora.patch(&path, json!({ "bu_code": "south" })).await.is_problem(403, "FORBIDDEN");
    assert_eq!(app.patch(&path, json!({ "display_name": "Nora" })).await.is(200).body["bu_code"], "north");
    assert_eq!(app.patch(&path, json!({ "bu_code": "south" })).await.is(200).body["bu_code"], "south");
    assert_eq!(run(&nora, "seen", json!({})).await.is(200).body["output"], "south");
    assert_eq!(app.patch(&path, json!({ "bu_code": null })).await.is(200).body["bu_code"], Value::Null);
}

/// A caller whose time is up is told the run, which goes on without it.
async fn a_flow_that_takes_longer_than_its_caller_goes_on(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    publish(&app, app.database(), "slow", "nodes: {s: {exec: 'api://shop/slow', args: {ms: 2000}}}").await;
    let started = app.call("flow://slow?timeout=500", json!({})).await.is(200);
    let id = started.body["task"]["id"].as_str().unwrap_or_else(|| panic!("{}", started.text)).to_owned();
    until(&app, &id, &["succeeded"]).await;
    assert_eq!(upstream.requests().len(), 1);
}

/// FL-29: a known key answers with the first run.
async fn a_known_key_answers_with_the_first_run(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish(&app, app.database(), "once", "inputs: {n: int}\nnodes: {one: {with: 'n'}}").await;
    let body = |n: u32| json!({ "inputs": { "n": n }, "dedupe_key": "order-7", "wait_seconds": 30 });
    let first = app.post("flows/once/runs", body(1)).await.is(200);
    assert_eq!(first.body.get("deduplicated"), None);
    let second = app.post("flows/once/runs", body(2)).await.is(200);
    assert_eq!(second.body["deduplicated"], true, "{}", second.text);
    assert_eq!((second.string("id"), &second.body["output"]), (first.string("id"), &json!(1)));
    let id = start(&app, "once", json!({ "n": 3 })).await;
    assert_ne!(id, first.string("id"));
}
