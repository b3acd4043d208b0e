//! Queries with a name and typed parameters, and SQL of callers.

use super::support::{Engine, ORDERS, Place};
use crate::on_every_engine;
use serde_json::{Value, json};
use tool::ErrorKind;

on_every_engine! {
    runs_named_queries_with_typed_parameters
    takes_parameters_that_may_be_left_out
    refuses_queries_that_cannot_work
    says_what_is_wrong_with_sql
    takes_parameters_of_every_type
    reads_only_but_executes_where_allowed
}

fn orders_of() -> Value {
    json!({
        "id": "orders_of", "description": "Orders of a customer.",
        "sql": "SELECT id, total FROM orders WHERE customer = :customer AND id >= :least ORDER BY id",
        "parameters": [
            { "name": "customer", "parameter_type": "String", "required": true },
            { "name": "least", "parameter_type": "Integer", "default_value": 0 },
        ],
    })
}

/// DB-6
async fn runs_named_queries_with_typed_parameters(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({ "tools": [orders_of()], "query": false, "operations": [] }));
    assert_eq!(service.names().await, ["describe", "orders_of", "tables"]);
    let schema = service.field("orders_of", "inputSchema").await;
    assert_eq!(
        (&schema["required"], &schema["properties"]["least"]["type"]),
        (&json!(["customer"]), &json!("integer"))
    );
    let ids = async |arguments: Value| -> Vec<i64> {
        let answer = service.call("orders_of", arguments).await.unwrap();
        answer["rows"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids(json!({ "customer": "ann" })).await, [1, 3]);
    assert_eq!(ids(json!({ "customer": "ann", "least": 2 })).await, [3]);
    assert!(ids(json!({ "customer": "' OR 1=1 --" })).await.is_empty());
    for (arguments, name) in [
        (json!({}), "customer"),
        (json!({ "customer": 7 }), "customer"),
        (json!({ "customer": "ann", "least": "2; DROP TABLE orders" }), "least"),
        (json!({ "customer": "ann", "other": 1 }), "other"),
    ] {
        let error = service.error("orders_of", arguments).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains(&format!("'{name}'")), "{error}");
    }
}

/// DB-6: where PostgreSQL cannot tell the type of a parameter, it is the declared one; it tells that of the others.
async fn takes_parameters_that_may_be_left_out(place: Place) {
    place.run(ORDERS).await;
    place.run("CREATE TABLE seen (id INTEGER, at TIMESTAMP)").await;
    place.run("INSERT INTO seen VALUES (1, '2026-01-02 03:04:05')").await;
    let parameter = |name: &str, kind: &str| json!({ "name": name, "parameter_type": kind });
    let service = place.open(json!({ "operations": [], "tools": [
        { "id": "some", "sql": "SELECT id FROM orders WHERE (:s IS NULL OR status = :s) AND (:n IS NULL OR id = :n) \
           AND (:t IS NULL OR total > :t) ORDER BY id",
          "parameters": [parameter("s", "String"), parameter("n", "Integer"), parameter("t", "Number")] },
        { "id": "at", "sql": "SELECT id FROM seen WHERE at = :at AND (:n IS NULL OR id = :n)",
          "parameters": [parameter("at", "String"), parameter("n", "Integer")] },
    ] }));
    for (tool, arguments, expected) in [
        ("some", json!({}), vec![1, 2, 3]),
        ("some", json!({ "s": "paid" }), vec![2]),
        ("some", json!({ "n": 3 }), vec![3]),
        ("some", json!({ "t": 10.75 }), vec![2, 3]),
        ("some", json!({ "s": "open", "n": 2 }), vec![]),
        ("at", json!({ "at": "2026-01-02 03:04:05" }), vec![1]),
        ("at", json!({ "at": "2026-01-02 03:04:05", "n": 2 }), vec![]),
    ] {
        let answer = service.call(tool, arguments.clone()).await.unwrap();
        let ids: Vec<_> = answer["rows"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
        assert_eq!(ids, expected, "{arguments}");
    }
}

async fn refuses_queries_that_cannot_work(place: Place) {
    for (tool, path) in [
        (json!({ "id": "a b", "sql": "SELECT 1" }), "tools[0].id"),
        (json!({ "id": "query", "sql": "SELECT 1" }), "tools[0].id"),
        (json!({ "id": "a", "sql": "DELETE FROM orders" }), "tools[0].sql"),
        (json!({ "id": "a", "sql": "SELECT 1; SELECT 2" }), "tools[0].sql"),
        (json!({ "id": "a", "sql": "SELECT :x" }), "tools[0].sql"),
        (
            json!({ "id": "a", "sql": "SELECT 1", "parameters": [{ "name": "x" }] }),
            "tools[0].parameters[0].name",
        ),
        (
            json!({ "id": "a", "sql": "SELECT :x", "parameters": [{ "name": "x", "parameter_type": "Integer", "default_value": "1" }] }),
            "tools[0].parameters[0].default_value",
        ),
        (
            json!({ "id": "a", "sql": "SELECT :x", "parameters": [{ "name": "x", "default_value": "c", "enum_values": ["a", "b"] }] }),
            "tools[0].parameters[0].default_value",
        ),
        (
            json!({ "id": "a", "sql": "SELECT :x", "parameters": [{ "name": "x", "parameter_type": "Blob" }] }),
            "tools[0].parameters[0].parameter_type",
        ),
    ] {
        let error = place.try_open(json!({ "tools": [tool] })).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{tool}");
        assert!(error.problems().iter().any(|problem| problem.path == path), "{tool}: {error:?}");
    }
}

async fn says_what_is_wrong_with_sql(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({}));
    for (sql, kind) in [
        ("SELECT nothing FROM orders", ErrorKind::InvalidInput),
        ("SELECT * FROM nowhere", ErrorKind::Missing),
        ("SELECT FROM WHERE", ErrorKind::InvalidInput),
        ("", ErrorKind::InvalidInput),
        ("   -- only a comment", ErrorKind::InvalidInput),
        ("SELECT 'unended", ErrorKind::InvalidInput),
        ("SELECT ?", ErrorKind::InvalidInput),
        ("SELECT :x", ErrorKind::InvalidInput),
    ] {
        let error = service.query(sql).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{sql}: {error:?}");
        if kind == ErrorKind::Missing {
            assert!(error.service_code().is_some(), "{error:?}");
        }
    }
    for arguments in [
        json!({}),
        json!({ "sql": 7 }),
        json!({ "sql": "SELECT 1", "params": [] }),
        json!({ "sql": "SELECT 1", "params": { "x": 1 } }),
        json!({ "sql": "SELECT 1", "maxRows": 0 }),
        json!({ "sql": "SELECT 1", "maxRows": 1_000_000 }),
    ] {
        assert_eq!(
            service.error("query", arguments.clone()).await.kind(),
            ErrorKind::InvalidInput,
            "{arguments}"
        );
    }
    if place.engine == Engine::Postgres {
        let error = service.query("SELECT 1 / 0").await.unwrap_err();
        assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("22012")));
        let error = service.query("SELECT 'x'::int").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "a value of the wrong type: {error:?}");
    }
    if place.engine == Engine::Sqlite {
        let error = service.query("SELECT abs(-9223372036854775807 - 1)").await.unwrap_err();
        assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("1")));
        let error = service.query("WITH x AS (SELECT 1) DELETE FROM orders").await.unwrap_err();
        assert!(error.message().contains("only reads"), "{error}");
    }
    // A failed statement leaves the session as good as new.
    assert_eq!(service.query("SELECT count(*) AS n FROM orders").await.unwrap()["rows"], json!([{ "n": 3 }]));
}

/// Columns are called what the statement calls them, with the names of its parameters.
#[tokio::test]
async fn columns_of_sqlite_are_called_as_they_are_written() {
    let place = Place::make(Engine::Sqlite).await;
    let service = place.open(json!({}));
    let sql = "SELECT :b, :a + 1, :a AS \"?1\", replace('x', 'x', 'y') AS z";
    let arguments = json!({ "sql": sql, "params": { "a": 1, "b": "two" } });
    let answer = service.call("query", arguments).await.unwrap();
    assert_eq!(answer["rows"], json!([{ ":b": "two", ":a + 1": 2, "?1": 1, "z": "y" }]));
    assert_eq!(
        (&answer["columns"][0]["name"], &answer["columns"][1]["name"]),
        (&json!(":b"), &json!(":a + 1"))
    );
}

async fn takes_parameters_of_every_type(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({}));
    let sql = "SELECT id FROM orders WHERE id = :id AND customer = :customer AND total > :total AND customer = :customer";
    let params = json!({ "id": 1, "customer": "ann", "total": 10.25 });
    let answer = service.call("query", json!({ "sql": sql, "params": params })).await.unwrap();
    assert_eq!(answer["rows"], json!([{ "id": 1 }]));
    let sql = "SELECT id FROM orders WHERE :status IS NULL OR status = :status ORDER BY id";
    let sql = if place.engine == Engine::Postgres {
        sql.replace(":status IS", ":status::text IS")
    } else {
        sql.to_owned()
    };
    let answer = service.call("query", json!({ "sql": sql, "params": { "status": null } })).await.unwrap();
    assert_eq!(answer["rows"].as_array().unwrap().len(), 3);
    let answer = service
        .call("query", json!({ "sql": "SELECT id FROM orders ORDER BY id", "maxRows": 2 }))
        .await
        .unwrap();
    assert_eq!((answer["rows"].as_array().unwrap().len(), &answer["truncated"]), (2, &json!(true)));
}

async fn reads_only_but_executes_where_allowed(place: Place) {
    place.run(ORDERS).await;
    let service = place.open(json!({ "read_only": false, "operations": ["execute", "count"] }));
    let sql = "UPDATE orders SET status = :status WHERE customer = :customer";
    let params = json!({ "status": "sent", "customer": "ann" });
    let answer = service.call("execute", json!({ "sql": sql, "params": params })).await.unwrap();
    assert_eq!(answer, json!({ "affected": 2 }));
    assert_eq!(place.number("SELECT count(*) FROM orders WHERE status = 'sent'").await, 2);
    service.call("execute", json!({ "sql": "CREATE TABLE made (id INTEGER PRIMARY KEY)" })).await.unwrap();
    assert_eq!(
        service.call("made_count", json!({})).await.unwrap(),
        json!({ "count": 0 }),
        "its tools are there at once"
    );
    service.call("execute", json!({ "sql": "ALTER TABLE made ADD COLUMN size INTEGER" })).await.unwrap();
    let sized = json!({ "where": { "size": 1 } });
    assert_eq!(service.call("made_count", sized).await.unwrap(), json!({ "count": 0 }));
    for sql in [
        "SELECT 1",
        "DELETE FROM orders; DELETE FROM made",
        "ATTACH '/tmp/other.db' AS other",
        "PRAGMA writable_schema = 1",
        "VACUUM",
        "SET x = 1",
        "COPY orders TO PROGRAM 'true'",
        "DO $$ BEGIN END $$",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE orders",
        "GRANT ALL ON orders TO public",
        "COMMIT",
        "KILL 1",
    ] {
        let error = service.error("execute", json!({ "sql": sql })).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{sql}: {error:?}");
    }
    // What reads still cannot write.
    assert!(service.query("WITH x AS (SELECT 1) DELETE FROM orders").await.is_err());
    assert_eq!(place.number("SELECT count(*) FROM orders").await, 3);
    let error =
        service.error("execute", json!({ "sql": "INSERT INTO orders VALUES (1, 'x', NULL, 0)" })).await;
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("conflict")));
}
