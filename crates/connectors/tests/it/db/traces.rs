//! Nothing that one caller's statement leaves in a session is met by the next.

use super::support::{Engine, ORDERS, Place};
use serde_json::{Value, json};

/// DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb_forgets_what_a_statement_left() {
    let place = Place::make(Engine::Mariadb).await;
    place.run(ORDERS).await;
    place.run("CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(99))").await;
    place.administer("SET GLOBAL log_bin_trust_function_creators = 1").await;
    place
        .run("CREATE FUNCTION leaves() RETURNS INT BEGIN SET @left = 7; RETURN GET_LOCK('left', 0); END")
        .await;
    let settings = json!({ "pool_size": 1, "read_only": false, "operations": ["list", "create", "execute"] });
    let service = place.open(settings);
    let rows = async |sql: &str| -> Value { service.query(sql).await.unwrap()["rows"].clone() };
    rows("SELECT leaves()").await;
    assert_eq!(rows("SELECT @left AS x, IS_USED_LOCK('left') AS y").await, json!([{ "x": null, "y": null }]));
    rows("SELECT LAST_INSERT_ID(5)").await;
    assert_eq!(rows("SELECT LAST_INSERT_ID() AS x").await[0]["x"], 0);
    rows("SELECT CAST('my secret' AS SIGNED)").await;
    assert_eq!(rows("SHOW WARNINGS").await, json!([]));
    service.call("notes_create", json!({ "text": "one" })).await.unwrap();
    let sql = "INSERT INTO notes (id, text) VALUES (100 + LAST_INSERT_ID(), 'two')";
    service.call("execute", json!({ "sql": sql })).await.unwrap();
    assert_eq!(place.number("SELECT CAST(MAX(id) AS SIGNED) FROM notes").await, 100);
    assert!(place.sessions().await <= 1);
}

/// A table that only its session sees would stand before the real one. DB-2
async fn temporary_tables_go_with_their_statement(engine: Engine) {
    let place = Place::make(engine).await;
    place.run(ORDERS).await;
    let service = place
        .open(json!({ "pool_size": 1, "read_only": false, "operations": ["create", "modify", "execute"] }));
    let sql = "CREATE TEMPORARY TABLE orders (id INTEGER PRIMARY KEY, customer VARCHAR(9))";
    let answer = service.call("execute", json!({ "sql": sql })).await.unwrap();
    assert_eq!(answer, json!({ "affected": 0 }));
    service.call("orders_create", json!({ "id": 9, "customer": "real" })).await.unwrap();
    assert_eq!(place.number("SELECT COUNT(*) FROM orders WHERE id = 9").await, 1);
    service.call("execute", json!({ "sql": "UPDATE orders SET status = 'x'" })).await.unwrap();
    let answer = service.call("execute", json!({ "sql": "CREATE TABLE more (id INTEGER)" })).await.unwrap();
    assert_eq!(answer, json!({ "affected": 0 }), "not what the statement before it touched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn temporary_tables_go_with_their_statement_on_sqlite() {
    temporary_tables_go_with_their_statement(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn temporary_tables_go_with_their_statement_on_mariadb() {
    temporary_tables_go_with_their_statement(Engine::Mariadb).await;
}
