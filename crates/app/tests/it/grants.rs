//! Nobody grants, makes or edits more than they hold, and what was changed is on record.

use crate::setup::crm;
use serde_json::{Value, json};
use testkit::{Backend, Client, Reply, TestApp, http, on_both_databases};

on_both_databases! {
    keeps_restricted_managers_within_what_they_hold
    lets_nobody_edit_who_holds_more
    lets_those_with_a_unit_make_instances_of_their_own
    lets_nobody_make_something_else_of_what_its_list_names
    records_management_with_who_what_before_and_after
    keeps_records_of_management_apart_from_those_of_calls
    records_nothing_of_a_change_that_was_not_made
}

/// A manager's key with every kind of restriction.
fn restricted() -> Value {
    json!({
        "name": "restricted", "role": "manager", "scopes": ["read", "manage", "call"],
        "allow": ["crm__*", "api://crm/*"], "limits": { "calls_per_minute": 60, "concurrent_calls": 2 },
        "expires_at": "2101-01-01T00:00:00Z"
    })
}

/// The same with one field changed.
fn with(field: &str, value: Value) -> Value {
    let mut key = restricted();
    key["name"] = "child".into();
    key[field] = value;
    key
}

fn refused(reply: Reply, field: &str) {
    let reply = reply.is_problem(403, "FORBIDDEN");
    assert!(reply.string("detail").contains(field), "{field}: {}", reply.text);
    assert_eq!(reply.errors(), [(field, "BeyondYourOwn")], "{}", reply.text);
}

async fn keeps_restricted_managers_within_what_they_hold(backend: Backend) {
    let app = TestApp::start(backend).await;
    let made = app.post("keys", restricted()).await.is(201);
    let own = format!("keys/{}", made.string("id"));
    let manager = app.as_key(made.string("key"));
    let wider = [
        ("allow", json!([])),
        ("allow", json!(["*"])),
        ("allow", json!(["crm__*", "erp__*"])),
        ("allow", json!(["crm*"])),
        ("allow", json!(["api://crm/*?method=*"])),
        ("limits", json!({})),
        ("limits", json!({ "calls_per_minute": 61, "concurrent_calls": 2 })),
        ("limits", json!({ "calls_per_minute": 60 })),
        ("expires_at", json!("2101-01-01T00:00:01Z")),
    ];
    let child = manager.post("keys", with("allow", json!(["crm__get*"]))).await.is(201);
    let child = format!("keys/{}", child.string("id"));
    for (field, value) in wider {
        refused(manager.post("keys", with(field, value.clone())).await, field);
        refused(manager.patch(&own, json!({ field: value.clone() })).await, field);
        refused(manager.patch(&child, json!({ field: value })).await, field);
    }
    // A limit of 0 is none that is missing.
    for limits in [
        json!({ "calls_per_minute": 0, "concurrent_calls": 2 }),
        json!({ "calls_per_minute": 60, "concurrent_calls": 0 }),
    ] {
        let reply = manager.post("keys", with("limits", limits.clone())).await;
        reply.is_problem(422, "VALIDATION_FAILED");
        manager.patch(&own, json!({ "limits": limits })).await.is_problem(422, "VALIDATION_FAILED");
    }
    refused(manager.patch(&own, json!({ "expires_at": null })).await, "expires_at");
    refused(manager.post("keys", with("role", json!("admin"))).await, "role");
    manager
        .patch(&child, json!({ "limits": { "calls_per_minute": 5, "concurrent_calls": 1 } }))
        .await
        .is(200);
    manager.patch(&own, json!({ "name": "still restricted" })).await.is(200);
    // People, and the doors of MCP instances, have no limits, lists or ends.
    let user = json!({ "username": "ada", "password": "long enough" });
    let reply = manager.post("users", user).await.is_problem(403, "FORBIDDEN");
    assert!(reply.string("detail").contains("no allow-list"), "{}", reply.text);
    manager.post("mcp", json!({ "name": "door" })).await.is_problem(403, "FORBIDDEN");
    // A Tool could lead around the list.
    let tool = json!({ "name": "crm__x", "type": "uri", "uri": "api://erp/list" });
    manager.post("tools", tool).await.is_problem(403, "FORBIDDEN");
    // Scopes on their own.
    let manage_only = app.with_key(json!({ "name": "m", "role": "manager", "scopes": ["manage"] })).await;
    refused(manage_only.post("keys", json!({ "name": "c", "role": "caller" })).await, "scopes");
    refused(
        manage_only.post("keys", json!({ "name": "c", "role": "manager", "scopes": ["call"] })).await,
        "scopes",
    );
    manage_only.post("keys", json!({ "name": "c", "role": "manager", "scopes": ["manage"] })).await.is(201);
    let reply = manage_only.post("mcp", json!({ "name": "door" })).await.is_problem(403, "FORBIDDEN");
    assert!(reply.string("detail").contains("its scopes are manage"), "{}", reply.text);
}

/// An instance works for the unit of whoever made it, so that nothing is gained by it; one of somebody else may work for
/// another unit.
async fn lets_those_with_a_unit_make_instances_of_their_own(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = app.with_key(json!({ "name": "ada", "role": "manager", "bu_code": "east" })).await;
    let own = ada.post("mcp", json!({ "name": "door" })).await.is(201);
    let own = format!("mcp/id/{}", own.string("id"));
    ada.patch(&own, json!({ "name": "my door" })).await.is(200);
    ada.post(&format!("{own}/rotate-key"), json!({})).await.is(200);
    let other = app.post("mcp", json!({ "name": "theirs" })).await.is(201);
    let other = format!("mcp/id/{}", other.string("id"));
    for reply in [
        ada.post(&format!("{other}/rotate-key"), json!({})).await,
        ada.post(&format!("{other}/bindings"), json!({ "bindings": [] })).await,
        ada.patch(&other, json!({ "name": "mine" })).await,
        ada.delete(&other).await,
    ] {
        let reply = reply.is_problem(403, "FORBIDDEN");
        assert!(reply.string("detail").contains("another unit than 'east'"), "{}", reply.text);
    }
    // A person without a unit works for all of them.
    let user = json!({ "username": "eve", "password": "long enough" });
    refused(ada.post("users", user).await, "bu_code");
}

async fn lets_nobody_edit_who_holds_more(backend: Backend) {
    let app = TestApp::start(backend).await;
    let manager = app.with_key(restricted()).await;
    let free = app.post("keys", json!({ "name": "free", "role": "caller" })).await.is(201);
    let free = format!("keys/{}", free.string("id"));
    let user = json!({ "username": "ada", "password": "long enough", "role": "caller" });
    let user = format!("users/{}", app.post("users", user).await.is(201).string("id"));
    let instance = app.post("mcp", json!({ "name": "door" })).await.is(201);
    let instance = format!("mcp/id/{}", instance.string("id"));
    manager.patch(&free, json!({ "name": "mine" })).await.is_problem(403, "FORBIDDEN");
    manager.delete(&free).await.is_problem(403, "FORBIDDEN");
    manager.patch(&user, json!({ "password": "another long one" })).await.is_problem(403, "FORBIDDEN");
    manager.delete(&user).await.is_problem(403, "FORBIDDEN");
    manager.post(&format!("{instance}/rotate-key"), json!({})).await.is_problem(403, "FORBIDDEN");
    manager
        .post(&format!("{instance}/bindings"), json!({ "bindings": [] }))
        .await
        .is_problem(403, "FORBIDDEN");
    manager.patch(&instance, json!({ "name": "mine" })).await.is_problem(403, "FORBIDDEN");
    // What is theirs is not theirs to change, but to see.
    manager.get(&free).await.is(200);
    app.get(&user).await.is(200);
}

/// A key for one tool that reads must not make one that deletes of it.
async fn lets_nobody_make_something_else_of_what_its_list_names(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let key = json!({ "name": "listed", "role": "manager", "allow": ["api://crm/ping"] });
    let manager = app.as_key(app.post("keys", key).await.is(201).string("key"));
    let tool = json!({ "id": "more", "endpoint": "/more", "method": "DELETE" });
    let service = json!({ "type": "api", "id": "other", "config": { "base_url": upstream.url() } });
    let import = json!({ "mode": "preview", "document": { "openapi": "3.0.0", "info": { "title": "t", "version": "1" }, "paths": {} } });
    for refused in [
        manager.patch("services/api/crm/tools/ping", json!({ "method": "DELETE" })).await,
        manager.delete("services/api/crm/tools/ping").await,
        manager.post("services/api/crm/tools", tool).await,
        manager.patch("services/api/crm", json!({ "name": "n" })).await,
        manager.post("services/api/crm/disable", json!({})).await,
        manager.delete("services/api/crm").await,
        manager.post("services", service).await,
        manager.post("services/api/import", import).await,
    ] {
        let refused = refused.is_problem(403, "FORBIDDEN");
        assert!(refused.string("detail").contains("allow-list"), "{}", refused.text);
    }
    manager.call("api://crm/ping", json!({})).await.is(200);
}

async fn records(client: &Client, query: &str) -> Vec<Value> {
    client.get(&format!("audit?kind=management&limit=1000{query}")).await.is(200).items()
}

async fn records_management_with_who_what_before_and_after(backend: Backend) {
    let app = TestApp::start(backend).await;
    let manager = app.with_tenant("acme").await;
    let me = manager.get("auth/me").await.is(200).string("id");
    let secret = "s3cr3t-of-the-service";
    let service = json!({ "type": "api", "id": "crm", "name": "CRM", "config": {
        "base_url": "https://crm.example.com", "auth_type": "bearer", "auth_config": { "token": secret } } });
    manager.post("services", service).await.is(201);
    manager.patch("services/api/crm", json!({ "name": "Customers" })).await.is(200);
    manager.post("services/api/crm/disable", json!({})).await.is(200);
    let key = manager.post("keys", json!({ "name": "ci", "role": "caller" })).await.is(201);
    let path = format!("keys/{}", key.string("id"));
    manager.patch(&path, json!({ "limits": { "calls_per_minute": 7 } })).await.is(200);
    manager.delete(&path).await.is(204);
    let table = manager.post("tables", json!({ "name": "t", "data": { "a": 1 } })).await.is(201);
    manager.delete(&format!("tables/{}", table.string("id"))).await.is(204);

    let found = records(&manager, "").await;
    let actions: Vec<_> =
        found.iter().rev().map(|record| record["tool"].as_str().unwrap().to_owned()).collect();
    let (key_path, table_path) =
        (format!("/api/v1/{path}"), format!("/api/v1/tables/{}", table.string("id")));
    assert_eq!(
        actions,
        [
            "POST /api/v1/services",
            "PATCH /api/v1/services/api/crm",
            "POST /api/v1/services/api/crm/disable",
            "POST /api/v1/keys",
            &format!("PATCH {key_path}"),
            &format!("DELETE {key_path}"),
            "POST /api/v1/tables",
            &format!("DELETE {table_path}"),
        ]
    );
    for record in &found {
        assert_eq!(record["caller"], me.as_str(), "{record}");
        assert_eq!((&record["kind"], &record["status"]), (&json!("management"), &json!("ok")), "{record}");
        assert!(!record["request_id"].as_str().unwrap().is_empty());
        let text = record.to_string();
        assert!(!text.contains(secret) && !text.contains(&key.string("key")), "{text}");
    }
    let of = |at: usize| &found[found.len() - 1 - at]["arguments"];
    assert_eq!((&of(0)["before"], &of(0)["after"]["name"]), (&Value::Null, &json!("CRM")));
    assert_eq!((&of(1)["before"]["name"], &of(1)["after"]["name"]), (&json!("CRM"), &json!("Customers")));
    assert_eq!(of(1)["before"].get("id"), None, "only what differs: {}", of(1));
    assert_eq!(
        (&of(2)["before"]["status"], &of(2)["after"]["status"]),
        (&json!("enabled"), &json!("disabled"))
    );
    assert_eq!(of(4)["after"]["limits"], json!({ "calls_per_minute": 7 }));
    assert_eq!((&of(5)["before"]["name"], &of(5)["after"]), (&json!("ci"), &Value::Null));
}

async fn keeps_records_of_management_apart_from_those_of_calls(backend: Backend) {
    let app = TestApp::start(backend).await;
    let manager = app.with_tenant("acme").await;
    let service = json!({ "type": "api", "id": "crm", "name": "CRM", "config": { "base_url": "https://crm.example.com" } });
    manager.post("services", service).await.is(201);
    manager.post("services/api/crm/disable", json!({})).await.is(200);
    let found = records(&manager, "").await;
    assert_eq!(found.len(), 2);
    // Calls and management are two lists; each is exported by itself.
    manager.call("api://crm/nothing", json!({})).await;
    assert!(manager.get("audit").await.is(200).items().iter().all(|record| record["kind"] == "call"));
    manager.get("audit?kind=some").await.is_problem(400, "BAD_REQUEST");
    let export = manager.get("audit/export?kind=management&format=jsonl").await.is(200).text;
    assert_eq!(export.lines().count(), found.len());
    // Nobody can make a call look like management.
    manager.call_name("PATCH /api/v1/keys/x", json!({})).await;
    assert_eq!(records(&manager, "").await.len(), found.len());
    // What an admin does in a tenant stands there.
    app.patch("services/api/crm?tenant_id=acme", json!({ "name": "C" })).await.is(200);
    assert_eq!(records(&manager, "").await.len(), found.len() + 1);
}

async fn records_nothing_of_a_change_that_was_not_made(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.post("keys", json!({ "name": "" })).await.is(422);
    app.patch("keys/nobody", json!({ "name": "x" })).await.is(404);
    app.delete("services/api/none").await.is(404);
    app.post("tools/validate", json!({ "name": "x" })).await;
    assert_eq!(records(&app, "").await, Vec::<Value>::new());
}
