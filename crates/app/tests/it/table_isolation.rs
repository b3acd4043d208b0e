//! What belongs to another user or another tenant is not there: tables, tools, instances, keys.

use crate::instances::{Instance, instance};
use crate::tables::{shop, table};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, Client, TestApp, on_both_databases};

on_both_databases! { finds_nothing_of_another }

/// Everything that Ada has.
struct Owned {
    table: String,
    tool: String,
    instance: Instance,
}

/// Every way to it.
fn asks(owned: &Owned) -> Vec<(Method, String, Value)> {
    let Owned { table, tool, instance } = owned;
    let (get, post, put) = (Method::GET, Method::POST, Method::PUT);
    let (patch, delete) = (Method::PATCH, Method::DELETE);
    let (door, data) = (&instance.id, json!({ "data": 1 }));
    let uri = |operation: &str, arguments: Value| json!({ "uri": format!("table://{table}/{operation}"), "arguments": arguments });
    vec![
        (get.clone(), format!("tables/{table}"), json!(null)),
        (patch.clone(), format!("tables/{table}"), json!({ "name": "stolen" })),
        (delete.clone(), format!("tables/{table}"), json!(null)),
        (get.clone(), format!("tables/{table}/data"), json!(null)),
        (get.clone(), format!("tables/{table}/data?json_path=/nope"), json!(null)),
        (get.clone(), format!("tables/{table}/data?version=1"), json!(null)),
        (post.clone(), format!("tables/{table}/data?json_path=/stolen"), data.clone()),
        (put.clone(), format!("tables/{table}/data?json_path=/stolen"), data.clone()),
        (put, format!("tables/{table}/data?version=7"), data),
        (delete.clone(), format!("tables/{table}/data?json_path=/title"), json!(null)),
        (get.clone(), format!("tables/{table}/versions"), json!(null)),
        (post.clone(), format!("tables/{table}/restore"), json!({ "version": 1 })),
        (post.clone(), format!("tables/{table}/import"), json!({})),
        (get.clone(), format!("tables/{table}/export"), json!(null)),
        (post.clone(), "call".into(), uri("get_all_data", json!({}))),
        (post.clone(), "call".into(), uri("query_data", json!({ "query": "@" }))),
        (post.clone(), "call".into(), uri("create", json!({ "elements": [{ "key": "x", "content": 1 }] }))),
        (post.clone(), "call".into(), uri("delete", json!({ "keys": ["title"] }))),
        (post.clone(), "tools".into(), json!({ "name": "mine", "type": "get_all_data", "table_id": table })),
        (
            post.clone(),
            "tools".into(),
            json!({ "name": "mine", "type": "uri", "uri": format!("table://{table}/get_all_data") }),
        ),
        (get.clone(), format!("tools/by-table/{table}"), json!(null)),
        (get.clone(), format!("/tools/by-table/{table}"), json!(null)),
        (get.clone(), format!("tools/{tool}"), json!(null)),
        (patch.clone(), format!("tools/{tool}"), json!({ "name": "stolen" })),
        (delete.clone(), format!("tools/{tool}"), json!(null)),
        (post.clone(), format!("tools/{tool}/test"), json!({})),
        (get.clone(), format!("tools/{tool}/search-index"), json!(null)),
        (post.clone(), "tools/search".into(), json!({ "name": "mine", "table_id": table })),
        (post.clone(), "call".into(), uri("search", json!({ "query": "x" }))),
        (get.clone(), format!("tools/{tool}/versions"), json!(null)),
        (post.clone(), format!("tools/{tool}/rollback"), json!({ "version": 1 })),
        (get.clone(), format!("mcp/id/{door}"), json!(null)),
        (patch.clone(), format!("mcp/id/{door}"), json!({ "name": "stolen" })),
        (delete.clone(), format!("mcp/id/{door}"), json!(null)),
        (post.clone(), format!("mcp/id/{door}/rotate-key"), json!(null)),
        (get, format!("mcp/id/{door}/tools"), json!(null)),
        (post, format!("mcp/id/{door}/bindings"), json!({ "bindings": [{ "tool_id": tool }] })),
        (patch, format!("mcp/id/{door}/bindings/{tool}"), json!({ "status": "disabled" })),
        (delete, format!("mcp/id/{door}/bindings/{tool}"), json!(null)),
    ]
}

async fn finds_nothing(stranger: &Client, owned: &Owned, who: &str) {
    for (method, path, body) in asks(owned) {
        let reply = send_json(stranger.request(method.clone(), &path), &body).await;
        let code = reply.body["code"].as_str().unwrap_or_default();
        // A call by URI says TOOL_NOT_FOUND, as for everything that cannot be called.
        let is_right = if path == "call" { code == "TOOL_NOT_FOUND" } else { code == "NOT_FOUND" };
        assert!(reply.status == 404 && is_right, "{who}: {method} {path}: {} {}", reply.status, reply.text);
    }
    for list in ["tables", "tools", "mcp"] {
        assert_eq!(stranger.get(list).await.is(200).body["total"], 0, "{who}: {list}");
    }
    // Nor can it be bound to a door of one's own.
    let mine = instance(stranger, "mine").await;
    let bindings = json!({ "bindings": [{ "tool_id": owned.tool }] });
    stranger.post(&format!("mcp/id/{}/bindings", mine.id), bindings).await.is_problem(404, "NOT_FOUND");
    stranger.delete(&format!("mcp/id/{}", mine.id)).await.is(204);
}

async fn finds_nothing_of_another(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.with_tenant("acme").await;
    let other_tenant = app.with_tenant("umbrella").await;
    let ada = app.with_key(json!({ "name": "ada", "tenant": "acme", "role": "caller" })).await;
    let other_user = app.with_key(json!({ "name": "bob", "tenant": "acme", "role": "caller" })).await;
    let id = table(&ada, shop()).await;
    let tool =
        ada.post("tools", json!({ "name": "all", "type": "get_all_data", "table_id": id })).await.is(201);
    let owned = Owned { table: id, tool: tool.string("id"), instance: instance(&ada, "door").await };
    let bindings = json!({ "bindings": [{ "tool_id": owned.tool }] });
    ada.post(&format!("mcp/id/{}/bindings", owned.instance.id), bindings).await.is(201);

    finds_nothing(&other_user, &owned, "another user").await;
    finds_nothing(&other_tenant, &owned, "another tenant").await;
    other_tenant.call_name("all", json!({})).await.is_problem(404, "TOOL_NOT_FOUND");
    for path in asks(&owned).into_iter().map(|(method, path, _)| (method, path)) {
        let reply = send_json(app.as_nobody().request(path.0, &path.1), &json!({})).await;
        assert_eq!(reply.status, 401, "nobody at {}: {}", path.1, reply.text);
    }
    // A door serves its own tenant, whoever else signs in.
    let key = &owned.instance.key;
    let listed = other_tenant.get(&format!("mcp/{key}/tools")).await.is(200);
    assert_eq!(listed.items()[0]["name"], "all");
    let read = ada.get(&format!("tables/{}/data", owned.table)).await.is(200);
    assert_eq!(read.body, json!({ "data": shop(), "version": 1 }), "nothing was changed");
    assert_eq!(ada.get(&format!("tools/{}", owned.tool)).await.is(200).body["name"], "all");
    // Gone with its tenant.
    app.delete("tenants/acme").await.is(204);
    app.get(&format!("mcp/{key}/tools")).await.is_problem(404, "NOT_FOUND");
    app.get(&format!("tables/{}?tenant_id=acme", owned.table)).await.is_problem(404, "NOT_FOUND");
}
