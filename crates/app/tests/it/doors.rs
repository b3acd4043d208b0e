//! Every door asks who is there, and every role may do what it is for and no more.

use crate::setup::crm;
use reqwest::Method;
use serde_json::json;
use testkit::client::send;
use testkit::{Backend, Client, TestApp, http, on_both_databases};

/// Method and path of every operation in the OpenAPI document, with something in each hole.
async fn operations(app: &TestApp) -> Vec<(Method, String)> {
    let document = app.get("/api/openapi.json").await.is(200).body;
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let path = path.collect::<Vec<_>>().join("/");
        for method in item.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            operations.push((method.to_uppercase().parse().unwrap(), path.clone()));
        }
    }
    assert!(operations.len() >= 30, "{operations:?}");
    operations
}

/// HD-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_for_credentials_at_every_endpoint_of_the_document() {
    let app = TestApp::start(Backend::Sqlite).await;
    let strangers = [app.as_nobody(), app.as_key("mcp_wrong"), app.as_key("a.b.c"), app.as_key("")];
    for (method, path) in operations(&app).await {
        if ["/auth/login", "/auth/session"].iter().any(|open| path.ends_with(open)) {
            continue;
        }
        for stranger in &strangers {
            let request = stranger.request(method.clone(), &path).body("{}");
            // The key of an instance stands in the path, and a wrong one names nothing.
            if path.starts_with("/api/v1/mcp/x/") {
                send(request).await.is_problem(404, "NOT_FOUND");
                continue;
            }
            let reply = send(request).await.is_problem(401, "UNAUTHENTICATED");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{method} {path}");
        }
    }
    for stranger in &strangers {
        stranger.post("/mcp", json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await.is(401);
    }
    for path in ["/healthz", "/readyz", "/api/openapi.json"] {
        app.as_nobody().get(path).await.is(200);
    }
}

/// HD-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takes_a_key_in_either_header() {
    let app = TestApp::start(Backend::Sqlite).await;
    let key = app.post("keys", json!({ "name": "k" })).await.is(201).string("key");
    let nobody = app.as_nobody();
    let with = async |name: &str, value: String| {
        send(nobody.request(Method::GET, "auth/me").header(name, value)).await.status
    };
    assert_eq!(with("x-api-key", key.clone()).await, 200);
    assert_eq!(with("authorization", format!("Bearer {key}")).await, 200);
    assert_eq!(with("authorization", format!("bearer {key}")).await, 200);
    assert_eq!(with("authorization", format!("Basic {key}")).await, 401);
    assert_eq!(with("authorization", key.clone()).await, 401);
    assert_eq!(with("x-api-key", key[1..].to_owned()).await, 401);
}

on_both_databases! { lets_each_role_do_what_it_is_for }

/// HD-7
async fn lets_each_role_do_what_it_is_for(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let holder = async |role: &str| app.with_key(json!({ "name": role, "role": role })).await;
    let roles =
        [holder("viewer").await, holder("caller").await, holder("manager").await, holder("admin").await];
    // What is asked, and the weakest role that may.
    let (viewer, caller, manager, admin) = (0, 1, 2, 3);
    let service =
        |id: &str| json!({ "type": "api", "id": id, "config": { "base_url": "https://x.example.com" } });
    type Ask = (usize, Method, &'static str, serde_json::Value);
    let asks: Vec<Ask> = vec![
        (viewer, Method::GET, "auth/me", json!(null)),
        (viewer, Method::GET, "services", json!(null)),
        (viewer, Method::GET, "services/api/crm", json!(null)),
        (viewer, Method::GET, "services/api/crm/tools", json!(null)),
        (viewer, Method::GET, "service-types", json!(null)),
        (viewer, Method::GET, "mcp/tools", json!(null)),
        (viewer, Method::GET, "tenants", json!(null)),
        (caller, Method::POST, "call", json!({ "uri": "api://crm/ping" })),
        (caller, Method::POST, "mcp/tools/call", json!({ "name": "crm__ping" })),
        (manager, Method::POST, "services", service("ROLE")),
        (manager, Method::PATCH, "services/api/crm", json!({ "name": "n" })),
        (manager, Method::POST, "services/api/crm/disable", json!({})),
        (manager, Method::POST, "services/api/crm/enable", json!({})),
        (manager, Method::POST, "services/api/crm/test", json!({})),
        (manager, Method::POST, "services/api/crm/tools", json!({ "id": "ROLE", "endpoint": "/" })),
        (manager, Method::GET, "users", json!(null)),
        (manager, Method::POST, "users", json!({ "username": "ROLE", "password": "correct horse" })),
        (manager, Method::GET, "keys", json!(null)),
        (manager, Method::POST, "keys", json!({ "name": "k" })),
        (viewer, Method::GET, "audit", json!(null)),
        (manager, Method::GET, "audit/export", json!(null)),
        (admin, Method::POST, "tenants", json!({ "id": "role" })),
        (admin, Method::PATCH, "tenants/default", json!({ "name": "n" })),
        (admin, Method::POST, "keys", json!({ "name": "k", "role": "admin" })),
        (
            admin,
            Method::POST,
            "users",
            json!({ "username": "boss", "password": "correct horse", "role": "admin" }),
        ),
    ];
    for (weakest, method, path, body) in asks {
        for (role, client) in roles.iter().enumerate() {
            let body = body.to_string().replace("ROLE", &format!("r{role}"));
            let reply = send(client.request(method.clone(), path).body(body)).await;
            if role < weakest {
                reply.is_problem(403, "FORBIDDEN");
            } else {
                assert!(reply.status < 300, "role {role}, {method} {path}: {}", reply.text);
            }
        }
    }
}

/// HD-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lets_nobody_give_more_than_they_have() {
    let app = TestApp::start(Backend::Sqlite).await;
    let manager: Client = app.with_key(json!({ "name": "m", "role": "manager" })).await;
    let user = |role: &str| json!({ "username": role, "password": "correct horse", "role": role });
    manager.post("users", user("admin")).await.is_problem(403, "FORBIDDEN");
    let lower = manager.post("users", user("manager")).await.is(201).string("id");
    let promote = json!({ "role": "admin" });
    manager.patch(&format!("users/{lower}"), promote.clone()).await.is_problem(403, "FORBIDDEN");
    let key = manager.post("keys", json!({ "name": "k", "role": "caller" })).await.is(201).string("id");
    manager.patch(&format!("keys/{key}"), promote).await.is_problem(403, "FORBIDDEN");
    // Nor take what is above them.
    let boss = app.post("users", user("admin")).await.is(201).string("id");
    manager
        .patch(&format!("users/{boss}"), json!({ "password": "mine now!" }))
        .await
        .is_problem(403, "FORBIDDEN");
    manager.delete(&format!("users/{boss}")).await.is_problem(403, "FORBIDDEN");
    let admins = app.get("keys").await.is(200).items();
    let admin = admins.iter().find(|key| key["role"] == "admin").unwrap()["id"].as_str().unwrap().to_owned();
    manager
        .patch(&format!("keys/{admin}"), json!({ "status": "disabled" }))
        .await
        .is_problem(403, "FORBIDDEN");
    manager.delete(&format!("keys/{admin}")).await.is_problem(403, "FORBIDDEN");
    manager.post("keys", json!({ "name": "x", "tenant": "elsewhere" })).await.is_problem(404, "NOT_FOUND");
    app.delete("tenants/default").await.is_problem(409, "CONFLICT");
}
