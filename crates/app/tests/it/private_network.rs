//! Private addresses: for services and Tools that say so, of tenants that the platform's admins let do so.

use crate::setup::crm;
use serde_json::{Value, json};
use testkit::{Backend, Client, Reply, TestApp, http, on_both_databases};

on_both_databases! {
    a_tenant_that_is_alone_decides_for_itself
    among_others_it_takes_an_admin
}

async fn start(backend: Backend) -> TestApp {
    TestApp::start_with(backend, |settings| settings.allow_private_network = false).await
}

async fn make(client: &Client, upstream: &http::Server, allowed: Value) {
    let mut service = crm(upstream);
    service["config"]["allow_private_network"] = allowed.clone();
    client.post("services", service).await.is(201);
    let endpoint = format!("{}/ping", upstream.url());
    let config =
        json!({ "HTTP": { "endpoint": endpoint, "retry_count": 0, "allow_private_network": allowed } });
    client.post("tools", json!({ "name": "http_ping", "type": "http", "config": config })).await.is(201);
}

/// The ways to the same address: a service, a Tool, and a document that is fetched.
async fn tries(client: &Client, upstream: &http::Server) -> [Reply; 3] {
    let url = format!("{}/openapi.json", upstream.url());
    let import = json!({ "mode": "preview", "url": url, "config": { "allow_private_network": true } });
    [
        client.call("api://crm/ping", json!({})).await,
        client.call_name("http_ping", json!({})).await,
        client.post("services/api/import", import).await,
    ]
}

async fn works(client: &Client, upstream: &http::Server) {
    let before = upstream.requests().len();
    let [service, tool, import] = tries(client, upstream).await;
    assert_eq!(service.is(200).body["isError"], false);
    assert_eq!(tool.is(200).body["isError"], false);
    // What comes back is no document, but it came.
    assert!(!import.text.contains("not public"), "{}", import.text);
    assert_eq!(upstream.requests().len() - before, 3);
}

/// Refused with what to do about it, and who can.
async fn is_refused(client: &Client, upstream: &http::Server) {
    let before = upstream.requests().len();
    for reply in tries(client, upstream).await {
        assert!(reply.text.contains("is not public and was refused"), "{}", reply.text);
        assert!(reply.text.contains("allow_private_network"), "{}", reply.text);
        assert!(reply.text.contains("admin") && reply.text.contains("/api/v1/tenants/"), "{}", reply.text);
    }
    assert_eq!(upstream.requests().len(), before, "nothing was sent");
}

async fn a_tenant_that_is_alone_decides_for_itself(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = start(backend).await;
    make(&app, &upstream, json!(["127.0.0.0/8"])).await;
    works(&app, &upstream).await;
    // Not when an admin says no.
    app.patch("tenants/default", json!({ "allow_private_network": false })).await.is(200);
    is_refused(&app, &upstream).await;
    let shown = app.patch("tenants/default", json!({ "allow_private_network": null })).await.is(200);
    assert_eq!(shown.body["allow_private_network"], Value::Null);
    works(&app, &upstream).await;
    // Whoever does not ask for it does not get it.
    app.patch("services/api/crm", json!({ "config": { "base_url": upstream.url() } })).await.is(200);
    let refused = app.call("api://crm/ping", json!({})).await;
    assert!(refused.text.contains("is not public and was refused"), "{}", refused.text);
}

async fn among_others_it_takes_an_admin(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = start(backend).await;
    make(&app, &upstream, json!(true)).await;
    works(&app, &upstream).await;
    let manager = app.with_tenant("acme").await;
    make(&manager, &upstream, json!(true)).await;
    is_refused(&manager, &upstream).await;
    // What was there before is no exception.
    is_refused(&app, &upstream).await;
    // Managers do not let themselves in.
    manager
        .patch("tenants/acme", json!({ "allow_private_network": true }))
        .await
        .is_problem(403, "FORBIDDEN");
    let allowed = app.patch("tenants/acme", json!({ "allow_private_network": true })).await.is(200);
    assert_eq!(allowed.body["allow_private_network"], true);
    works(&manager, &upstream).await;
    is_refused(&app, &upstream).await;
    // Nothing else about the tenant takes it away.
    app.patch("tenants/acme", json!({ "name": "Acme" })).await.is(200);
    works(&manager, &upstream).await;
    // It can be said when the tenant is made; whoever is left alone decides for itself again.
    let made = json!({ "id": "third", "allow_private_network": true });
    assert_eq!(app.post("tenants", made).await.is(201).body["allow_private_network"], true);
    for tenant in ["acme", "third"] {
        app.delete(&format!("tenants/{tenant}")).await.is(204);
    }
    works(&app, &upstream).await;
}
