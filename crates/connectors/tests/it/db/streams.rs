//! Streams meet every row once and end, whatever the columns that order them hold.

use super::support::{Engine, Place, Service};
use serde_json::{Value, json};
use tool::ErrorKind;

/// All rows of a stream, two at a time; it must end.
async fn all(service: &Service, tool: &str, order: &Value) -> Vec<Value> {
    let (mut rows, mut after) = (Vec::new(), Value::Null);
    for _ in 0..50 {
        let answer =
            service.call(tool, json!({ "orderBy": order, "limit": 2, "after": after })).await.unwrap();
        rows.extend(answer["rows"].as_array().unwrap().iter().cloned());
        after = answer["after"].clone();
        if after.is_null() {
            return rows;
        }
    }
    panic!("the stream of {tool} does not end: {rows:?}");
}

async fn open(engine: Engine, sql: &str) -> (Place, Service) {
    let place = Place::make(engine).await;
    place.run(sql).await;
    let service = place.open(json!({ "operations": ["list", "stream", "count"] }));
    (place, service)
}

fn ids(rows: &[Value]) -> Vec<i64> {
    rows.iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

/// DB-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_mariadb() {
    let (_place, service) = open(
        Engine::Mariadb,
        "CREATE TABLE t (id INT PRIMARY KEY, price FLOAT NOT NULL, size DOUBLE NOT NULL, kind ENUM('z', 'a', 'm') NOT NULL, day DATE NOT NULL); \
         INSERT INTO t VALUES (1, 0.1, 0.1, 'z', '2024-01-01'), (2, 0.2, 1e-300, 'a', '2024-01-02'), (3, 0.3, 0.30000000000000004, 'm', '2024-01-03'), \
         (4, 0.1, 123456789.123456789, 'z', '2024-01-04'), (5, 3.4e38, 1.7976931348623157e308, 'a', '2024-01-05'); \
         SET sql_mode = ''; UPDATE t SET day = '2024-00-10' WHERE id = 2; UPDATE t SET day = '0000-00-00' WHERE id = 3",
    )
    .await;
    assert_eq!(ids(&all(&service, "t_stream", &json!(["price"])).await), [1, 4, 2, 3, 5]);
    assert_eq!(ids(&all(&service, "t_stream", &json!(["size desc"])).await), [5, 4, 3, 1, 2]);
    let rows = all(&service, "t_stream", &json!(["day"])).await;
    assert_eq!(ids(&rows), [3, 2, 1, 4, 5]);
    assert_eq!((&rows[0]["day"], &rows[1]["day"]), (&json!("0000-00-00"), &json!("2024-00-10")));
    assert_eq!(service.call("t_count", json!({ "where": { "price": 0.1 } })).await.unwrap()["count"], 2);
    let error = service.error("t_stream", json!({ "orderBy": ["kind"] })).await;
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("'kind'"), "{error}");
}

/// DB-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_sqlite() {
    let (_place, service) = open(
        Engine::Sqlite,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, n INTEGER NOT NULL, loose NOT NULL); \
         INSERT INTO t VALUES (1, 'B', 1, 1), (2, 'a', 2.5, 'x'), (3, 'C', 9007199254740993, 0.5), (4, 'b', 2, 'y'), (5, 'A', -1, 7); \
         CREATE TABLE mixed (id TEXT PRIMARY KEY); INSERT INTO mixed VALUES ('a'), (x'00ff'), ('b'), (NULL), ('c')",
    )
    .await;
    assert_eq!(ids(&all(&service, "t_stream", &json!(["name"])).await), [2, 5, 1, 4, 3]);
    assert_eq!(ids(&all(&service, "t_stream", &json!(["n"])).await), [5, 1, 4, 2, 3]);
    assert_eq!(ids(&all(&service, "t_stream", &json!(["loose desc"])).await), [4, 2, 5, 1, 3]);
    let error = service.error("mixed_stream", json!({})).await;
    assert!(error.message().contains("'id'"), "{error}");
}

/// DB-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_postgresql() {
    let (_place, service) = open(
        Engine::Postgres,
        "CREATE TABLE t (id int PRIMARY KEY, f float8 NOT NULL, r real NOT NULL, n numeric NOT NULL, i inet NOT NULL, at timestamptz NOT NULL); \
         INSERT INTO t VALUES (1, 'NaN', 0.1, 'NaN', '10.0.0.2', 'infinity'), (2, 'Infinity', 0.2, 5, '9.0.0.1', '2024-01-01'), \
         (3, 0.1, 0.3, 1e30, '10.0.0.10', '-infinity'), (4, 0.30000000000000004, 'NaN', 'NaN', '10.0.0.1', '0044-03-15 BC'), (5, '-Infinity', 0.1, 0.1, '::1', '0001-01-01')",
    )
    .await;
    for (order, expected) in [
        ("f", [5, 3, 4, 2, 1]),
        ("r", [1, 5, 2, 3, 4]),
        ("n", [5, 2, 3, 1, 4]),
        ("i", [2, 4, 1, 3, 5]),
        ("at", [3, 4, 5, 2, 1]),
    ] {
        assert_eq!(ids(&all(&service, "t_stream", &json!([order])).await), expected, "{order}");
    }
}
