//! Typed tools over tables: what is offered, what reading answers, and that changes of the catalog are followed.

use super::support::{Engine, ORDERS, Place, eventually};
use crate::on_every_engine;
use serde_json::{Value, json};
use tool::ErrorKind;

on_every_engine! {
    makes_typed_tools_of_tables
    reads_rows_as_wanted
    refuses_names_that_are_not_in_the_catalog
    binds_every_value
    lists_and_describes_tables
    offers_one_table_by_bare_names
    pages_and_streams_through_all_rows
    follows_changes_of_the_catalog
    offers_only_fixed_tools_over_many_tables
    knows_keys_of_several_columns
}

/// DB-1
async fn makes_typed_tools_of_tables(place: Place) {
    place.run(ORDERS).await;
    place.run("CREATE VIEW open_orders AS SELECT id, total FROM orders WHERE status = 'open'").await;
    let service = place.open(json!({}));
    let expected = [
        "describe",
        "open_orders_count",
        "open_orders_list",
        "orders_count",
        "orders_list",
        "orders_take",
        "query",
        "tables",
    ];
    assert_eq!(service.names().await, expected);
    let schema = service.field("orders_take", "inputSchema").await;
    assert_eq!(schema["required"], json!(["id"]));
    let hints = service.field("orders_list", "annotations").await;
    assert_eq!((&hints["readOnlyHint"], &hints["destructiveHint"]), (&json!(true), &json!(false)));
    let output = service.field("orders_list", "outputSchema").await;
    assert_eq!(output["required"], json!(["rows", "truncated"]));
    assert!(output["properties"]["rows"]["items"]["properties"]["customer"].is_object(), "{output}");

    let service = place.open(json!({
        "read_only": false, "tables": ["ord*"], "query": false,
        "operations": ["list", "create", "modify", "save", "delete", "bulk", "execute"],
    }));
    let expected = [
        "describe",
        "execute",
        "orders_bulk",
        "orders_create",
        "orders_delete",
        "orders_list",
        "orders_modify",
        "orders_save",
        "tables",
    ];
    assert_eq!(service.names().await, expected);
    let created = service.field("orders_create", "inputSchema").await;
    assert!(created["required"].as_array().unwrap().contains(&json!("customer")), "{created}");
    assert_eq!(service.field("orders_create", "annotations").await["destructiveHint"], false);
    // Nothing that writes is offered where nothing may be written.
    let service = place.open(json!({ "operations": ["create", "execute"], "exclude": ["open_*"] }));
    assert_eq!(service.names().await, ["describe", "query", "tables"]);
}

async fn reads_rows_as_wanted(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({}));
    let ids = async |arguments: Value| -> Vec<i64> {
        let answer = service.call("orders_list", arguments).await.unwrap();
        answer["rows"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
    };
    let row = service.call("orders_take", json!({ "id": 2 })).await.unwrap();
    assert_eq!((&row["customer"], &row["status"]), (&json!("bob"), &json!("paid")));
    assert_eq!(service.call("orders_take", json!({ "id": 9 })).await.unwrap(), Value::Null);
    assert_eq!(ids(json!({})).await, [1, 2, 3]);
    for (wanted, expected) in [
        (json!({ "customer": "ann" }), vec![1, 3]),
        (json!({ "customer": { "ne": "ann" } }), vec![2]),
        (json!({ "id": { "gt": 1, "le": 2 } }), vec![2]),
        (json!({ "id": { "in": [1, 3, 7] } }), vec![1, 3]),
        (json!({ "id": { "in": [] } }), vec![]),
        (json!({ "customer": { "like": "%n%" } }), vec![1, 3]),
        (json!({ "status": null }), vec![3]),
        (json!({ "status": { "null": false } }), vec![1, 2]),
        (json!({ "$or": [{ "id": 1 }, { "status": "paid" }] }), vec![1, 2]),
        (json!({ "customer": "ann", "$or": [{ "id": 2 }, { "status": { "null": true } }] }), vec![3]),
        (json!({ "total": { "ge": "20.00" } }), vec![2, 3]),
        (json!({ "total": 10.5 }), vec![1]),
    ] {
        assert_eq!(ids(json!({ "where": wanted })).await, expected, "{wanted}");
        let count = service.call("orders_count", json!({ "where": wanted })).await.unwrap();
        assert_eq!(count, json!({ "count": expected.len() }), "{wanted}");
    }
    assert_eq!(ids(json!({ "orderBy": ["customer desc", "id desc"] })).await, [2, 3, 1]);
    assert_eq!(ids(json!({ "limit": 1, "offset": 1 })).await, [2]);
    let answer = service.call("orders_list", json!({ "fields": ["customer"], "limit": 2 })).await.unwrap();
    assert_eq!(answer, json!({ "rows": [{ "customer": "ann" }, { "customer": "bob" }], "truncated": true }));
}

/// DB-3
async fn refuses_names_that_are_not_in_the_catalog(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({}));
    let injected = "id\" = 1; DROP TABLE orders; --";
    for arguments in [
        json!({ "where": { injected: 1 } }),
        json!({ "where": { "$or": [{ injected: 1 }] } }),
        json!({ "fields": [injected] }),
        json!({ "orderBy": [injected] }),
        json!({ "orderBy": ["id; DROP TABLE orders"] }),
        json!({ "where": { "id": { "is": 1 } } }),
        json!({ "where": { "id": { "like": "1" } } }),
        json!({ "where": { "$or": {} } }),
        json!({ "limit": 0 }),
        json!({ "limit": "1; DROP TABLE orders" }),
        json!({ "offset": -1 }),
    ] {
        let error = service.error("orders_list", arguments.clone()).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{arguments}: {error:?}");
    }
    let deep = (0..20).fold(json!({ "id": 1 }), |inner, _| json!({ "$or": [inner] }));
    let error = service.error("orders_list", json!({ "where": deep })).await;
    assert!(error.message().contains("nested too deeply"), "{error}");
    let error = service.error("orders_take", json!({})).await;
    assert!(error.message().contains("'id'"), "{error}");
    assert_eq!(service.error("orders_take", json!({ "id": "x" })).await.kind(), ErrorKind::InvalidInput);
    assert_eq!(place.number("SELECT count(*) FROM orders").await, 3);
}

/// DB-3
async fn binds_every_value(place: Place) {
    place.run(ORDERS).await;
    let service = place
        .open(json!({ "read_only": false, "operations": ["take", "list", "create", "modify", "delete"] }));
    let hostile = [
        "'; DROP TABLE orders; --",
        "' OR '1'='1",
        "\\'; DELETE FROM orders; --",
        "$1 ? :x @y `z` \"w\"",
        "NULL",
        "%",
        "日本語 \u{1F600}",
    ];
    for (index, text) in hostile.iter().enumerate() {
        let id = 100 + index;
        let row = service.call("orders_create", json!({ "id": id, "customer": text })).await.unwrap();
        assert_eq!(row["customer"], *text);
        let found = service.call("orders_list", json!({ "where": { "customer": text } })).await.unwrap();
        assert_eq!(found["rows"].as_array().unwrap().len(), 1, "{text}: {found}");
        let found = service.call(
            "query",
            json!({ "sql": "SELECT id FROM orders WHERE customer = :c", "params": { "c": text } }),
        );
        assert_eq!(found.await.unwrap()["rows"], json!([{ "id": id }]), "{text}");
    }
    assert_eq!(place.number("SELECT count(*) FROM orders").await, 3 + hostile.len() as i64);
}

async fn lists_and_describes_tables(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({}));
    let tables = service.call("tables", json!({})).await.unwrap();
    assert_eq!(tables["rows"][0]["name"], "orders");
    assert_eq!((&tables["rows"][0]["view"], &tables["truncated"]), (&json!(false), &json!(false)));
    let described = service.call("describe", json!({ "table": "orders" })).await.unwrap();
    let columns = described["columns"].as_array().unwrap();
    let names: Vec<_> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["id", "customer", "status", "total"]);
    assert_eq!((&columns[0]["key"], &columns[1]["key"]), (&json!(true), &json!(false)));
    assert_eq!((&columns[1]["nullable"], &columns[2]["nullable"]), (&json!(false), &json!(true)));
    let error = service.error("describe", json!({ "table": "sqlite_schema" })).await;
    assert_eq!(error.kind(), ErrorKind::Missing);
    assert_eq!(service.error("describe", json!({})).await.kind(), ErrorKind::InvalidInput);
    assert_eq!(service.error("no_such_tool", json!({})).await.kind(), ErrorKind::NotFound);
}

async fn offers_one_table_by_bare_names(place: Place) {
    place.run(ORDERS).await;
    place.run("CREATE TABLE others (id INTEGER PRIMARY KEY)").await;
    let service = place.open(json!({ "table": "orders", "query": false }));
    assert_eq!(service.names().await, ["count", "describe", "list", "tables", "take"]);
    assert_eq!(service.call("count", json!({})).await.unwrap(), json!({ "count": 3 }));
    assert_eq!(service.call("tables", json!({})).await.unwrap()["rows"].as_array().unwrap().len(), 1);
}

async fn pages_and_streams_through_all_rows(place: Place) {
    place.run("CREATE TABLE numbers (id INTEGER PRIMARY KEY, part INTEGER NOT NULL, label VARCHAR(9))").await;
    let values: Vec<_> = (1..=57).map(|id| format!("({id}, {}, 'x')", id % 7)).collect();
    place.run(&format!("INSERT INTO numbers VALUES {}", values.join(", "))).await;
    let service = place.open(json!({ "operations": ["page", "stream"] }));
    let page = service.call("numbers_page", json!({ "page": 2, "size": 20 })).await.unwrap();
    assert_eq!((&page["totalElements"], &page["totalPages"]), (&json!(57), &json!(3)));
    assert_eq!(
        (&page["first"], &page["last"], page["content"].as_array().unwrap().len()),
        (&json!(false), &json!(true), 17)
    );
    let page = service.call("numbers_page", json!({ "where": { "id": 0 } })).await.unwrap();
    assert_eq!((&page["totalPages"], &page["first"], &page["last"]), (&json!(0), &json!(true), &json!(true)));

    for order in [json!([]), json!(["part"]), json!(["part desc"]), json!(["part", "id desc"])] {
        let (mut seen, mut after) = (Vec::new(), Value::Null);
        loop {
            let arguments = json!({ "limit": 10, "orderBy": order, "fields": ["label"], "after": after });
            let answer = service.call("numbers_stream", arguments).await.unwrap();
            seen.extend(answer["rows"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()));
            after = answer["after"].clone();
            if after.is_null() {
                break;
            }
        }
        assert_eq!(seen.len(), 57, "{order}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 57, "{order}");
    }
    let error = service.error("numbers_stream", json!({ "orderBy": ["label"] })).await;
    assert!(error.message().contains("can be null"), "{error}");
    for after in ["x", "W10", "WzFd", "Wy0xXQ==="] {
        let error = service.error("numbers_stream", json!({ "after": after, "orderBy": ["part"] })).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{after}");
    }
}

/// DB-1
async fn follows_changes_of_the_catalog(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({}));
    assert!(service.names().await.contains(&"orders_take".to_owned()));
    let mut changes = service.0.changes().unwrap();
    let before = service.call("orders_take", json!({ "id": 1 })).await.unwrap();
    place.run("ALTER TABLE orders DROP COLUMN status").await;
    place.run("ALTER TABLE orders ADD COLUMN note VARCHAR(9)").await;
    // The first to notice is told so, the next finds the tools as they are.
    let error = service.error("orders_take", json!({ "id": 1 })).await;
    assert!(matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Upstream), "{error:?}");
    tokio::time::timeout(std::time::Duration::from_secs(10), changes.changed()).await.unwrap().unwrap();
    let after = service.call("orders_take", json!({ "id": 1 })).await.unwrap();
    assert!(
        before.get("status").is_some() && after.get("status").is_none() && after.get("note").is_some(),
        "{after}"
    );
    place.run("CREATE TABLE more (id INTEGER PRIMARY KEY)").await;
    let known = || async { service.names().await.contains(&"more_take".to_owned()) };
    eventually("the new table", known).await;
}

async fn offers_only_fixed_tools_over_many_tables(place: Place) {
    let tables: Vec<_> =
        (0..61).map(|number| format!("CREATE TABLE t{number} (id INTEGER PRIMARY KEY)")).collect();
    place.run(&tables.join("; ")).await;
    let service = place.open(json!({}));
    assert_eq!(service.names().await, ["describe", "query", "tables"]);
    let cx = testkit::conformance::context(std::time::Duration::from_secs(20));
    let error = service.0.health(&cx).await.unwrap_err();
    assert!(error.message().contains("61 tables"), "{error}");
    assert_eq!(service.call("tables", json!({})).await.unwrap()["rows"].as_array().unwrap().len(), 61);
    assert_eq!(service.call("describe", json!({ "table": "t7" })).await.unwrap()["columns"][0]["name"], "id");
    let service = place.open(json!({ "tables": ["t1*"] }));
    assert!(service.names().await.contains(&"t10_list".to_owned()));
    service.0.health(&cx).await.unwrap();
}

async fn knows_keys_of_several_columns(place: Place) {
    place.run("CREATE TABLE seats (hall VARCHAR(9) NOT NULL, seat INTEGER NOT NULL, taken INTEGER, PRIMARY KEY (seat, hall))").await;
    place.run("CREATE TABLE loose (x INTEGER)").await;
    place.run("INSERT INTO seats VALUES ('a', 1, 0), ('b', 1, 1)").await;
    let operations = json!(["take", "list", "modify", "delete", "create", "stream"]);
    let service = place.open(json!({ "read_only": false, "operations": operations }));
    let names = service.names().await;
    assert!(
        names.contains(&"loose_create".to_owned()) && !names.contains(&"loose_take".to_owned()),
        "{names:?}"
    );
    let row = service.call("seats_take", json!({ "seat": 1, "hall": "b" })).await.unwrap();
    assert_eq!(row, json!({ "hall": "b", "seat": 1, "taken": 1 }));
    let row = service.call("seats_modify", json!({ "seat": 1, "hall": "a", "taken": 5 })).await.unwrap();
    assert_eq!(row["taken"], 5);
    assert_eq!(
        service.call("seats_delete", json!({ "seat": 1, "hall": "a" })).await.unwrap(),
        json!({ "deleted": 1 })
    );
    let row = service.call("loose_create", json!({ "x": 7 })).await.unwrap();
    assert_eq!(row, json!({ "x": 7 }));
    assert_eq!(place.engine == Engine::Sqlite, place.sessions().await == 0);
}

/// A new table takes no tool away from another, whatever both are called. DB-1
#[tokio::test]
async fn names_of_tools_stay_with_the_tables_that_bear_them() {
    let place = Place::make(Engine::Sqlite).await;
    for (table, who) in [("x_y", "first"), ("x y", "second"), ("x_y_2", "third"), ("x-y", "fourth")] {
        place
            .run(&format!("CREATE TABLE `{table}` (who TEXT); INSERT INTO `{table}` VALUES ('{who}')"))
            .await;
    }
    let tools = [
        ("x_y", "first"),
        ("x_y_2", "third"),
        ("x-y", "fourth"),
        ("x_y_887fcea6a803", "second"),
        ("__c35f80840b4b", "fifth"),
    ];
    place.run("CREATE TABLE `\u{8868}` (who TEXT); INSERT INTO `\u{8868}` VALUES ('fifth')").await;
    for others in [
        "",
        "CREATE TABLE `\u{4e01}` (who TEXT)",
        "DROP TABLE `x-y`; CREATE TABLE `x_y_887fcea6a803` (who TEXT)",
    ] {
        place.run(others).await;
        let service = place.open(json!({ "operations": ["list"] }));
        for (prefix, who) in tools.iter().filter(|(prefix, _)| !others.contains("x-y") || *prefix != "x-y") {
            let answer = service.call(&format!("{prefix}_list"), json!({})).await.unwrap();
            assert_eq!(answer["rows"][0]["who"], *who, "{prefix} after {others}");
        }
    }
}

/// What a column of SQLite was declared as promises nothing of its values. DB-1
#[tokio::test]
async fn schemas_of_sqlite_promise_what_holds() {
    let place = Place::make(Engine::Sqlite).await;
    place.run("CREATE TABLE t (id INTEGER PRIMARY KEY, flag BOOLEAN, n INTEGER, s TEXT)").await;
    place.run("INSERT INTO t VALUES (1, 1, 2.5, x'00'), (2, 'maybe', 'many', 7)").await;
    let service = place.open(json!({ "operations": ["list"] }));
    let schema = service.field("t_list", "outputSchema").await;
    let answer = service.call("t_list", json!({})).await.unwrap();
    let errors: Vec<_> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&answer)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new(), "{answer}");
}

/// DB-1: a column whose type is a domain is one of the type behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_is_the_type_behind_it() {
    let place = Place::make(Engine::Postgres).await;
    place.run("CREATE DOMAIN positive AS INTEGER CHECK (VALUE > 0); CREATE DOMAIN age AS positive").await;
    place.run("CREATE TABLE people (id INTEGER PRIMARY KEY, age age)").await;
    let service = place.open(json!({ "read_only": false, "operations": ["create", "list"] }));
    let schema = service.field("people_create", "inputSchema").await;
    assert_eq!(schema["properties"]["age"]["type"], "integer");
    let person = json!({ "id": 1, "age": 7 });
    let created = service.call("people_create", person).await.unwrap();
    assert_eq!(created["age"], 7);
    let found = service.call("people_list", json!({ "where": { "age": { "gt": 6 } } })).await.unwrap();
    assert_eq!(found["rows"][0]["age"], 7);
    assert!(service.error("people_create", json!({ "id": 2, "age": -1 })).await.service_code().is_some());
}
