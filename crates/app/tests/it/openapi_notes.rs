//! What an import says beside its tools: warnings, problems, and who would miss a tool that goes.

use crate::openapi_import::document;
use serde_json::{Value, json};
use testkit::{Backend, TestApp};

/// A document that does not say where the API is.
fn without_address(operations: &[&str]) -> Value {
    let path = |id: &&str| (format!("/{id}"), json!({ "get": { "operationId": id } }));
    let paths: serde_json::Map<_, _> = operations.iter().map(path).collect();
    json!({ "openapi": "3.0.0", "info": { "title": "Shop" }, "paths": paths })
}

#[tokio::test]
async fn asks_for_an_address_only_while_there_is_none() {
    let app = TestApp::start(Backend::Sqlite).await;
    let import = async |more: Value| {
        let mut body = json!({ "document": without_address(&["list"]) });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = app.post("services/api/import", body).await;
        assert!(reply.status < 300, "{}", reply.text);
        reply.body["warnings"].clone()
    };
    let missing = json!(["the document does not say where the API is; give base_url"]);
    assert_eq!(import(json!({})).await, missing);
    let given = json!({ "base_url": "https://shop.example.com" });
    assert_eq!(import(given.clone()).await, json!([]));
    assert_eq!(import(json!({ "config": given })).await, json!([]));
    assert_eq!(import(json!({ "mode": "create", "base_url": "https://shop.example.com" })).await, json!([]));
    assert_eq!(import(json!({ "mode": "preview" })).await, json!([]), "the service has an address by now");
    assert_eq!(import(json!({ "mode": "update" })).await, json!([]));
}

#[tokio::test]
async fn a_preview_lists_what_would_keep_it_from_being_made() {
    let app = TestApp::start(Backend::Sqlite).await;
    let good = document("server-variables.yaml");
    for (field, value) in [("id", "bad id"), ("id", ""), ("id", "import"), ("name", ""), ("name", "a\u{7}b")]
    {
        let body = |mode: &str| json!({ "document": good, "mode": mode, field: value });
        let preview = app.post("services/api/import", body("preview")).await.is(200);
        assert_eq!(preview.body["problems"][0]["path"], field, "{value:?}: {}", preview.text);
        let refused =
            app.post("services/api/import", body("create")).await.is_problem(422, "VALIDATION_FAILED");
        assert_eq!(preview.body["problems"][0]["message"], refused.body["errors"][0]["message"], "{value:?}");
    }
}

#[tokio::test]
async fn does_not_take_away_tools_that_others_refer_to() {
    let app = TestApp::start(Backend::Sqlite).await;
    let body = |mode: &str, operations: &[&str]| json!({ "document": without_address(operations), "mode": mode, "id": "shop", "base_url": "https://shop.example.com" });
    app.post("services/api/import", body("create", &["list", "drop"])).await.is(201);
    app.post("tools", json!({ "name": "clear", "type": "uri", "uri": "api://shop/drop?timeout=5000" }))
        .await
        .is(201);

    let harmless = app.post("services/api/import", body("update", &["drop"])).await.is(200);
    assert_eq!(harmless.body["changes"]["removed"], json!(["list"]), "nobody refers to it");
    let preview = app.post("services/api/import", body("preview", &["list"])).await.is(200);
    let problem = &preview.body["problems"][0];
    assert_eq!(
        (&problem["path"], &problem["code"]),
        (&json!("tools"), &json!("Referenced")),
        "{}",
        preview.text
    );
    let refused =
        app.post("services/api/import", body("update", &["list"])).await.is_problem(409, "REFERENCED");
    let detail = refused.string("detail");
    assert_eq!(problem["message"], detail);
    assert!(
        detail.contains("clear") && detail.contains("force=true") && detail.contains("keep_missing"),
        "{detail}"
    );
    assert!(app.get("services/api/shop/tools/drop").await.is(200).body["id"] == "drop");

    let mut keeping = body("update", &["list"]);
    keeping["keep_missing"] = json!(true);
    app.post("services/api/import", keeping).await.is(200);
    let forced = app.post("services/api/import?force=true", body("preview", &["list"])).await.is(200);
    assert_eq!(forced.body["problems"], json!([]));
    assert!(forced.body["warnings"][0].as_str().unwrap().contains("clear"), "{}", forced.text);
    let forced = app.post("services/api/import?force=true", body("update", &["list"])).await.is(200);
    assert_eq!(forced.body["changes"]["removed"], json!(["drop"]));
}
