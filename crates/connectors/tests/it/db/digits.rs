//! Values that keep what they say: digits of numbers, offsets of times, what has no number in JSON.

use super::support::{Engine, Place};
use crate::on_every_engine;
use serde_json::{Value, json};
use std::time::Duration;
use tool::ErrorKind;

on_every_engine! {
    keeps_the_digits_that_numbers_are_written_with
    takes_back_what_it_has_shown
}

const LONG: &str = "12345678901234567890.123456789";

/// Requirement DB-3: a number is stored as it is written, or refused by its name.
async fn keeps_the_digits_that_numbers_are_written_with(place: Place) {
    let table = match place.engine {
        Engine::Postgres => "id INT PRIMARY KEY, n NUMERIC, d DOUBLE PRECISION, j JSON, b JSONB, l NUMERIC[]",
        Engine::Mariadb => "id INT PRIMARY KEY, n DECIMAL(50, 25), d DOUBLE, j LONGTEXT",
        Engine::Sqlite => "id INTEGER PRIMARY KEY, n DECIMAL(50, 25), d REAL, j JSON",
    };
    place.run(&format!("CREATE TABLE samples ({table})")).await;
    let operations = json!(["take", "list", "create", "modify", "bulk"]);
    let service = place.open(json!({ "read_only": false, "operations": operations }));
    // A column that is a float has the float.
    service.text("samples_create", r#"{"id":1,"d":0.1234567890123456789}"#).await.unwrap();
    let found = service.call("samples_list", json!({ "where": { "d": 0.123_456_789_012_345_68 } })).await;
    assert_eq!(found.unwrap()["rows"][0]["d"], 0.123_456_789_012_345_68);
    let written = service.text("samples_modify", &format!(r#"{{"id":1,"n":{LONG}}}"#)).await;
    let params = format!(r#"{{"sql":"SELECT id FROM samples WHERE n = :n","params":{{"n":{LONG}}}}}"#);
    if place.engine == Engine::Sqlite {
        let error = written.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("n")), "{error}");
        let error = service.error("samples_create", json!({ "id": 2, "n": LONG })).await;
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("n")), "{error}");
        service
            .text("samples_create", r#"{"id":3,"n":1.50,"j":{"a":12345678901234567890123,"b":1.10}}"#)
            .await
            .unwrap();
        let told = service.text("samples_take", r#"{"id":3}"#).await.unwrap();
        assert!(
            told.contains(r#""n":1.5,"#) && told.contains(r#"{\"a\":12345678901234567890123,\"b\":1.10}"#),
            "{told}"
        );
    } else {
        assert!(written.unwrap().contains(&format!("\"n\":\"{LONG}")));
        let list = format!(r#"{{"where":{{"n":{LONG}}},"fields":["id"]}}"#);
        assert_eq!(
            service.text("samples_list", &list).await.unwrap(),
            r#"{"rows":[{"id":1}],"truncated":false}"#
        );
        let other = list.replace(".123456789", ".123456788");
        assert_eq!(service.text("samples_list", &other).await.unwrap(), r#"{"rows":[],"truncated":false}"#);
        let bulk = format!(r#"{{"create":[{{"id":5,"n":{LONG}}}]}}"#);
        assert_eq!(service.text("samples_bulk", &bulk).await.unwrap(), r#"{"done":1,"failed":[]}"#);
    }
    if place.engine == Engine::Postgres {
        assert!(service.text("query", &params).await.unwrap().contains(r#""rows":[{"id":1},{"id":5}]"#));
        let lists = format!(
            r#"{{"id":6,"l":[{LONG},0.10],"j":{{"b":1.10,"a":[{LONG}]}},"b":{{"a":12345678901234567890123}}}}"#
        );
        let told = service.text("samples_create", &lists).await.unwrap();
        assert!(told.contains(&format!(r#""l":["{LONG}","0.10"]"#)), "{told}");
        assert!(told.contains(&format!(r#""j":{{"b":1.10,"a":[{LONG}]}}"#)), "{told}");
        assert!(told.contains(r#""b":{"a": 12345678901234567890123}"#), "{told}");
    } else {
        let error = service.text("query", &params).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("params")), "{error}");
    }
    if place.engine == Engine::Mariadb {
        let too_long = format!(r#"{{"id":7,"n":1{}.5}}"#, "0".repeat(36));
        let error = service.text("samples_create", &too_long).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("n")), "{error}");
    }
}

/// Requirement DB-3: what an answer shows is taken as an argument.
async fn takes_back_what_it_has_shown(place: Place) {
    place.run("CREATE TABLE samples (id INT PRIMARY KEY, flag BOOLEAN, ratio DOUBLE PRECISION)").await;
    let operations = json!(["take", "list", "create", "modify"]);
    let service = place.open(json!({ "read_only": false, "operations": operations }));
    let mut row =
        service.call("samples_create", json!({ "id": 1, "flag": true, "ratio": 0.5 })).await.unwrap();
    if place.engine == Engine::Postgres {
        row = service.call("samples_modify", json!({ "id": 1, "ratio": "-Infinity" })).await.unwrap();
        assert_eq!(row["ratio"], "-Infinity");
    }
    assert_eq!(service.call("samples_modify", row.clone()).await.unwrap(), row);
    let found = service.call("samples_list", json!({ "where": row })).await.unwrap();
    assert_eq!(found["rows"], json!([row]));
    let schema = service.field("samples_create", "inputSchema").await;
    for (name, value) in row.as_object().unwrap() {
        let property = json!({ "type": "object", "properties": { name: schema["properties"][name] } });
        let property = tool::schema::Schema::compile(&property, "Parameter").unwrap();
        assert!(property.check(&json!({ name: value })).is_empty(), "{name} {value}");
    }
}

/// Requirement DB-3: a time with an offset is the same moment in a column without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_moments_where_times_have_no_zone() {
    let place = Place::make(Engine::Postgres).await;
    place
        .run("CREATE TABLE samples (id INT PRIMARY KEY, at TIMESTAMP, zoned TIMESTAMPTZ, many TIMESTAMP[])")
        .await;
    let operations = json!(["take", "list", "create", "modify"]);
    let service = place.open(json!({ "read_only": false, "operations": operations }));
    let (given, expected) = ("2024-02-29T12:34:56+05:30", "2024-02-29T07:04:56Z");
    let row = json!({ "id": 1, "at": given, "zoned": given, "many": [given, "2024-02-29 12:34:56"] });
    let made = service.call("samples_create", row).await.unwrap();
    assert_eq!((&made["at"], &made["zoned"]), (&json!(expected), &json!(expected)));
    assert_eq!(made["many"], json!([expected, "2024-02-29T12:34:56Z"]));
    for at in ["2024-02-29T12:34:56", "2024-02-29T12:34:56Z", "2024-02-29 14:34:56+02"] {
        let changed = service.call("samples_modify", json!({ "id": 1, "at": at })).await.unwrap();
        assert_eq!(changed["at"], "2024-02-29T12:34:56Z", "{at}");
    }
    let given = "2024-02-29T13:34:56+01:00";
    let found = service.call("samples_list", json!({ "where": { "at": given } })).await.unwrap();
    assert_eq!(found["rows"][0]["id"], 1);
    let sql = "SELECT id FROM samples WHERE at = :at AND :at = ANY (ARRAY[at])";
    let found = service.call("query", json!({ "sql": sql, "params": { "at": given } })).await.unwrap();
    assert_eq!(found["rows"][0]["id"], 1);
    let far =
        service.query("SELECT '294276-12-31 23:59:59Z'::timestamptz AS t, 'infinity'::timestamp AS i").await;
    assert_eq!(far.unwrap()["rows"][0], json!({ "t": "294276-12-31T23:59:59Z", "i": "infinity" }));
}

/// Numbers of catalogs have no sign, and what we cannot read is told by the text that PostgreSQL has for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_types_of_postgres_as_they_are() {
    let place = Place::make(Engine::Postgres).await;
    place.run("CREATE TABLE samples (id INT PRIMARY KEY, o OID, r INT4RANGE, rs INT4RANGE[], m MONEY)").await;
    place
        .run("INSERT INTO samples VALUES (1, 4294967295, '[1,10)', ARRAY['[1,2)'::int4range], 1234.56)")
        .await;
    let service = place.open(json!({}));
    let expected = json!({ "id": 1, "o": 4_294_967_295_u32, "r": "[1,10)", "rs": ["[1,2)"], "m": "1234.56" });
    assert_eq!(service.call("samples_take", json!({ "id": 1 })).await.unwrap(), expected);
    assert_eq!(service.query("SELECT * FROM samples").await.unwrap()["rows"][0], expected);
    let sql = "SELECT 3000000000::oid AS o, '08:00:2b:01:02:03'::macaddr AS m, B'101' AS b, '(1,2)'::point AS p, \
               row(1, 2) AS w, 'now'::regproc AS f, ARRAY['(1,2)'::point] AS ps";
    let found = service.query(sql).await.unwrap();
    let expected = json!({
        "o": 3_000_000_000_u32, "m": "08:00:2b:01:02:03", "b": "101", "p": "(1,2)", "w": "(1,2)", "f": "now",
        "ps": ["(1,2)"],
    });
    assert_eq!(found["rows"][0], expected);
    let refused = service.query("SELECT 1 / 0 AS n").await.unwrap_err();
    assert!(refused.message().contains("22012"), "{refused}");
}

/// Requirement DB-7: what a statement with RETURNING has done is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_rows_that_mariadb_returns() {
    let place = Place::make(Engine::Mariadb).await;
    place.run("CREATE TABLE samples (id INT PRIMARY KEY)").await;
    let service = place.open(json!({ "read_only": false, "operations": ["execute"] }));
    for (sql, expected) in [
        ("INSERT INTO samples VALUES (1), (2) RETURNING id", 2),
        ("UPDATE samples SET id = id + 10", 2),
        ("DELETE FROM samples WHERE id = 11 RETURNING id", 1),
    ] {
        let told: Value = service.call("execute", json!({ "sql": sql })).await.unwrap();
        assert_eq!(told["affected"], expected, "{sql}");
    }
}

/// Who waits for our own pool says nothing about the database, which goes on serving.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_in_front_of_the_pool_is_no_failure_of_the_database() {
    let place = Place::make(Engine::Postgres).await;
    let service = place.open(json!({
        "pool_size": 2, "timeout_ms": 3000, "circuit_breaker": { "failures": 3 },
        "tools": [{ "id": "slow", "sql": "SELECT 1 AS n FROM pg_sleep(1)" }],
    }));
    service.query("SELECT 1").await.unwrap();
    let callers = (0..40).map(|_| service.call("slow", json!({})));
    let ends = futures::future::join_all(callers).await;
    let errors: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
    assert!(errors.len() > 20, "{}", errors.len());
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(error.is_retryable() && error.message().contains("'pool_size'"), "{error}");
    }
    // What was given up has to be ended on the server first.
    tokio::time::sleep(Duration::from_secs(2)).await;
    service.call("slow", json!({})).await.unwrap();
}
