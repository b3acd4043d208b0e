//! A write whose row is too large for an answer is done all the same, and says so.

use super::support::{Engine, Place};
use crate::on_every_engine;
use serde_json::{Value, json};
use std::time::Duration;
use tool::{Call, ErrorKind};

on_every_engine! {
    what_was_written_is_never_called_refused
    what_was_written_is_shown_as_it_is
}

async fn make_docs(place: &Place) {
    place
        .run(match place.engine {
            Engine::Mariadb => {
                "CREATE TABLE docs (id INT AUTO_INCREMENT PRIMARY KEY, title VARCHAR(99), body LONGTEXT)"
            }
            Engine::Sqlite => "CREATE TABLE docs (id INTEGER PRIMARY KEY, title TEXT, body TEXT)",
            Engine::Postgres => "CREATE TABLE docs (id serial PRIMARY KEY, title text, body text)",
        })
        .await;
}

/// DB-7
async fn what_was_written_is_never_called_refused(place: Place) {
    make_docs(&place).await;
    let service =
        place.open(json!({ "read_only": false, "operations": ["take", "create", "modify", "save", "bulk"] }));
    let large = "\u{1}".repeat(6_000_000);
    let shown = |id: i64, title: &str| json!({ "id": id, "title": title });
    let mut calls = vec![
        ("docs_create", json!({ "id": 1, "title": "a", "body": large }), shown(1, "a")),
        ("docs_modify", json!({ "id": 1, "title": "b" }), shown(1, "b")),
        ("docs_modify", json!({ "id": 1, "body": large }), shown(1, "b")),
        ("docs_save", json!({ "id": 1, "title": "c", "body": large }), shown(1, "c")),
        ("docs_save", json!({ "id": 2, "title": "d", "body": large }), shown(2, "d")),
    ];
    if place.engine != Engine::Postgres {
        calls.push(("docs_create", json!({ "title": "e", "body": large }), shown(3, "e")));
    }
    for (tool, arguments, expected) in calls {
        assert_eq!(service.call(tool, arguments).await.unwrap(), expected, "{tool}");
    }
    let rows = json!({ "create": [{ "id": 4, "body": large }, { "id": 5, "body": large }], "modify": [{ "id": 1, "body": large }] });
    assert_eq!(service.call("docs_bulk", rows).await.unwrap(), json!({ "done": 3, "failed": [] }));
    assert_eq!(
        place.number("SELECT COUNT(*) FROM docs WHERE length(body) = 6000000 AND id IN (1, 2, 4, 5)").await,
        4
    );
    let small = service.call("docs_modify", json!({ "id": 1, "body": "small" })).await.unwrap();
    assert_eq!(small, json!({ "id": 1, "title": "c", "body": "small" }));
    assert_eq!(service.error("docs_take", json!({ "id": 2 })).await.kind(), ErrorKind::InvalidInput);
    let none: Value = service.call("docs_take", json!({ "id": 99 })).await.unwrap();
    assert_eq!(none, Value::Null);
}

/// No value that is there is shown as null: what does not fit is left out, and a remark says so.
async fn what_was_written_is_shown_as_it_is(place: Place) {
    make_docs(&place).await;
    let service = place.open(json!({ "read_only": false, "operations": ["create", "modify", "save"] }));
    for bytes in [30_000, 60_000, 300_000, 1_000_000] {
        let body = "x".repeat(bytes);
        let row = json!({ "id": bytes, "title": "a", "body": body });
        for tool in ["docs_create", "docs_save"] {
            assert_eq!(service.call(tool, row.clone()).await.unwrap(), row, "{tool}: {bytes}");
        }
        let changed = service.call("docs_modify", json!({ "id": bytes, "title": "b" })).await.unwrap();
        assert_eq!(changed, json!({ "id": bytes, "title": "b", "body": body }));
    }
    let (body, cx) = ("x".repeat(2_000_000), testkit::conformance::context(Duration::from_secs(60)));
    for (tool, title) in [("docs_create", "c"), ("docs_modify", "d"), ("docs_save", "e")] {
        let arguments = json!({ "id": 1, "title": title, "body": body }).as_object().cloned().unwrap();
        let outcome = service.0.call(&cx, Call::new(tool, arguments.into())).await.unwrap();
        let result: Value = serde_json::from_str(&testkit::conformance::result_of(outcome).unwrap()).unwrap();
        assert_eq!(result["structuredContent"], json!({ "id": 1, "title": title }), "{tool}");
        let remark = result["content"][1]["text"].as_str().unwrap();
        assert!(remark.contains("'body'") && remark.contains("max_bytes"), "{tool}: {remark}");
    }
}
