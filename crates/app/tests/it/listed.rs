//! What is not on an allow-list is told nowhere: beside the lists, not in what refers, counts, shows and tells.

use crate::setup::crm;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::{Backend, Reply, TestApp, http, on_both_databases};

on_both_databases! {
    references_tell_a_reader_of_what_lists_do
    numbers_tell_no_name_that_is_not_on_the_list
    a_service_shows_the_tools_that_are_on_the_list
    arguments_of_a_command_are_for_those_who_manage
}

/// A service, a Tool and a flow over it, all of somebody else.
async fn world(backend: Backend) -> (TestApp, http::Server) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let tool = json!({ "name": "greet", "type": "uri", "uri": "api://crm/ping", "description": "Greets" });
    app.post("tools", tool).await.is(201);
    let source = "nodes:\n  a: {exec: \"api://crm/ping\"}\noutput: {x: 1}";
    app.post("flows", json!({ "id": "three", "source": source })).await.is(201);
    app.post("flows/three/publish", json!({})).await.is(200);
    (app, upstream)
}

fn texts(reply: &Reply, field: &str) -> BTreeSet<String> {
    reply.items().iter().filter_map(|item| item[field].as_str().map(str::to_owned)).collect()
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

async fn references_tell_a_reader_of_what_lists_do(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    let path = "services/api/crm/references";
    let all = app.get(path).await.is(200);
    assert_eq!(texts(&all, "type"), set(&["tool", "flow"]), "{}", all.text);
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let own = json!({ "name": "mine", "type": "uri", "uri": "api://crm/ping", "description": "Mine" });
    caller.post("tools", own).await.is(201);
    let seen = caller.get(path).await.is(200);
    assert_eq!(texts(&seen, "name"), set(&["mine"]), "{}", seen.text);
    let viewer = app.with_key(json!({ "name": "v", "role": "viewer", "allow": ["crm__ping"] })).await;
    let seen = viewer.get(path).await.is(200);
    assert_eq!(texts(&seen, "type"), set(&["tool"]), "{}", seen.text);
    let viewer = app.with_key(json!({ "name": "v", "role": "viewer", "allow": ["three"] })).await;
    assert_eq!(texts(&viewer.get(path).await.is(200), "type"), set(&["tool", "flow"]));
}

async fn numbers_tell_no_name_that_is_not_on_the_list(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    app.call("api://crm/ping", json!({})).await.is(200);
    app.call("api://crm/fail", json!({})).await.is(200);
    app.call("flow://three", json!({})).await.is(200);
    let viewer = app.with_key(json!({ "name": "v", "role": "viewer", "allow": ["crm__ping"] })).await;
    for by in ["tool", "service"] {
        let path = format!("stats?by={by}");
        let (all, seen) = (app.get(&path).await.is(200), viewer.get(&path).await.is(200));
        let calls = |reply: &Reply| -> i64 {
            let series = reply.body["series"].as_array().unwrap().iter();
            series.flat_map(|one| one["calls"].as_array().unwrap()).filter_map(Value::as_i64).sum()
        };
        let keys = |reply: &Reply| -> BTreeSet<String> {
            let series = reply.body["series"].as_array().unwrap().iter();
            series.map(|one| one["key"].as_str().unwrap().to_owned()).collect()
        };
        assert!(keys(&all).contains("three"), "{by}: {}", all.text);
        let known = if by == "tool" { "crm__ping" } else { "crm" };
        assert_eq!(keys(&seen), set(&[known, "…"]), "{by}: {}", seen.text);
        assert_eq!(calls(&seen), calls(&all), "the sums are the same");
    }
    let overview = viewer.get("overview").await.is(200);
    for hidden in ["three", "crm__fail"] {
        assert!(!overview.text.contains(hidden), "{hidden}: {}", overview.text);
    }
    assert!(overview.text.contains("crm__ping"), "{}", overview.text);
}

async fn a_service_shows_the_tools_that_are_on_the_list(backend: Backend) {
    let (app, _upstream) = world(backend).await;
    for role in ["caller", "viewer", "manager"] {
        let key = json!({ "name": role, "role": role, "allow": ["crm__ping", "api://crm/fa*"] });
        let narrow = app.with_key(key).await;
        let listed = narrow.get("services/api/crm/tools").await.is(200);
        assert_eq!(texts(&listed, "id"), set(&["ping", "fail"]), "{role}: {}", listed.text);
        narrow.get("services/api/crm/tools/ping").await.is(200);
        narrow.get("services/api/crm/tools/slow").await.is_problem(404, "NOT_FOUND");
        for reply in [narrow.get("services/api/crm").await.is(200), narrow.get("services").await.is(200)] {
            assert!(reply.text.contains("/ping") && !reply.text.contains("/slow"), "{role}: {}", reply.text);
        }
    }
}

/// Behind `-p` stands a port or a password.
async fn arguments_of_a_command_are_for_those_who_manage(backend: Backend) {
    let app = TestApp::start(backend).await;
    let config = json!({ "command": "npx", "args": ["-y", "pkg", "-p", "hunter2"] });
    app.post("services", json!({ "type": "mcp", "id": "x", "enabled": false, "config": config }))
        .await
        .is(201);
    for (role, is_shown) in [("caller", false), ("viewer", false), ("manager", true)] {
        let reader = app.with_key(json!({ "name": role, "role": role })).await;
        for path in ["services", "services/mcp/x"] {
            let reply = reader.get(path).await.is(200);
            assert_eq!(reply.text.contains("hunter2"), is_shown, "{role} {path}: {}", reply.text);
            assert!(reply.text.contains("npx"), "{role} {path}: {}", reply.text);
        }
    }
    let manager = app.with_key(json!({ "name": "m", "role": "manager" })).await;
    let service = json!({ "type": "mcp", "id": "y", "config": { "command": "npx" } });
    let refused = manager.post("services", service).await.is_problem(403, "FORBIDDEN");
    assert_eq!(refused.errors(), [("config.command", "AdminOnly")], "{}", refused.text);
    assert!(refused.string("detail").contains("'config.command' acts on the machine"), "{}", refused.text);
}
