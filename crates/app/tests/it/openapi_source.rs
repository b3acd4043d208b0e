//! Where OpenAPI documents come from: fetched under the guard, and refused with a path where they are none.

use crate::openapi_import::document;
use serde_json::{Value, json};
use testkit::{Backend, TestApp, http};

#[tokio::test]
async fn says_what_is_wrong_with_a_request() {
    let app = TestApp::start(Backend::Sqlite).await;
    let good = document("server-variables.yaml");
    for (body, path) in [
        (json!({}), "document"),
        (json!({ "document": 7 }), "document"),
        (json!({ "document": good, "url": "https://example.com" }), "url"),
        (json!({ "document": "" }), "document"),
        (json!({ "document": "openapi: 9" }), "document"),
        (json!({ "document": { "openapi": "3.0.0" } }), "document"),
        (json!({ "url": "ftp://example.com/x" }), "url"),
        (json!({ "url": "https://ada:secret@example.com/x" }), "url"),
        (json!({ "document": good, "mode": "dance" }), "mode"),
        (json!({ "document": good, "colour": "red" }), "colour"),
        (json!({ "document": good, "include": ["x".repeat(1000)] }), "include"),
        (json!({ "document": good, "server_variables": { "region": "moon" } }), "server_variables.region"),
        (json!({ "document": good, "mode": "create", "id": "import" }), "id"),
        (json!({ "document": good, "mode": "create", "id": "a b" }), "id"),
        (json!({ "document": good, "mode": "create", "config": { "colour": 1 } }), "config.colour"),
        (
            json!({ "document": good, "mode": "create", "config": { "allow_private_network": ["x"] } }),
            "config.allow_private_network[0]",
        ),
    ] {
        let reply = app.post("services/api/import", body.clone()).await.is_problem(422, "VALIDATION_FAILED");
        assert!(reply.errors().iter().any(|(at, _)| *at == path), "{body}: {}", reply.text);
        assert!(!reply.text.contains("secret"), "{}", reply.text);
    }
    assert_eq!(app.get("services").await.is(200).body["total"], 0);
}

/// A service made of the server's own document calls the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetches_a_document_and_calls_what_it_describes() {
    let app = TestApp::start(Backend::Sqlite).await;
    let key = app.post("keys", json!({ "name": "own", "role": "manager" })).await.is(201).string("key");
    let url = format!("http://{}/api/openapi.json", app.address());
    let config = json!({ "auth_config": { "token": key } });
    let body =
        json!({ "url": url, "mode": "create", "id": "own", "config": config, "exclude": ["tag:audit"] });
    let made = app.post("services/api/import", body).await.is(201);
    assert_eq!(
        made.body["config"]["base_url"],
        format!("http://{}", app.address()),
        "no server means this host"
    );
    assert_eq!(made.body["skipped"], json!([]), "all of our own document can be called");
    let reply =
        app.call("api://own/get_services_type_id", json!({ "type": "api", "id": "own" })).await.is(200);
    assert_eq!(reply.body["structuredContent"]["id"], "own", "{}", reply.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetches_documents_only_where_it_may() {
    let upstream = http::Server::start().await;
    let guarded =
        TestApp::start_with(Backend::Sqlite, |settings| settings.allow_private_network = false).await;
    let import = async |body: Value| guarded.post("services/api/import", body).await;
    let own = format!("http://{}/api/openapi.json", guarded.address());
    for url in [
        own.as_str(),
        &upstream.url(),
        "http://localhost:1/x",
        "http://169.254.169.254/latest",
        "http://[::1]/",
    ] {
        let reply = import(json!({ "url": url })).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.errors(), [("url", "AddressRefused")], "{url}: {}", reply.text);
    }
    assert!(upstream.requests().is_empty());
    let allowed =
        json!({ "url": own, "config": { "allow_private_network": ["127.0.0.1"] }, "include": ["GET *"] });
    import(allowed).await.is(200);

    let open = json!({ "allow_private_network": ["127.0.0.1"] });
    let at = |path: &str| json!({ "url": format!("{}{path}", upstream.url()), "config": open });
    import(at("/status/404")).await.is_problem(502, "UPSTREAM_ERROR");
    import(at("/drop")).await.is_problem(503, "UNAVAILABLE");
    let away = import(at("/redirect?to=http://127.0.0.2:1/x")).await.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(away.errors(), [("url", "AddressRefused")], "redirects are guarded too: {}", away.text);
    let escaped = |text: String| text.replace('%', "%25").replace('?', "%3F").replace('=', "%3D");
    let endless = (0..7).fold("/x".to_owned(), |path, _| format!("/redirect?to={}", escaped(path)));
    import(at(&endless)).await.is_problem(502, "UPSTREAM_ERROR");
    let moved = import(at(&format!("/redirect?to={own}"))).await.is(200);
    assert_eq!(moved.body["config"]["base_url"], format!("http://{}", guarded.address()));
    for (path, code) in [
        ("/text", "NotOpenApi"),
        ("/big/17000000", "TooLarge"),
        ("/gzip/17000000", "TooLarge"),
        ("/binary", "Unreadable"),
    ] {
        let reply = import(at(path)).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(reply.errors()[0].1, code, "{path}: {}", reply.text);
    }
}
