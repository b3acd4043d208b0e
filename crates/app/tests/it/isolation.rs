//! Two tenants on one server: what belongs to the other does not exist.

use crate::setup::{audited, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! { finds_nothing_of_another_tenant deletes_a_tenant_with_everything_in_it }

async fn finds_nothing_of_another_tenant(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    let umbrella = app.with_tenant("umbrella").await;
    acme.post("services", crm(&upstream)).await.is(201);
    let user = json!({ "username": "ada", "password": "correct horse" });
    let user = format!("users/{}", acme.post("users", user).await.is(201).string("id"));
    let key = format!("keys/{}", acme.post("keys", json!({ "name": "k" })).await.is(201).string("id"));
    for (method, path, body) in asks(&user, &key) {
        let reply = send_json(umbrella.request(method.clone(), path), &body).await;
        assert_eq!(
            (reply.status, &reply.body["code"]),
            (404, &json!("NOT_FOUND")),
            "{method} {path}: {}",
            reply.text
        );
    }
    // Nothing was changed, and the owner still finds it all.
    let service = acme.get("services/api/crm").await.is(200).body;
    assert_eq!((&service["name"], &service["version"]), (&json!("CRM"), &json!(1)));
    assert_eq!(acme.get(&user).await.is(200).body["display_name"], "ada");
    assert_eq!(acme.get(&key).await.is(200).body["name"], "k");
    acme.call("api://crm/ping", json!({})).await.is(200);
    audited(&acme, "", 1).await;
    audited(&umbrella, "", 0).await;
    assert_eq!(umbrella.get("audit/export").await.is(200).text, "");
    for list in ["services", "users"] {
        assert_eq!(umbrella.get(list).await.is(200).body["total"], 0, "{list}");
    }
}

/// What somebody may ask who knows the names of all that a tenant has.
fn asks<'a>(user: &'a str, key: &'a str) -> Vec<(Method, &'a str, Value)> {
    let change = || json!({ "name": "stolen" });
    let tool = "services/api/crm/tools/ping";
    let nothing = || Value::Null;
    vec![
        (Method::GET, user, nothing()),
        (Method::PATCH, user, json!({ "display_name": "stolen" })),
        (Method::DELETE, user, nothing()),
        (Method::GET, key, nothing()),
        (Method::PATCH, key, change()),
        (Method::DELETE, key, nothing()),
        (Method::GET, "services/api/crm", nothing()),
        (Method::PATCH, "services/api/crm", change()),
        (Method::DELETE, "services/api/crm", nothing()),
        (Method::DELETE, "services/api/crm?force=true", nothing()),
        (Method::POST, "services/api/crm/enable", nothing()),
        (Method::POST, "services/api/crm/disable", nothing()),
        (Method::POST, "services/api/crm/test", nothing()),
        (Method::GET, "services/api/crm/references", nothing()),
        (Method::GET, "services/api/crm/tools", nothing()),
        (Method::POST, "services/api/crm/tools", json!({ "id": "x", "endpoint": "/" })),
        (Method::GET, tool, nothing()),
        (Method::PATCH, tool, json!({ "description": "stolen" })),
        (Method::DELETE, tool, nothing()),
        (Method::GET, "tenants/acme", nothing()),
        (Method::PATCH, "tenants/acme", change()),
        (Method::DELETE, "tenants/acme", nothing()),
        (Method::GET, "services?tenant_id=acme", nothing()),
        (Method::GET, "users?tenant_id=acme", nothing()),
        (Method::GET, "keys?tenant_id=acme", nothing()),
        (Method::GET, "audit?tenant_id=acme", nothing()),
        (Method::GET, "audit/export?tenant_id=acme", nothing()),
        (Method::GET, "mcp/tools?tenant_id=acme", nothing()),
        (Method::POST, "keys", json!({ "name": "k", "tenant": "acme" })),
        (Method::POST, "users", json!({ "username": "u", "password": "correct horse", "tenant": "acme" })),
    ]
}

async fn deletes_a_tenant_with_everything_in_it(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    acme.post("services", crm(&upstream)).await.is(201);
    app.patch("tenants/acme", json!({ "status": "disabled" })).await.is(200);
    acme.get("auth/me").await.is_problem(401, "UNAUTHENTICATED");
    for path in ["keys", "services", "users", "mcp/tools"] {
        app.get(&format!("{path}?tenant_id=nonesuch")).await.is_problem(404, "NOT_FOUND");
    }
    // One that is disabled is there.
    app.get("keys?tenant_id=acme").await.is(200);
    app.post("mcp/tools/call?tenant_id=acme", json!({ "name": "crm__ping" }))
        .await
        .is_problem(404, "TOOL_NOT_FOUND");
    app.patch("tenants/acme", json!({ "status": "active" })).await.is(200);
    acme.call("api://crm/ping", json!({})).await.is(200);
    app.delete("tenants/acme").await.is(204);
    acme.get("auth/me").await.is_problem(401, "UNAUTHENTICATED");
    app.get("tenants/acme").await.is_problem(404, "NOT_FOUND");
    // A new tenant of the same name starts with nothing.
    let again = app.with_tenant("acme").await;
    assert!(again.tool_names().await.is_empty());
    assert_eq!(again.get("services").await.is(200).body["total"], 0);
}
