//! What people see while they write a template or an expression, or look into a table.

use serde_json::json;
use testkit::{Backend, TestApp};

/// UI-10
#[tokio::test]
async fn renders_a_template_over_a_sample_as_calls_do() {
    let app = TestApp::start(Backend::Sqlite).await;
    let body =
        json!({ "template": "{{ range .rows }}- {{ .n }}\n{{ end }}", "sample": { "rows": [{ "n": 1e2 }] } });
    let shown = app.post("templates/render", body).await.is(200);
    assert_eq!((&shown.body["output"], &shown.body["errors"]), (&json!("- 100\n"), &json!([])));
    assert!(shown.body["us"].is_u64());
    let wrong = json!({ "template": "a\n{{ .n | nope }}", "sample": {} });
    let wrong = app.post("templates/render", wrong).await.is(200);
    assert_eq!((&wrong.body["output"], &wrong.body["errors"][0]["line"]), (&json!(null), &json!(2)));
    assert!(wrong.body["errors"][0]["message"].as_str().unwrap().contains("nope"), "{}", wrong.text);
    // What never ends is ended.
    let endless = json!({ "template": "{{ range until 100000000 }}{{ range until 100000000 }}x{{ end }}{{ end }}", "sample": {} });
    let endless = app.post("templates/render", endless).await.is(200);
    assert!(endless.body["output"].is_null() && !endless.body["errors"][0].is_null(), "{}", endless.text);
    app.post("templates/render", json!({ "template": "x" })).await.is_problem(422, "VALIDATION_FAILED");
}

#[tokio::test]
async fn picks_by_jmespath_from_a_body_or_a_table() {
    let app = TestApp::start(Backend::Sqlite).await;
    let picked = app.post("jmespath", json!({ "expression": "a[1]", "data": { "a": [1, 2] } })).await.is(200);
    assert_eq!((&picked.body["data"], &picked.body["errors"]), (&json!(2), &json!([])));
    let wrong = app.post("jmespath", json!({ "expression": "a[", "data": {} })).await.is(200);
    assert_eq!((&wrong.body["data"], &wrong.body["errors"][0]["line"]), (&json!(null), &json!(1)));
    let document = json!({ "orders": [{ "id": 1 }, { "id": 2 }] });
    let table = app.post("tables", json!({ "name": "shop", "data": document })).await.is(201).string("id");
    let from_table = json!({ "expression": "[].id", "table_id": table, "json_path": "/orders" });
    assert_eq!(app.post("jmespath", from_table.clone()).await.is(200).body["data"], json!([1, 2]));
    for body in [json!({ "expression": "a" }), json!({ "expression": "a", "data": 1, "table_id": table })] {
        app.post("jmespath", body).await.is_problem(422, "VALIDATION_FAILED");
    }
    let stranger = app.with_tenant("other").await;
    stranger.post("jmespath", from_table).await.is_problem(404, "NOT_FOUND");
}

#[tokio::test]
async fn shows_a_table_level_by_level() {
    let app = TestApp::start(Backend::Sqlite).await;
    let long = "é".repeat(500);
    let numbers: Vec<_> = (0..120).collect();
    let document = json!({ "a/b": { "deep": true }, "text": long, "numbers": numbers, "none": null });
    let table = app.post("tables", json!({ "name": "shop", "data": document })).await.is(201).string("id");
    let children = |query: &str| {
        let path = format!("tables/{table}/children{query}");
        let app = &app;
        async move { app.get(&path).await }
    };
    let top = children("").await.is(200).body;
    assert_eq!((&top["type"], &top["total"]), (&json!("object"), &json!(4)));
    assert_eq!(top["items"][0], json!({ "key": "a/b", "type": "object", "size": 1, "preview": null }));
    assert_eq!(top["items"][1]["size"], 500);
    assert_eq!(top["items"][1]["preview"].as_str().unwrap().chars().count(), 120);
    assert_eq!(top["items"][3], json!({ "key": "none", "type": "null", "size": null, "preview": "null" }));
    let deep = children("?json_path=/a~1b").await.is(200).body;
    assert_eq!(deep["items"][0]["key"], "deep");
    let last = children("?json_path=/numbers&page=3&limit=50").await.is(200).body;
    assert_eq!((last["items"].as_array().unwrap().len(), &last["total"]), (20, &json!(120)));
    assert_eq!(last["items"][0], json!({ "key": "100", "type": "number", "size": null, "preview": "100" }));
    assert_eq!(children("?json_path=/text").await.is(200).body["items"], json!([]));
    assert_eq!(children("?page=4294967295&limit=1000").await.is(200).body["items"], json!([]));
    children("?json_path=/nothing").await.is_problem(404, "NOT_FOUND");
}
