//! Databases that are busy, take too long, or have come to only read.

use super::support::{Engine, ORDERS, Place};
use serde_json::json;
use sqlx::{Connection, Executor, SqliteConnection};
use std::time::Duration;
use tool::ErrorKind;

/// F24: a session for writing that meets a server that only reads is closed, so that the next call may find one that writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_only_reads_is_left_by_the_next_call() {
    let place = Place::make(Engine::Postgres).await;
    place.run(ORDERS).await;
    let database = place.name().to_owned();
    place.administer(&format!("ALTER DATABASE {database} SET default_transaction_read_only = on")).await;
    let service = place.open(json!({ "read_only": false, "operations": ["create"] }));
    let order = || json!({ "id": 9, "customer": "cy" });
    let error = service.error("orders_create", order()).await;
    assert_eq!(error.service_code(), Some("25006"), "{error:?}");
    let elsewhere =
        format!("BEGIN READ WRITE; ALTER DATABASE {database} RESET default_transaction_read_only; COMMIT");
    place.administer(&elsewhere).await;
    service.call("orders_create", order()).await.unwrap();
}

/// DB-5: who waits for others of the same file has the time of a statement, and is told that they had it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_waits_for_others_of_the_same_file() {
    let place = Place::make(Engine::Sqlite).await;
    place.run(ORDERS).await;
    let settings =
        |time: u64| json!({ "read_only": false, "operations": ["create"], "statement_timeout_ms": time });
    let (brief, patient) = (place.open(settings(200)), place.open(settings(20_000)));
    let mut other =
        SqliteConnection::connect(&format!("sqlite://{}", place.connection_string())).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let order = || json!({ "id": 9, "customer": "cy" });
    let error = brief.error("orders_create", order()).await;
    assert!(error.is_retryable() && error.message().contains("'statement_timeout_ms'"), "{error:?}");
    assert_eq!(error.service_code(), Some("5"), "{error:?}");
    let (created, ()) = tokio::join!(patient.call("orders_create", order()), async {
        // Longer than the five seconds that once were all there was.
        tokio::time::sleep(Duration::from_secs(6)).await;
        other.execute("ROLLBACK").await.unwrap();
    });
    created.unwrap();
}

/// DB-5: MariaDB answers as if it were done with a function that it has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_that_was_ended_is_not_done() {
    let place = Place::make(Engine::Mariadb).await;
    let service = place.open(json!({ "statement_timeout_ms": 300 }));
    let sql = "SELECT benchmark(1000000000, md5('x')) AS n";
    assert_eq!(service.query(sql).await.unwrap_err().kind(), ErrorKind::Timeout);
}
