//! Secrets in fixed headers and query strings: sent, never shown, kept through changes.

use crate::setup::audited;
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, http, on_both_databases};

on_both_databases! {
    shows_nobody_the_secrets_in_fixed_headers_and_queries
    shows_no_header_to_those_who_may_not_manage
    keeps_what_was_masked_when_it_is_sent_back
    signs_http_tools_in_like_services
    says_that_secrets_do_not_follow_to_another_address
}

/// Every `S3cret…` is one.
fn headers() -> Value {
    json!({
        "Private-Token": "S3cret01", "DD-APPLICATION-KEY": "S3cret02", "x-goog-api-key": "S3cret03",
        "X-Vault-Token": "S3cret04", "Ocp-Apim-Subscription-Key": "S3cret05",
        "Accept": "text/plain", "X-Region": "plain-region"
    })
}

fn service(upstream: &http::Server) -> Value {
    json!({
        "type": "api", "id": "crm",
        "config": { "base_url": upstream.url(), "default_headers": headers(), "retry": { "max_attempts": 1 } },
        "tools": [
            { "id": "ping", "endpoint": "/ping?api_key=S3cret06&q=visible", "headers": { "X-Auth": "S3cret07" } },
            { "id": "fail", "endpoint": "/status/404?token=S3cret08" }
        ]
    })
}

fn tool(upstream: &http::Server, name: &str, path: &str) -> Value {
    let endpoint = format!("{}{path}?subscription-key=S3cret09&q=visible", upstream.url());
    json!({ "name": name, "type": "http",
        "config": { "HTTP": { "endpoint": endpoint, "headers": headers(), "retry_count": 0 } } })
}

/// What anybody can look at, once everything is made and called.
async fn looks(client: &Client, tool: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for path in [
        "services",
        "services/api/crm",
        "services/api/crm/tools",
        "services/api/crm/tools/ping",
        "services/api/crm/references",
        "tools",
        tool,
        &format!("{tool}/versions"),
    ] {
        texts.push(client.get(path).await.is(200).text);
    }
    texts
}

#[track_caller]
fn hold_no(word: &str, texts: &[String]) {
    for text in texts {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

async fn shows_nobody_the_secrets_in_fixed_headers_and_queries(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let mut texts = vec![app.post("services", service(&upstream)).await.is(201).text];
    let made = app.post("tools", tool(&upstream, "own", "/own")).await.is(201);
    let own = format!("tools/{}", made.string("id"));
    texts.push(made.text);
    app.post("tools", tool(&upstream, "lost", "/status/500")).await.is(201);
    // They are sent.
    app.call("api://crm/ping", json!({})).await.is(200);
    let sent = upstream.last();
    assert_eq!(sent.query, "api_key=S3cret06&q=visible");
    for (name, value) in headers().as_object().unwrap() {
        assert_eq!(sent.header(&name.to_lowercase()), value.as_str(), "{name}");
    }
    assert_eq!(sent.header("x-auth"), Some("S3cret07"));
    // And what goes wrong does not repeat them.
    texts.push(app.call("api://crm/fail", json!({})).await.is(200).text);
    texts.push(app.call_name("lost", json!({})).await.is(200).text);
    let tried = app.post(&format!("{own}/test"), json!({})).await.is(200).body["request"].clone();
    assert_eq!(tried["headers"]["accept"], "text/plain");
    texts.push(tried.to_string());
    let bad = json!({ "endpoint": "/x?api_key=S3cret10#" });
    texts.push(app.patch("services/api/crm/tools/ping", bad).await.is(422).text);
    texts.extend(looks(&app, &own).await);
    audited(&app, "", 4).await;
    for path in ["mcp/tools", "audit", "audit/export?format=csv", "audit/export?format=jsonl"] {
        texts.push(app.get(path).await.is(200).text);
    }
    let document = json!({ "openapi": "3.0.0", "info": { "title": "crm", "version": "1" },
        "paths": { "/pets": { "get": { "operationId": "pets", "responses": {} } } } });
    let import = json!({ "document": document, "id": "crm", "base_url": upstream.url(), "keep_missing": true,
        "config": { "default_headers": headers() } });
    texts.push(app.post("services/api/import", import).await.is(200).text);
    hold_no("S3cret", &texts);
    let shown = app.get("services/api/crm").await.is(200).body;
    assert_eq!(shown["tools"][0]["endpoint"], "/ping?api_key=***&q=visible");
    let (accept, region) =
        (&shown["config"]["default_headers"]["Accept"], &shown["config"]["default_headers"]["X-Region"]);
    assert_eq!((accept, region), (&json!("text/plain"), &json!("plain-region")), "a manager sees the others");
}

async fn shows_no_header_to_those_who_may_not_manage(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(service(&upstream)).await;
    let own =
        format!("tools/{}", app.post("tools", tool(&upstream, "own", "/own")).await.is(201).string("id"));
    let viewer = app.with_key(json!({ "name": "v", "role": "viewer" })).await;
    let reader = app.with_key(json!({ "name": "r", "role": "manager", "scopes": ["read"] })).await;
    for client in [&viewer, &reader] {
        let texts = looks(client, &own).await;
        for value in ["S3cret", "text/plain", "plain-region"] {
            hold_no(value, &texts);
        }
        let shown = client.get("services/api/crm").await.is(200).body;
        assert_eq!(shown["config"]["default_headers"]["Accept"], "***");
        assert_eq!(shown["config"]["base_url"], upstream.url());
    }
    // Whoever only calls has tools, whose headers are kept all the same.
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    let made = caller.post("tools", tool(&upstream, "mine", "/mine")).await.is(201);
    let path = format!("tools/{}", made.string("id"));
    let mut texts = vec![made.text.clone(), caller.get("tools").await.is(200).text];
    texts.push(
        caller
            .patch(&path, json!({ "config": made.body["config"], "description": "new" }))
            .await
            .is(200)
            .text,
    );
    texts.push(caller.post(&format!("{path}/test"), json!({})).await.is(200).body["request"].to_string());
    for value in ["S3cret", "text/plain", "plain-region"] {
        hold_no(value, &texts);
    }
    assert_eq!(upstream.last().header("x-region"), Some("plain-region"));
    assert_eq!(upstream.last().header("private-token"), Some("S3cret01"));
}

async fn keeps_what_was_masked_when_it_is_sent_back(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(service(&upstream)).await;
    let own =
        format!("tools/{}", app.post("tools", tool(&upstream, "own", "/own")).await.is(201).string("id"));
    let shown = app.get("services/api/crm").await.is(200).body;
    app.patch("services/api/crm", json!({ "config": shown["config"], "tools": shown["tools"] }))
        .await
        .is(200);
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(upstream.last().query, "api_key=S3cret06&q=visible");
    assert_eq!(upstream.last().header("x-vault-token"), Some("S3cret04"));
    let shown = app.get(&own).await.is(200).body["config"].clone();
    app.patch(&own, json!({ "config": shown })).await.is(200);
    app.call_name("own", json!({})).await.is(200);
    assert_eq!(upstream.last().query, "subscription-key=S3cret09&q=visible");
    // What was meant for one host does not go to another.
    let mut moved = shown.clone();
    moved["HTTP"]["endpoint"] = json!("https://elsewhere.example/own?subscription-key=***");
    let refused = app.patch(&own, json!({ "config": moved })).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(refused.errors(), [("config.HTTP.endpoint", "InvalidEndpoint")]);
    // A null takes a header away, although it is a secret.
    let mut config = app.get("services/api/crm").await.is(200).body["config"].clone();
    config["default_headers"]["X-Vault-Token"] = Value::Null;
    app.patch("services/api/crm", json!({ "config": config })).await.is(200);
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(upstream.last().header("x-vault-token"), None);
    assert_eq!(upstream.last().header("private-token"), Some("S3cret01"));
}

async fn signs_http_tools_in_like_services(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let endpoint = format!("{}/own", upstream.url());
    let with = |auth: Value| {
        let mut http = json!({ "endpoint": endpoint });
        http.as_object_mut().unwrap().extend(auth.as_object().unwrap().clone());
        json!({ "HTTP": http })
    };
    let made = app
        .post(
            "tools",
            json!({ "name": "own", "type": "http", "config": with(json!({
            "auth_type": "apikey", "auth_config": { "header": "X-Mine", "value": "S3cret01" } })) }),
        )
        .await
        .is(201);
    let path = format!("tools/{}", made.string("id"));
    app.call_name("own", json!({})).await.is(200);
    assert_eq!(upstream.last().header("x-mine"), Some("S3cret01"));
    let mut texts = vec![made.text.clone(), app.get(&format!("{path}/versions")).await.is(200).text];
    // Sent back as it was shown, it stays; of another type, nothing of it does.
    app.patch(&path, json!({ "config": made.body["config"] })).await.is(200);
    app.patch(&path, json!({ "config": with(json!({ "auth_type": "apikey" })) })).await.is(200);
    app.call_name("own", json!({})).await.is(200);
    assert_eq!(upstream.last().header("x-api-key"), Some("S3cret01"));
    let basic = json!({ "auth": { "type": "basic", "username": "ada", "password": "S3cret02" } });
    app.patch(&path, json!({ "config": with(basic) })).await.is(200);
    let tried = app.post(&format!("{path}/test"), json!({})).await.is(200);
    assert_eq!(upstream.last().header("authorization"), Some("Basic YWRhOlMzY3JldDAy"));
    assert_eq!(tried.body["request"]["headers"]["authorization"], "***");
    texts.push(app.get(&path).await.is(200).text);
    let token_url = format!("{}/token/60", upstream.url());
    let oauth = json!({ "auth_type": "oauth2", "auth_config": {
        "token_url": token_url, "client_id": "me", "client_secret": "S3cret03" } });
    app.patch(&path, json!({ "config": with(oauth) })).await.is(200);
    app.call_name("own", json!({})).await.is(200);
    assert!(upstream.last().header("authorization").is_some_and(|header| header.starts_with("Bearer ")));
    let bad = json!({ "auth_type": "bearer", "auth_config": { "value": "S3cret04" } });
    let refused = app.patch(&path, json!({ "config": with(bad) })).await.is_problem(422, "VALIDATION_FAILED");
    let expected =
        [("config.HTTP.auth_config.value", "Unused"), ("config.HTTP.auth_config.token", "Required")];
    assert_eq!(refused.errors(), expected);
    texts.push(refused.text);
    hold_no("S3cret", &texts);
}

async fn says_that_secrets_do_not_follow_to_another_address(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(service(&upstream)).await;
    let moved = json!({ "config": { "base_url": "http://127.0.0.1:9" } });
    let refused = app.patch("services/api/crm", moved).await.is_problem(422, "VALIDATION_FAILED");
    let errors = refused.body["errors"].as_array().unwrap();
    let message = |error: &&Value| error["path"] == "tools[0].endpoint";
    let message = errors.iter().find(message).unwrap_or_else(|| panic!("{}", refused.text));
    assert!(message["message"].as_str().unwrap().contains("held a secret"), "{}", refused.text);
    hold_no("S3cret", &[refused.text]);
}
