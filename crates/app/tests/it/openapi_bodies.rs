//! Forms, files and sign-ins of imported services, as they really arrive.

use crate::openapi_import::document;
use serde_json::json;
use testkit::{Backend, TestApp, http, on_both_databases};

on_both_databases! {
    a_form_is_sent_as_a_form_and_a_text_as_a_text
    files_arrive_as_parts_and_as_bodies
    a_machine_signs_in_with_its_own_tokens
}

async fn a_form_is_sent_as_a_form_and_a_text_as_a_text(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let config = json!({ "auth_config": { "username": "ada", "password": "p" } });
    let body = json!({ "document": document("stripe-like.yaml"), "mode": "create", "id": "pay", "base_url": upstream.url(), "config": config });
    app.post("services/api/import", body).await.is(201);
    let arguments = json!({ "amount": 5, "currency": "eur", "metadata": { "order": "7" } });
    let result = app.call("api://pay/PostCharges", arguments).await.is(200);
    assert_eq!(result.body["isError"], false, "{}", result.text);
    let received = upstream.last();
    assert_eq!(received.body, "amount=5&currency=eur&metadata%5Border%5D=7");
    assert_eq!(received.header("content-type"), Some("application/x-www-form-urlencoded"));

    let body = json!({ "document": document("bodies.yaml"), "mode": "create", "id": "bodies", "base_url": upstream.url() });
    app.post("services/api/import", body).await.is(201);
    app.call("api://bodies/sendText", json!({ "body": "two\nlines" })).await.is(200);
    assert_eq!(
        (upstream.last().body.as_str(), upstream.last().header("content-type")),
        ("two\nlines", Some("text/plain"))
    );
    app.call("api://bodies/sendMap", json!({ "body": { "a": 1.5 } })).await.is(200);
    assert_eq!(upstream.last().json(), json!({ "a": 1.5 }));
    let refused = app.call("api://bodies/sendMap", json!({ "body": { "a": "x" } })).await;
    refused.is_problem(422, "VALIDATION_FAILED");
}

async fn files_arrive_as_parts_and_as_bodies(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let body = json!({ "document": document("bodies.yaml"), "mode": "create", "id": "bodies", "base_url": upstream.url() });
    app.post("services/api/import", body).await.is(201);
    let file = json!({ "content": "aGk=", "filename": "hi.txt", "content_type": "text/plain" });
    let result = app.call("api://bodies/upload", json!({ "file": file })).await.is(200);
    assert_eq!(result.body["isError"], false, "{}", result.text);
    let received = upstream.last();
    assert!(received.header("content-type").unwrap().starts_with("multipart/form-data; boundary="));
    let part = "name=\"file\"; filename=\"hi.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n";
    assert!(received.body.contains(part), "{}", received.body);
    let refused = app.call("api://bodies/upload", json!({ "file": { "content": "no base64!" } })).await;
    assert_eq!(refused.is_problem(422, "VALIDATION_FAILED").errors(), [("file", "InvalidFile")]);

    app.call("api://bodies/sendBinary", json!({ "body": "AP8=" })).await.is(200);
    let received = upstream.last();
    let content_type = received.header("content-type");
    assert_eq!((received.bytes.as_ref(), content_type), (&[0, 255][..], Some("application/octet-stream")));
}

async fn a_machine_signs_in_with_its_own_tokens(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let flow =
        json!({ "tokenUrl": format!("{}/token/60", upstream.url()), "scopes": { "orders": "read them" } });
    let document = json!({
        "openapi": "3.0.0", "info": { "title": "Shop" }, "security": [{ "machine": ["orders"] }],
        "components": { "securitySchemes": { "machine": { "type": "oauth2", "flows": { "clientCredentials": flow } } } },
        "paths": { "/orders": { "get": { "operationId": "list" } } }
    });
    let body = json!({ "document": document, "base_url": upstream.url(), "id": "shop" });
    let preview = app.post("services/api/import", body.clone()).await.is(200);
    let needed: Vec<_> =
        preview.body["credentials"].as_array().unwrap().iter().map(|one| &one["setting"]).collect();
    assert_eq!(needed, ["auth_config.client_id", "auth_config.client_secret"]);
    let mut create = body;
    create["mode"] = json!("create");
    create["config"] = json!({ "auth_config": { "client_id": "ada", "client_secret": "hunter2" } });
    let made = app.post("services/api/import", create).await.is(201);
    assert!(!made.text.contains("hunter2"), "{}", made.text);
    app.call("api://shop/list", json!({})).await.is(200);
    let all = upstream.requests();
    let asked = all.iter().find(|request| request.path == "/token/60").unwrap();
    assert!(asked.body.contains("grant_type=client_credentials"), "{}", asked.body);
    assert!(asked.body.contains("scope=orders"), "{}", asked.body);
    assert_eq!(asked.header("authorization"), Some("Basic YWRhOmh1bnRlcjI="));
    let (path, token) = (upstream.last().path, upstream.last().header("authorization").map(str::to_owned));
    assert!(path == "/orders" && token.is_some_and(|token| token.starts_with("Bearer ")));
}
