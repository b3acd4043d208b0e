//! Keys: shown once, and good for exactly what they say, as long as they say it.

use crate::setup::{PATIENCE, crm, received};
use serde_json::json;
use testkit::{Backend, Client, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    shows_a_key_once
    lets_admins_look_after_keys_and_users_of_every_tenant
    stops_a_deleted_disabled_or_expired_key_at_once
    holds_a_key_to_its_scopes_and_allow_list
    limits_calls_of_keys_and_tenants
    keeps_the_last_way_in_for_an_admin
    refuses_keys_that_could_never_be_used
}

async fn shows_a_key_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let made = app.post("keys", json!({ "name": "ci", "role": "manager" })).await.is(201);
    let (id, key) = (made.string("id"), made.string("key"));
    assert!(key.len() >= 32, "{key}");
    assert!(key.starts_with(&made.string("prefix")));
    for path in ["keys".to_owned(), format!("keys/{id}")] {
        let text = app.get(&path).await.is(200).text;
        assert!(!text.contains(&key) && !text.contains("hash"), "{text}");
    }
    let changed = app.patch(&format!("keys/{id}"), json!({ "name": "other" })).await.is(200);
    assert!(!changed.text.contains(&key));
    assert_ne!(app.post("keys", json!({ "name": "ci" })).await.is(201).string("key"), key);
    assert_eq!(app.as_key(&key).get("auth/me").await.is(200).body["name"], "other");
}

/// Whoever has made them has no more than their ids.
async fn lets_admins_look_after_keys_and_users_of_every_tenant(backend: Backend) {
    let app = TestApp::start(backend).await;
    for tenant in ["acme", "other"] {
        app.post("tenants", json!({ "id": tenant, "name": tenant })).await.is(201);
    }
    let manager =
        app.post("keys", json!({ "name": "m", "tenant": "other", "role": "manager" })).await.is(201);
    let manager = app.as_key(manager.string("key"));
    let user = json!({ "username": "ada", "password": "correct horse battery", "tenant": "acme" });
    let user = format!("users/{}", app.post("users", user).await.is(201).string("id"));
    let made = app.post("keys", json!({ "name": "ci", "tenant": "acme" })).await.is(201);
    let (key, client) = (format!("keys/{}", made.string("id")), app.as_key(made.string("key")));
    for path in [&key, &user] {
        assert_eq!(app.get(path).await.is(200).body["tenant"], "acme");
        manager.get(path).await.is_problem(404, "NOT_FOUND");
        manager.delete(path).await.is_problem(404, "NOT_FOUND");
    }
    app.patch(&key, json!({ "name": "renamed" })).await.is(200);
    assert_eq!(client.get("auth/me").await.is(200).body["name"], "renamed");
    assert_eq!(app.get("keys?tenant=acme").await.is(200).body["total"], 1);
    app.delete(&key).await.is(204);
    client.get("auth/me").await.is_problem(401, "UNAUTHENTICATED");
    app.patch(&user, json!({ "role": "viewer" })).await.is(200);
    app.delete(&user).await.is(204);
    app.get(&user).await.is_problem(404, "NOT_FOUND");
}

async fn stops_a_deleted_disabled_or_expired_key_at_once(backend: Backend) {
    let app = TestApp::start(backend).await;
    let make = async |body| {
        let made = app.post("keys", body).await.is(201);
        (app.as_key(made.string("key")), format!("keys/{}", made.string("id")))
    };
    let works = async |client: &Client| client.get("auth/me").await.is(200);
    let refused = async |client: &Client| client.get("auth/me").await.is_problem(401, "UNAUTHENTICATED");

    let (client, path) = make(json!({ "name": "a" })).await;
    works(&client).await;
    app.patch(&path, json!({ "status": "disabled" })).await.is(200);
    refused(&client).await;
    app.patch(&path, json!({ "status": "active" })).await.is(200);
    works(&client).await;
    app.delete(&path).await.is(204);
    refused(&client).await;

    let (client, path) = make(json!({ "name": "b" })).await;
    app.patch(&path, json!({ "expires_at": "2001-01-01T00:00:00Z" })).await.is(200);
    refused(&client).await;
    app.patch(&path, json!({ "expires_at": null })).await.is(200);
    works(&client).await;
    let bad = app.patch(&path, json!({ "expires_at": "soon" })).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(bad.errors(), [("expires_at", "Invalid")]);

    // Nobody has to say that time passes.
    let now = app.patch(&path, json!({ "name": "c" })).await.is(200).string("updated_at");
    let soon = now.replace('Z', "+00:00");
    app.patch(&path, json!({ "expires_at": soon })).await.is(200);
    eventually("the key has expired", PATIENCE, async || client.get("auth/me").await.status == 401).await;
}

async fn holds_a_key_to_its_scopes_and_allow_list(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let read = app.with_key(json!({ "name": "r", "role": "admin", "scopes": ["read"] })).await;
    read.get("services").await.is(200);
    let refused = read.call("api://crm/ping", json!({})).await.is_problem(403, "FORBIDDEN");
    assert!(refused.string("detail").contains("its scopes are read"), "{}", refused.text);
    let refused = read.post("tenants", json!({ "id": "x" })).await.is_problem(403, "FORBIDDEN");
    assert!(refused.string("detail").contains("do not have 'manage'"), "{}", refused.text);
    read.post("keys", json!({ "name": "more" })).await.is_problem(403, "FORBIDDEN");
    let call = app.with_key(json!({ "name": "c", "role": "manager", "scopes": ["call"] })).await;
    call.call("api://crm/ping", json!({})).await.is(200);
    call.get("services").await.is_problem(403, "FORBIDDEN");
    call.delete("services/api/crm").await.is_problem(403, "FORBIDDEN");
    let manage = app.with_key(json!({ "name": "m", "role": "manager", "scopes": ["manage"] })).await;
    manage.post("services/api/crm/disable", json!({})).await.is(200);
    manage.post("services/api/crm/enable", json!({})).await.is(200);
    manage.call("api://crm/ping", json!({})).await.is_problem(403, "FORBIDDEN");

    let narrow = app.with_key(json!({ "name": "n", "allow": ["crm__ping", "api://crm/f*"] })).await;
    narrow.call("api://crm/ping", json!({})).await.is(200);
    narrow.call_name("crm__fail", json!({})).await.is(200);
    narrow.call("api://crm/slow", json!({ "ms": 1 })).await.is_problem(403, "FORBIDDEN");
    narrow.call_name("crm__slow", json!({ "ms": 1 })).await.is_problem(403, "FORBIDDEN");
    assert_eq!(narrow.tool_names().await, ["crm__fail", "crm__ping"]);
    let bad = app.post("keys", json!({ "name": "x", "scopes": ["fly"] })).await;
    bad.is_problem(422, "VALIDATION_FAILED");
}

async fn limits_calls_of_keys_and_tenants(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    let limited = app.with_key(json!({ "name": "l", "limits": { "calls_per_minute": 2 } })).await;
    limited.call("api://crm/ping", json!({})).await.is(200);
    limited.call("api://crm/ping", json!({})).await.is(200);
    let reply = limited.call("api://crm/ping", json!({})).await.is_problem(429, "RATE_LIMITED");
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    app.call("api://crm/ping", json!({})).await.is(200);

    let one = app.with_key(json!({ "name": "o", "limits": { "concurrent_calls": 1 } })).await;
    let before = upstream.requests().len();
    let slow = {
        let one = one.clone();
        tokio::spawn(async move { one.call("api://crm/slow", json!({ "ms": 2000 })).await })
    };
    received(&upstream, before + 1).await;
    one.call("api://crm/ping", json!({})).await.is_problem(429, "RATE_LIMITED");
    slow.await.unwrap().is(200);
    one.call("api://crm/ping", json!({})).await.is(200);

    let acme = app.with_tenant("acme").await;
    acme.post("services", crm(&upstream)).await.is(201);
    app.patch("tenants/acme", json!({ "limits": { "calls_per_minute": 1 } })).await.is(200);
    acme.call("api://crm/ping", json!({})).await.is(200);
    acme.call("api://crm/ping", json!({})).await.is_problem(429, "RATE_LIMITED");
    app.patch("tenants/acme", json!({ "limits": {} })).await.is(200);
    acme.call("api://crm/ping", json!({})).await.is(200);
}

async fn refuses_keys_that_could_never_be_used(backend: Backend) {
    let app = TestApp::start(backend).await;
    let past = json!({ "name": "old", "expires_at": "2001-01-01T00:00:00Z" });
    let refused = app.post("keys", past).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(refused.errors(), [("expires_at", "Invalid")]);
    let allow = json!(["crm__*", "", "crm ping", "api://[", "api://crm/*", "crm__*?method=DELETE"]);
    let all = ["allow[1]", "allow[2]", "allow[3]", "allow[5]"].map(|path| (path, "Invalid"));
    let refused = app.post("keys", json!({ "name": "a", "allow": allow })).await;
    assert_eq!(refused.is_problem(422, "VALIDATION_FAILED").errors(), all);
    let id = app.post("keys", json!({ "name": "a" })).await.is(201).string("id");
    let refused = app.patch(&format!("keys/{id}"), json!({ "allow": allow })).await;
    assert_eq!(refused.is_problem(422, "VALIDATION_FAILED").errors(), all);
}

async fn keeps_the_last_way_in_for_an_admin(backend: Backend) {
    let app = TestApp::start(backend).await;
    let own = format!("keys/{}", app.get("auth/me").await.is(200).string("id"));
    // Neither another tenant's people nor an admin key that is worn out, of little use, or switched off can help.
    app.with_tenant("acme").await;
    for no_help in [
        json!({ "name": "reader", "role": "admin", "scopes": ["read"] }),
        json!({ "name": "manager", "role": "manager" }),
    ] {
        app.post("keys", no_help).await.is(201);
    }
    let old = app.post("keys", json!({ "name": "old", "role": "admin" })).await.is(201).string("id");
    app.patch(&format!("keys/{old}"), json!({ "expires_at": "2001-01-01T00:00:00Z" })).await.is(200);
    let refused = app.delete(&own).await.is_problem(409, "CONFLICT");
    assert!(refused.string("detail").contains("last"), "{}", refused.text);
    for change in [
        json!({ "status": "disabled" }),
        json!({ "role": "manager" }),
        json!({ "scopes": ["read"] }),
        json!({ "expires_at": "2001-01-01T00:00:00Z" }),
    ] {
        app.patch(&own, change).await.is_problem(409, "CONFLICT");
    }
    app.patch(&own, json!({ "name": "mine" })).await.is(200);
    let second = app.with_key(json!({ "name": "second", "role": "admin" })).await;
    app.delete(&own).await.is(204);
    let last = format!("keys/{}", second.get("auth/me").await.is(200).string("id"));
    second.delete(&last).await.is_problem(409, "CONFLICT");
}
