//! Rows that are added, changed and deleted, one and many: where they are there, are not, and half of them.

use super::support::{Engine, ORDERS, Place};
use crate::on_every_engine;
use serde_json::{Value, json};
use tool::ErrorKind;

on_every_engine! {
    creates_modifies_saves_and_deletes
    fills_in_keys_of_the_database
    does_many_at_once
    saves_the_same_row_from_many_sides
}

fn writing() -> Value {
    json!({ "read_only": false, "operations": ["take", "list", "create", "modify", "save", "delete", "bulk", "execute"] })
}

/// DB-7
async fn creates_modifies_saves_and_deletes(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(writing());
    let row = json!({ "id": 4, "customer": "cy", "status": "open", "total": "1.00" });
    let created = service.call("orders_create", row.clone()).await.unwrap();
    assert_eq!(created["customer"], "cy");
    let error = service.error("orders_create", row.clone()).await;
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("conflict")));
    let changed = service.call("orders_modify", json!({ "id": 4, "status": null })).await.unwrap();
    assert_eq!((&changed["status"], &changed["customer"]), (&Value::Null, &json!("cy")));
    assert_eq!(
        service.error("orders_modify", json!({ "id": 99, "status": "x" })).await.kind(),
        ErrorKind::Missing
    );
    assert_eq!(service.call("orders_modify", json!({ "id": 4 })).await.unwrap(), changed);
    let saved = service.call("orders_save", json!({ "id": 4, "customer": "dee" })).await.unwrap();
    assert_eq!(saved["customer"], "dee");
    let saved = service.call("orders_save", json!({ "id": 5, "customer": "eve" })).await.unwrap();
    assert_eq!((&saved["id"], &saved["status"]), (&json!(5), &Value::Null));
    assert_eq!(service.call("orders_delete", json!({ "id": 5 })).await.unwrap(), json!({ "deleted": 1 }));
    assert_eq!(service.call("orders_delete", json!({ "id": 5 })).await.unwrap(), json!({ "deleted": 0 }));
    for (tool, arguments, name) in [
        ("orders_create", json!({ "id": 6, "customer": 7 }), "customer"),
        ("orders_create", json!({ "id": 6, "customer": "x", "nothing": 1 }), "nothing"),
        ("orders_modify", json!({ "status": "x" }), "id"),
        ("orders_delete", json!({ "id": 1, "status": "x" }), "status"),
    ] {
        let error = service.error(tool, arguments).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
        assert!(error.message().contains(&format!("'{name}'")), "{error}");
    }
    let error = service.error("orders_create", json!({ "id": 6 })).await;
    assert!(error.kind() == ErrorKind::Upstream && error.message().contains("customer"), "{error:?}");
    // A statement that ran and failed says so itself, on every engine.
    for (tool, arguments) in [
        ("orders_modify", json!({ "id": 1, "customer": null })),
        ("orders_save", json!({ "id": 1, "customer": null })),
        ("orders_create", json!({ "id": 6, "customer": null })),
        ("execute", json!({ "sql": "UPDATE orders SET customer = NULL WHERE id = 1" })),
    ] {
        let error = service.error(tool, arguments).await;
        assert_eq!(error.kind(), ErrorKind::Upstream, "{tool}: {error:?}");
        assert!(error.service_code().is_some_and(|code| !code.is_empty()), "{tool}: {error:?}");
    }
    assert_eq!(place.number("SELECT count(*) FROM orders").await, 4);
}

async fn fills_in_keys_of_the_database(place: Place) {
    place
        .run(match place.engine {
            Engine::Sqlite => "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT DEFAULT 'none', size INTEGER GENERATED ALWAYS AS (length(text)))",
            Engine::Postgres => "CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text DEFAULT 'none', size int GENERATED ALWAYS AS (length(text)) STORED)",
            Engine::Mariadb => "CREATE TABLE notes (id BIGINT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(99) DEFAULT 'none', size INT GENERATED ALWAYS AS (length(text)))",
        })
        .await;
    let service = place.open(writing());
    assert_eq!(
        service.call("notes_create", json!({ "text": "one" })).await.unwrap(),
        json!({ "id": 1, "text": "one", "size": 3 })
    );
    assert_eq!(
        service.call("notes_create", json!({})).await.unwrap(),
        json!({ "id": 2, "text": "none", "size": 4 })
    );
    let changed = service.call("notes_modify", json!({ "id": 2, "text": "x" })).await.unwrap();
    assert_eq!(changed, json!({ "id": 2, "text": "x", "size": 1 }));
    let error = service.error("notes_create", json!({ "size": 7 })).await;
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
}

/// DB-7
async fn does_many_at_once(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(writing());
    let many = |is_transactional: bool| {
        json!({
            "create": [{ "id": 4, "customer": "dee" }, { "id": 1, "customer": "twice" }],
            "modify": [{ "id": 2, "status": "sent" }, { "id": 99, "status": "sent" }],
            "delete": [{ "id": 3 }],
            "transactional": is_transactional,
        })
    };
    let answer = service.call("orders_bulk", many(true)).await.unwrap();
    assert_eq!((&answer["done"], answer["failed"].as_array().unwrap().len()), (&json!(0), 1), "{answer}");
    assert_eq!(
        (&answer["failed"][0]["operation"], &answer["failed"][0]["index"]),
        (&json!("create"), &json!(1))
    );
    assert_eq!(place.number("SELECT count(*) FROM orders WHERE id = 4 OR status = 'sent'").await, 0);
    let answer = service.call("orders_bulk", many(false)).await.unwrap();
    assert_eq!(answer["done"], 3, "{answer}");
    let failed: Vec<_> = answer["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failed| failed["operation"].as_str().unwrap())
        .collect();
    assert_eq!(failed, ["create", "modify"]);
    assert_eq!(place.number("SELECT count(*) FROM orders").await, 3);
    let fine = json!({ "create": [{ "id": 7, "customer": "x" }, { "id": 8, "customer": "y" }], "transactional": true });
    assert_eq!(service.call("orders_bulk", fine).await.unwrap(), json!({ "done": 2, "failed": [] }));
    let too_many: Vec<_> = (0..1001).map(|id| json!({ "id": id })).collect();
    let error = service.error("orders_bulk", json!({ "delete": too_many })).await;
    assert!(error.message().contains("max_rows"), "{error}");
}

async fn saves_the_same_row_from_many_sides(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(writing());
    let mut saving = tokio::task::JoinSet::new();
    for number in 0..20 {
        let service = service.clone();
        saving.spawn(async move {
            let row = json!({ "id": 50, "customer": format!("c{number}") });
            service.call("orders_save", row).await.map(|row| (number, row))
        });
    }
    while let Some(saved) = saving.join_next().await {
        let (_, row) = saved.unwrap().unwrap();
        assert_eq!(row["id"], 50);
    }
    assert_eq!(place.number("SELECT count(*) FROM orders WHERE id = 50").await, 1);
}
