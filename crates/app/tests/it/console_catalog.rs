//! What the console chooses from: all tools and services in a line each, services tried before they are saved, and
//! what clients are told to come in.

use crate::setup::{api, crm};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    lists_tools_and_services_in_a_line_each
    shows_each_role_what_it_may_know
    tells_what_is_wrong_with_a_service_and_whether_it_answers
    tells_each_client_how_to_come_in
}

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array().unwrap().iter().find(|item| item["name"] == name || item["id"] == name)
}

/// UI-11
async fn lists_tools_and_services_in_a_line_each(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    acme.post("services", crm(&upstream)).await.is(201);
    let tool = json!({ "name": "orders", "type": "uri", "uri": "api://crm/get_order", "status": "inactive" });
    let tool = acme.post("tools", tool).await.is(201).string("id");
    let catalog = acme.get("catalog").await.is(200);
    let ping = named(&catalog.body["tools"], "crm__ping").unwrap();
    let expected = json!({ "name": "crm__ping", "uri": "api://crm/ping", "kind": "api", "service": "crm",
        "status": "active", "summary": "Says hello" });
    assert_eq!(*ping, expected);
    let orders = named(&catalog.body["tools"], "orders").unwrap();
    assert_eq!((&orders["status"], &orders["id"]), (&json!("inactive"), &json!(tool)), "{orders}");
    assert_eq!(orders["uri"], "tool://orders/call");
    let service = named(&catalog.body["services"], "crm").unwrap();
    assert_eq!(
        (&service["type"], &service["tools"], &service["source"]),
        (&json!("api"), &json!(4), &json!("store"))
    );
    assert_eq!(service["health"]["state"], "ok", "{service}");

    let etag = catalog.header("etag").unwrap().to_owned();
    let again = || acme.request(Method::GET, "catalog").header("if-none-match", format!("\"x\", {etag}"));
    send(again()).await.is(304);
    acme.post("services/api/crm/disable", json!({})).await.is(200);
    let changed = send(again()).await.is(200);
    assert_eq!(named(&changed.body["services"], "crm").unwrap()["health"]["state"], "disabled");
    assert!(changed.body["revision"].as_i64() > catalog.body["revision"].as_i64());
    assert!(
        named(&app.get("catalog").await.is(200).body["services"], "crm").is_none(),
        "it is another tenant's"
    );
}

/// UI-18
async fn shows_each_role_what_it_may_know(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(crm(&upstream)).await;
    app.post("tools", json!({ "name": "idle", "type": "uri", "uri": "api://crm/ping", "status": "testing" }))
        .await
        .is(201);
    let caller = app.with_key(json!({ "name": "c", "role": "caller", "allow": ["crm__ping"] })).await;
    let names = |catalog: &Value| -> Vec<String> {
        catalog["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&caller.get("catalog").await.is(200).body), ["crm__ping"]);
    let viewer = app.with_key(json!({ "name": "v", "role": "viewer" })).await;
    let seen = viewer.get("catalog").await.is(200);
    assert_eq!(names(&seen.body).len(), 5, "{}", seen.text);
    app.as_nobody().get("catalog").await.is_problem(401, "UNAUTHENTICATED");
}

async fn tells_what_is_wrong_with_a_service_and_whether_it_answers(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let mut draft = crm(&upstream);
    draft["test"] = true.into();
    let checked = app.post("services/validate", draft.clone()).await.is(200);
    assert_eq!(
        (&checked.body["valid"], &checked.body["test"]["ok"]),
        (&json!(true), &json!(true)),
        "{}",
        checked.text
    );
    app.get("services/api/crm").await.is_problem(404, "NOT_FOUND");

    draft["config"]["base_url"] = "http://127.0.0.1:1".into();
    let dead = app.post("services/validate", draft.clone()).await.is(200);
    assert_eq!(
        (&dead.body["valid"], &dead.body["test"]["ok"]),
        (&json!(true), &json!(false)),
        "{}",
        dead.text
    );
    assert_eq!(dead.body["test"]["error"]["code"], "UNAVAILABLE", "{}", dead.text);

    let wrong =
        json!({ "type": "api", "id": "a b", "config": { "base_url": 7, "colour": "red" }, "test": true });
    let wrong = app.post("services/validate", wrong).await.is(200);
    let paths: Vec<_> =
        wrong.body["errors"].as_array().unwrap().iter().map(|error| error["path"].clone()).collect();
    assert_eq!(paths, ["id", "config.base_url", "config.colour"], "{}", wrong.text);
    assert_eq!((&wrong.body["valid"], &wrong.body["test"]), (&json!(false), &Value::Null));

    // Masked secrets are those of the service that is changed; at another address they do not go along.
    let mut secret = api("signed", &upstream.url());
    secret["config"]["auth_type"] = "bearer".into();
    secret["config"]["auth_config"] = json!({ "token": "hunter22" });
    app.service(secret.clone()).await;
    secret["config"]["auth_config"] = json!({ "token": "***" });
    secret["test"] = true.into();
    let kept = app.post("services/validate", secret.clone()).await.is(200);
    assert_eq!(
        (&kept.body["valid"], &kept.body["test"]["ok"]),
        (&json!(true), &json!(true)),
        "{}",
        kept.text
    );
    secret["config"]["base_url"] = "http://127.0.0.1:1".into();
    let moved = app.post("services/validate", secret).await.is(200);
    assert_eq!(moved.body["dropped_secrets"], json!(["config.auth_config.token"]), "{}", moved.text);
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    caller.post("services/validate", crm(&upstream)).await.is_problem(403, "FORBIDDEN");
}

/// UI-3
async fn tells_each_client_how_to_come_in(backend: Backend) {
    let app = TestApp::start(backend).await;
    let made = app.post("mcp", json!({ "name": "My shop" })).await.is(201);
    let told = app.get(&format!("mcp/id/{}/connect", made.string("id"))).await.is(200);
    let ids: Vec<_> =
        told.body["clients"].as_array().unwrap().iter().map(|client| client["id"].clone()).collect();
    assert_eq!(ids, ["claude-code", "claude-desktop", "cursor", "vscode", "cline", "gemini", "other"]);
    let url = format!("http://{}/mcp/{{key}}", app.address());
    assert_eq!(told.body["url"], url);
    assert!(!told.text.contains(&made.string("api_key")));
    for client in told.body["clients"].as_array().unwrap() {
        let text = client["text"].as_str().unwrap();
        assert!(text.contains(&url) && text.contains("my-shop"), "{text}");
        if !client["path"].is_null() {
            serde_json::from_str::<Value>(text).unwrap();
        }
    }
    let caller = app.with_key(json!({ "name": "c", "role": "caller" })).await;
    caller.get(&format!("mcp/id/{}/connect", made.string("id"))).await.is_problem(404, "NOT_FOUND");
}

/// UI-17, UI-19
#[tokio::test]
async fn serves_pages_under_a_strict_policy_and_says_how_to_build_them() {
    let app = TestApp::start(Backend::Sqlite).await;
    let get = async |path: &str| {
        let answer = reqwest::get(format!("http://{}{path}", app.address())).await.unwrap();
        let headers = answer.headers().clone();
        (answer.status().as_u16(), headers, answer.text().await.unwrap())
    };
    let mut nonces = Vec::new();
    for path in ["/", "/ui", "/ui/services/api/crm?tab=tools"] {
        let (status, headers, page) = get(path).await;
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        assert_eq!((status, header("content-type").as_str()), (200, "text/html; charset=utf-8"));
        assert_eq!(
            (header("cache-control"), header("x-content-type-options")),
            ("no-store".into(), "nosniff".into())
        );
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(
            (header("cross-origin-opener-policy"), header("cross-origin-resource-policy")),
            ("same-origin".into(), "same-origin".into())
        );
        let policy = header("content-security-policy");
        let (start, rest) = policy.split_once("'nonce-").unwrap();
        assert_eq!(start, "default-src 'none'; script-src 'self'; style-src 'self' ");
        let (nonce, rest) = rest.split_once("';").unwrap();
        assert_eq!(
            rest,
            " img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        );
        nonces.push(nonce.to_owned());
        assert!(!page.contains("__NONCE__") && !page.contains("__BASE__"), "{page}");
        let is_built = page.contains(nonce);
        assert!(
            is_built || page.contains("<h1>The console is not built</h1>") && page.contains("make console"),
            "{page}"
        );
    }
    nonces.dedup();
    assert_eq!(nonces.len(), 3, "each page has its own");
    assert_eq!(get("/assets/../index.html").await.0, 404);
    assert_eq!(get("/assets/no-such.js").await.0, 404);
    assert_eq!(get("/nothing").await.0, 404);
}

#[tokio::test]
async fn compresses_answers_that_are_worth_it() {
    let upstream = http::Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(crm(&upstream)).await;
    // This client takes what comes as it is.
    let client = reqwest::Client::builder().no_gzip().no_brotli().no_zstd().build().unwrap();
    let get = async |path: &str| {
        let request = client.get(app.url(&format!("/api/v1/{path}"))).bearer_auth(app.key().unwrap());
        request
            .header("accept-encoding", "gzip")
            .send()
            .await
            .unwrap()
            .headers()
            .get("content-encoding")
            .cloned()
    };
    assert_eq!(get("service-types").await.unwrap(), "gzip");
    assert_eq!(get("auth/me").await, None, "it is small");
}

/// Every property of a schema, wherever it stands, by its path.
fn properties<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    for (name, inner) in schema.as_object().into_iter().flatten() {
        match (name.as_str(), inner) {
            ("properties", Value::Object(fields)) => {
                for (field, inner) in fields {
                    found.push((format!("{path}.{field}"), inner));
                    properties(inner, &format!("{path}.{field}"), found);
                }
            }
            ("$defs", Value::Object(definitions)) => {
                definitions
                    .iter()
                    .for_each(|(name, inner)| properties(inner, &format!("{path}#{name}"), found));
            }
            (_, Value::Array(items)) => items.iter().for_each(|item| properties(item, path, found)),
            ("default" | "examples" | "x-ui", _) => {}
            (_, inner) => properties(inner, path, found),
        }
    }
}

/// UI-15
#[tokio::test]
async fn every_setting_has_a_title_and_words_in_chinese() {
    let app = TestApp::start(Backend::Sqlite).await;
    let types = app.get("service-types").await.is(200);
    let mut found = Vec::new();
    for kind in types.body["items"].as_array().unwrap() {
        for part in ["settings_schema", "tool_schema"] {
            properties(&kind[part], kind["type"].as_str().unwrap(), &mut found);
        }
    }
    assert!(found.len() > 200, "{}", found.len());
    let has = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let is_chinese = |value: &Value| value.as_str().is_some_and(|text| text.chars().any(|c| c >= '\u{4e00}'));
    let is_named = |property: &Value| {
        let ui = &property["x-ui"];
        has(&property["title"])
            && has(&ui["zh"]["title"])
            && is_chinese(&ui["zh"]["description"])
            && ui["order"].is_u64()
    };
    let silent: Vec<_> =
        found.iter().filter(|(_, property)| !is_named(property)).map(|(path, _)| path).collect();
    assert!(silent.is_empty(), "without words: {silent:?}");
    let api = types.items().into_iter().find(|kind| kind["type"] == "api").unwrap();
    let settings = &api["settings_schema"]["properties"];
    assert_eq!(
        (&settings["base_url"]["title"], &settings["auth_type"]["title"]),
        (&json!("Base URL"), &json!("Sign-in"))
    );
    assert_eq!(settings["timeout_ms"]["x-ui"]["group"], "limits");
}
