//! Secrets of services: never shown, kept through changes, sealed in the database.

use crate::setup::crm;
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http, on_both_databases};

const SECRET: &str = "hunter2-is-the-key";

on_both_databases! {
    never_shows_a_secret
    keeps_a_secret_that_a_change_leaves_out_or_sends_back_masked
    forgets_the_secrets_of_a_sign_in_that_is_given_up
    seals_secrets_in_the_database
    secrets_do_not_follow_a_service_to_another_address
    secrets_do_not_follow_a_tool_to_another_address
    secrets_do_not_follow_an_import_to_another_address
    refuses_a_mask_with_no_secret_behind_it
}

fn with_secret(upstream: &http::Server) -> Value {
    json!({
        "type": "api", "id": "crm",
        "config": {
            "base_url": upstream.url(), "auth_type": "apikey", "auth_config": { "header": "X-Key", "value": SECRET },
            "default_headers": { "Authorization": SECRET, "Accept": "application/json" }
        },
        "tools": [{ "id": "ping", "endpoint": "/ping", "headers": { "Cookie": SECRET } }]
    })
}

async fn never_shows_a_secret(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let made = app.post("services", with_secret(&upstream)).await.is(201);
    let mut texts = vec![made.text];
    for path in
        ["services", "services/api/crm", "services/api/crm/tools", "services/api/crm/tools/ping", "mcp/tools"]
    {
        texts.push(app.get(path).await.is(200).text);
    }
    texts.push(app.patch("services/api/crm", json!({ "name": "n" })).await.is(200).text);
    texts.push(app.post("services/api/crm/disable", json!({})).await.is(200).text);
    texts.push(app.post("services/api/crm/enable", json!({})).await.is(200).text);
    for text in texts {
        assert!(!text.contains(SECRET), "{text}");
    }
    let config = app.get("services/api/crm").await.body["config"].clone();
    assert_eq!(config["auth_config"], json!({ "header": "X-Key", "value": "***" }));
    assert_eq!(config["default_headers"], json!({ "Authorization": "***", "Accept": "application/json" }));
    // A refusal does not quote what it refuses.
    let bad = json!({ "config": { "base_url": "nonsense", "auth_type": "apikey", "auth_config": { "value": SECRET, "x": SECRET } } });
    let reply = app.patch("services/api/crm", bad).await.is_problem(422, "VALIDATION_FAILED");
    assert!(!reply.text.contains(SECRET), "{}", reply.text);
}

async fn keeps_a_secret_that_a_change_leaves_out_or_sends_back_masked(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(with_secret(&upstream)).await;
    let sent = async || {
        app.call("api://crm/ping", json!({})).await.is(200);
        let last = upstream.last();
        ["x-key", "authorization", "cookie"].map(|name| last.header(name).map(str::to_owned))
    };
    let all = [SECRET; 3].map(|secret| Some(secret.to_owned()));
    assert_eq!(sent().await, all);

    app.patch("services/api/crm", json!({ "name": "renamed" })).await.is(200);
    assert_eq!(sent().await, all, "a change of something else");
    let shown = app.get("services/api/crm").await.is(200).body;
    let back = json!({ "config": shown["config"], "tools": shown["tools"] });
    app.patch("services/api/crm", back).await.is(200);
    assert_eq!(sent().await, all, "sent back as it was shown");
    let mut config = shown["config"].clone();
    config["auth_config"].as_object_mut().unwrap().remove("value");
    app.patch("services/api/crm", json!({ "config": config })).await.is(200);
    assert_eq!(sent().await, all, "left out");
    app.patch("services/api/crm/tools/ping", json!({ "description": "new" })).await.is(200);
    assert_eq!(sent().await, all, "a change of a tool");
    let shorter = json!({ "base_url": upstream.url(), "auth_type": "apikey" });
    app.patch("services/api/crm", json!({ "config": shorter })).await.is(200);
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(upstream.last().header("x-api-key"), Some(SECRET), "left out with all around it");
    // The headers are gone with all around them: a mask has nothing to stand for.
    let mut again = shown["config"].clone();
    again["default_headers"]["Authorization"] = json!(SECRET);
    app.patch("services/api/crm", json!({ "config": again })).await.is(200);

    config["auth_config"]["value"] = json!("a new key");
    app.patch("services/api/crm", json!({ "config": config })).await.is(200);
    assert_eq!(sent().await[0].as_deref(), Some("a new key"), "a new one replaces it");
    assert_eq!(app.get("services/api/crm").await.body["config"]["auth_config"]["value"], "***");
}

async fn forgets_the_secrets_of_a_sign_in_that_is_given_up(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let ways = [
        json!({ "auth_type": "bearer", "auth_config": { "token": SECRET } }),
        json!({ "auth": { "type": "bearer", "token": SECRET } }),
    ];
    let with_base = |mut config: Value| {
        config["base_url"] = upstream.url().into();
        json!({ "config": config })
    };
    let sent = async || {
        app.call("api://crm/ping", json!({})).await.is(200);
        upstream.last().header("authorization").map(str::to_owned)
    };
    app.service(crm(&upstream)).await;
    for way in ways {
        for none in [
            json!({}),
            json!({ "auth_type": "none" }),
            json!({ "auth_type": "none", "auth_config": {} }),
            json!({ "auth": { "type": "none" } }),
        ] {
            app.patch("services/api/crm", with_base(way.clone())).await.is(200);
            assert_eq!(sent().await, Some(format!("Bearer {SECRET}")));
            app.patch("services/api/crm", with_base(none.clone())).await.is(200);
            assert_eq!(sent().await, None, "{way} {none}");
        }
    }
    app.patch("services/api/crm", with_base(json!({ "auth": { "type": "bearer", "token": SECRET } })))
        .await
        .is(200);
    app.patch("services/api/crm", with_base(json!({ "auth": { "type": "bearer" } }))).await.is(200);
    assert_eq!(sent().await, Some(format!("Bearer {SECRET}")), "the same type keeps it");
}

async fn seals_secrets_in_the_database(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(with_secret(&upstream)).await;
    let key = app.post("keys", json!({ "name": "k" })).await.is(201).string("key");
    let mut database = app.database().connect().await;
    for table in ["services", "service_tools", "keys", "meta"] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT * FROM {table}"));
        let rows = sqlx::query(sql).fetch_all(&mut database).await.unwrap();
        assert!(!rows.is_empty(), "{table}");
        for row in rows {
            let text = every_text(&row);
            assert!(!text.contains(SECRET) && !text.contains(&key), "{table}: {text}");
        }
    }
    if backend == Backend::Sqlite {
        let files = std::fs::read_dir(app.data_dir()).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|path| path.is_file()) {
            let bytes = std::fs::read(&file).unwrap();
            assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{}", file.display());
        }
    }
}

fn every_text(row: &sqlx::any::AnyRow) -> String {
    use sqlx::Row;
    let mut text = String::new();
    for at in 0..row.len() {
        if let Ok(value) = row.try_get::<String, _>(at) {
            text.push_str(&value);
        } else if let Ok(value) = row.try_get::<Vec<u8>, _>(at) {
            text.push_str(&String::from_utf8_lossy(&value));
        }
        text.push('\n');
    }
    text
}

/// Whoever may change an address must not learn by that what was entrusted to the old one.
async fn secrets_do_not_follow_a_service_to_another_address(backend: Backend) {
    let (upstream, other) = (http::Server::start().await, http::Server::start().await);
    let app = TestApp::start(backend).await;
    app.service(with_secret(&upstream)).await;
    let moved = |auth: Value| {
        let headers = json!({ "Authorization": "***", "Accept": "application/json" });
        json!({ "config": { "base_url": other.url(), "auth_type": "apikey", "auth_config": auth, "default_headers": headers } })
    };
    // A sign-in without its secret is none, so that is refused, and says why.
    for auth in [json!({ "header": "X-Key", "value": "***" }), json!({ "header": "X-Key" })] {
        let refused = app.patch("services/api/crm", moved(auth)).await.is_problem(422, "VALIDATION_FAILED");
        assert!(refused.text.contains("auth_config.value"), "{}", refused.text);
        assert!(refused.string("detail").contains("address"), "{}", refused.text);
    }
    // What is given again goes along, the rest does not.
    let reply =
        app.patch("services/api/crm", moved(json!({ "header": "X-Key", "value": "new" }))).await.is(200);
    let dropped = &reply.body["dropped_secrets"];
    assert!(dropped.to_string().contains("config.default_headers.Authorization"), "{dropped}");
    assert!(dropped.to_string().contains("tools[0].headers.Cookie"), "{dropped}");
    app.call("api://crm/ping", json!({})).await.is(200);
    let sent = other.last();
    assert_eq!(sent.header("x-key"), Some("new"));
    assert_eq!((sent.header("authorization"), sent.header("cookie")), (None, None), "{sent:?}");
    assert!(!app.get("services/api/crm").await.text.contains("dropped_secrets"));
    // Where tokens are asked for is an address, too.
    let oauth = |token_url: &str, secret: &str| {
        json!({ "base_url": other.url(), "auth_type": "oauth2", "auth_config": {
        "token_url": token_url, "client_id": "us", "client_secret": secret } })
    };
    let first = oauth(&format!("{}/token/60", upstream.url()), SECRET);
    app.patch("services/api/crm", json!({ "config": first })).await.is(200);
    let elsewhere = oauth(&format!("{}/token/60", other.url()), "***");
    app.patch("services/api/crm", json!({ "config": elsewhere })).await.is_problem(422, "VALIDATION_FAILED");
    assert!(other.requests().iter().all(|request| !format!("{request:?}").contains(SECRET)));
}

async fn secrets_do_not_follow_a_tool_to_another_address(backend: Backend) {
    let (upstream, other) = (http::Server::start().await, http::Server::start().await);
    let app = TestApp::start(backend).await;
    let http = |url: &str, cookie: &str| {
        json!({ "HTTP": {
        "endpoint": format!("{url}/ping"), "headers": { "Cookie": cookie } } })
    };
    let tool = json!({ "name": "ping", "type": "http", "config": http(&upstream.url(), SECRET) });
    let path = format!("tools/{}", app.post("tools", tool).await.is(201).string("id"));
    let reply = app.patch(&path, json!({ "config": http(&other.url(), "***") })).await.is(200);
    assert_eq!(reply.body["dropped_secrets"], json!(["config.HTTP.headers.Cookie"]), "{}", reply.text);
    app.call_name("ping", json!({})).await.is(200);
    assert_eq!(other.last().header("cookie"), None);
    // An MCP server's headers and key stay with its address.
    let mcp = |url: &str| json!({ "url": url, "headers": { "X-Team": "***" }, "api_key": "***" });
    let mut first = mcp("http://127.0.0.1:9/mcp");
    first["headers"]["X-Team"] = json!(SECRET);
    first["api_key"] = json!(SECRET);
    app.service(json!({ "type": "mcp", "id": "m", "config": first })).await;
    let same = app.patch("services/mcp/m", json!({ "config": mcp("http://127.0.0.1:9/mcp") })).await.is(200);
    assert_eq!(same.body["config"]["api_key"], "***");
    let moved =
        app.patch("services/mcp/m", json!({ "config": mcp("http://127.0.0.1:10/mcp") })).await.is(200);
    assert_eq!(moved.body["dropped_secrets"], json!(["config.headers.X-Team", "config.api_key"]));
    assert!(moved.body["config"].get("api_key").is_none(), "{}", moved.text);
}

/// An import changes a service like any other change: with another address it leaves the secrets behind.
async fn secrets_do_not_follow_an_import_to_another_address(backend: Backend) {
    let (upstream, other) = (http::Server::start().await, http::Server::start().await);
    let app = TestApp::start(backend).await;
    app.service(with_secret(&upstream)).await;
    let import = |more: Value| {
        let document = json!({ "openapi": "3.0.0", "info": { "title": "t", "version": "1" },
            "paths": { "/ping": { "get": { "operationId": "ping" } } } });
        let mut body = json!({ "mode": "update", "id": "crm", "document": document });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for more in [json!({ "base_url": other.url() }), json!({ "config": { "base_url": other.url() } })] {
        let refused =
            app.post("services/api/import", import(more)).await.is_problem(422, "VALIDATION_FAILED");
        assert!(refused.text.contains("auth_config.value"), "{}", refused.text);
    }
    let given = json!({ "config": { "base_url": other.url(), "auth_config": { "value": "new" } } });
    let reply = app.post("services/api/import", import(given)).await.is(200);
    assert!(reply.body["dropped_secrets"].to_string().contains("Authorization"), "{}", reply.text);
    app.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(other.last().header("x-key"), Some("new"));
    assert!(other.requests().iter().all(|request| !format!("{request:?}").contains(SECRET)));
    // Where the address stays, the secrets do.
    app.delete("services/api/crm").await.is(204);
    app.service(with_secret(&upstream)).await;
    app.post("services/api/import", import(json!({}))).await.is(200);
    app.call("api://crm/ping", json!({})).await.is(200);
    let sent = upstream.last();
    assert_eq!(["x-key", "authorization", "cookie"].map(|name| sent.header(name)), [Some(SECRET); 3]);
}

async fn refuses_a_mask_with_no_secret_behind_it(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let refused = |reply: testkit::Reply, path: &str| {
        let reply = reply.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.body["errors"][0]["path"], path, "{}", reply.text);
        assert!(reply.text.contains("give the secret itself"), "{}", reply.text);
    };
    let api = |headers: Value| json!({ "base_url": upstream.url(), "default_headers": headers });
    let service = |config: Value, tool: Value| json!({ "type": "api", "id": "vault", "config": config, "tools": [tool] });
    let ping = json!({ "id": "ping", "endpoint": "/ping" });
    let made = app.post("services", service(api(json!({ "X-Vault-Token": "***" })), ping.clone())).await;
    refused(made, "config.default_headers.X-Vault-Token");
    let cookie = json!({ "id": "ping", "endpoint": "/ping", "headers": { "Cookie": "***" } });
    refused(app.post("services", service(api(json!({})), cookie)).await, "tools[0].headers.Cookie");
    let mcp =
        json!({ "type": "mcp", "id": "m", "config": { "url": "http://127.0.0.1:9/mcp", "api_key": "***" } });
    refused(app.post("services", mcp).await, "config.api_key");
    let config =
        json!({ "HTTP": { "endpoint": format!("{}/ping", upstream.url()), "headers": { "X-Key": "***" } } });
    let tool = json!({ "name": "ping", "type": "http", "config": config });
    refused(app.post("tools", tool).await, "config.HTTP.headers.X-Key");

    // Of a secret that is stored, a header's name may be written in either case.
    app.service(service(api(json!({ "X-Vault-Token": SECRET })), ping)).await;
    let change = json!({ "config": api(json!({ "x-vault-token": "***" })) });
    app.patch("services/api/vault", change).await.is(200);
    app.call("api://vault/ping", json!({})).await.is(200);
    assert_eq!(upstream.last().header("x-vault-token"), Some(SECRET));
    let change = json!({ "config": api(json!({ "x-vault-token": "***", "X-Other": "***" })) });
    refused(app.patch("services/api/vault", change).await, "config.default_headers.X-Other");
}
