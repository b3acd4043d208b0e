//! Sessions: statements end on the server, dead connections are replaced, callers wait in order, nothing leaks.

use super::support::{Engine, ORDERS, Place, eventually};
use crate::on_every_engine;
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::certificates::Authority;
use testkit::conformance::context;
use testkit::tcp_proxy::TcpProxy;
use tokio::task::JoinSet;
use tool::ErrorKind;

on_every_engine! {
    a_cancelled_call_ends_its_statement
    a_late_call_ends_its_statement
    a_dropped_call_ends_its_statement
    statements_have_a_time_limit
    callers_wait_for_a_session_in_order
    changed_settings_leave_no_connection_behind
}

/// A statement that takes about half a minute.
fn slow(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000000) SELECT count(*) AS n FROM n"
        }
        Engine::Postgres => "SELECT 1 AS n, pg_sleep(30)",
        Engine::Mariadb => "SELECT SLEEP(30) AS n",
    }
}

fn brief(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) SELECT count(*) AS n FROM n"
        }
        Engine::Postgres => "SELECT 1 AS n, pg_sleep(0.05)",
        Engine::Mariadb => "SELECT SLEEP(0.05) AS n",
    }
}

async fn assert_idle(place: &Place) {
    eventually("the end of the statement on the server", || async { place.running().await == 0 }).await;
}

/// DB-5
async fn a_cancelled_call_ends_its_statement(place: Place) {
    let service = place.open(json!({ "statement_timeout_ms": 60_000 }));
    service.query("SELECT 1").await.unwrap();
    let cx = context(Duration::from_secs(60));
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        if place.engine != Engine::Sqlite {
            assert_eq!(place.running().await, 1);
        }
        cx.cancel.cancel();
        Instant::now()
    };
    let sql = json!({ "sql": slow(place.engine) });
    let (result, at) = tokio::join!(service.call_as(&cx, "query", sql), cancel);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(at.elapsed() < Duration::from_secs(1));
    assert_idle(&place).await;
    assert_eq!(service.query("SELECT 1 AS n").await.unwrap()["rows"][0]["n"], 1);
}

/// DB-5
async fn a_late_call_ends_its_statement(place: Place) {
    let service = place.open(json!({ "statement_timeout_ms": 60_000 }));
    service.query("SELECT 1").await.unwrap();
    let cx = context(Duration::from_millis(400));
    let error = service.call_as(&cx, "query", json!({ "sql": slow(place.engine) })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_idle(&place).await;
}

/// DB-5
async fn a_dropped_call_ends_its_statement(place: Place) {
    let service = place.open(json!({ "statement_timeout_ms": 60_000 }));
    service.query("SELECT 1").await.unwrap();
    let call = service.query(slow(place.engine));
    assert!(tokio::time::timeout(Duration::from_millis(400), call).await.is_err());
    assert_idle(&place).await;
}

async fn statements_have_a_time_limit(place: Place) {
    let service = place.open(json!({ "statement_timeout_ms": 300 }));
    service.query("SELECT 1").await.unwrap();
    let begin = Instant::now();
    let error = service.query(slow(place.engine)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert_idle(&place).await;
}

/// F26: five hundred callers and ten sessions. They are served in their order, those without time do not wait for ever, and
/// another service of the same database does not notice.
async fn callers_wait_for_a_session_in_order(place: Place) {
    let service = place.open(json!({ "pool_size": 10, "circuit_breaker": { "failures": 0 } }));
    service.query("SELECT 1").await.unwrap();
    let begin = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..500 {
        let service = service.clone();
        let sql = json!({ "sql": brief(place.engine) });
        calls.spawn(async move {
            let cx = context(Duration::from_secs(50));
            service.call_as(&cx, "query", sql).await.map(|_| (number, Instant::now()))
        });
        // So that they come in their order.
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    // Those who have no time do not wait for ever; SQLite may have some for them.
    let cx = context(Duration::from_millis(100));
    let late = service.call_as(&cx, "query", json!({ "sql": "SELECT 1" })).await;
    let is_late = late.is_err_and(|error| error.kind() == ErrorKind::Timeout);
    assert!(is_late || place.engine == Engine::Sqlite);
    assert!(place.sessions().await <= 10);
    let other = place.open(json!({ "pool_size": 1 }));
    let cx = context(Duration::from_secs(10));
    other.call_as(&cx, "query", json!({ "sql": "SELECT 1" })).await.unwrap();
    drop(other);
    let mut ends = Vec::new();
    while let Some(done) = calls.join_next().await {
        ends.push(done.unwrap().unwrap());
    }
    let average = |part: &[(i32, Instant)]| {
        part.iter().map(|(_, at)| at.duration_since(begin).as_secs_f64()).sum::<f64>() / part.len() as f64
    };
    ends.sort_by_key(|(number, _)| *number);
    assert!(average(&ends[..100]) < average(&ends[400..]), "first come, first served");
    assert!(place.sessions().await <= 10);
}

/// F28: the call under way ends on the old settings, and no session is left behind.
async fn changed_settings_leave_no_connection_behind(place: Place) {
    place.run(ORDERS).await;
    let before = place.open(json!({ "statement_timeout_ms": 60_000 }));
    before.call("orders_count", json!({})).await.unwrap();
    let running = {
        let (service, sql) = (before.clone(), brief(place.engine));
        tokio::spawn(async move { service.query(sql).await })
    };
    tokio::time::sleep(Duration::from_millis(10)).await;
    // What the gateway does when settings change: the new service takes over, the old one goes with its last call.
    let after = place.open(json!({ "max_rows": 2 }));
    drop(before);
    running.await.unwrap().unwrap();
    assert_eq!(after.call("orders_list", json!({})).await.unwrap()["truncated"], true);
    if place.engine != Engine::Sqlite {
        eventually("only the new service's session", || async { place.sessions().await == 1 }).await;
        drop(after);
        eventually("no session", || async { place.sessions().await == 0 }).await;
    }
}

async fn end_sessions(place: &Place) {
    match place.engine {
        Engine::Postgres => {
            let sql = format!(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{}'",
                place.name()
            );
            place.number(&sql).await;
        }
        _ => place.administer(&format!("KILL USER '{}'@'127.0.0.1'", place.name())).await,
    }
}

/// F24, DB-5
#[tokio::test]
async fn sessions_that_the_server_ended_are_replaced() {
    for engine in [Engine::Postgres, Engine::Mariadb] {
        let place = Place::make(engine).await;
        place.run(ORDERS).await;
        let service =
            place.open(json!({ "read_only": false, "operations": ["take", "modify"], "pool_size": 4 }));
        let mut calls = JoinSet::new();
        for _ in 0..4 {
            let service = service.clone();
            calls.spawn(async move { service.query(brief(engine)).await.unwrap() });
        }
        while calls.join_next().await.is_some() {}
        service.call("orders_modify", json!({ "id": 1, "status": "a" })).await.unwrap();
        end_sessions(&place).await;
        // Each of the dead ones is met, and none of them by a caller.
        for _ in 0..6 {
            service.call("orders_take", json!({ "id": 1 })).await.unwrap();
            service.query("SELECT 1").await.unwrap();
            service.call("orders_modify", json!({ "id": 1, "status": "b" })).await.unwrap();
        }
    }
}

/// F24, DB-7: what PostgreSQL says on a standby (25006) is handed on. Here the role's setting says it, for the server is shared; other
/// than on a standby a session could override that, and ours does not.
#[tokio::test]
async fn writes_after_a_failover_to_read_only_say_so() {
    let place = Place::make(Engine::Postgres).await;
    place.run(ORDERS).await;
    let service = place.open(json!({ "read_only": false, "operations": ["modify", "take"] }));
    service.call("orders_modify", json!({ "id": 1, "status": "a" })).await.unwrap();
    place.administer(&format!("ALTER ROLE {} SET default_transaction_read_only = on", place.name())).await;
    end_sessions(&place).await;
    let error = service.error("orders_modify", json!({ "id": 1, "status": "b" })).await;
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("25006")), "{error:?}");
    assert_eq!(service.call("orders_take", json!({ "id": 1 })).await.unwrap()["status"], "a");
}

#[tokio::test]
async fn a_server_that_hangs_is_left_alone() {
    for engine in [Engine::Postgres, Engine::Mariadb] {
        let place = Place::make(engine).await;
        let proxy = TcpProxy::start(place.host()).await;
        let through = place.connection_string().replace(place.host(), &proxy.address().to_string());
        let service = place.open(json!({
            "connection_string": through, "statement_timeout_ms": 200, "circuit_breaker": { "failures": 1, "open_ms": 60_000 },
        }));
        service.query("SELECT 1").await.unwrap();
        proxy.stall();
        let error = service.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
        let error = service.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CircuitOpen, "{error:?}");
    }
}

/// DB-5
#[tokio::test]
async fn a_write_whose_answer_is_lost_may_have_happened() {
    for engine in [Engine::Postgres, Engine::Mariadb] {
        let place = Place::make(engine).await;
        place.run("CREATE TABLE slow (id INTEGER PRIMARY KEY, n INTEGER)").await;
        place.run("INSERT INTO slow VALUES (1, 0)").await;
        let proxy = TcpProxy::start(place.host()).await;
        let through = place.connection_string().replace(place.host(), &proxy.address().to_string());
        let service = place
            .open(json!({ "connection_string": through, "read_only": false, "operations": ["execute"] }));
        service.query("SELECT 1").await.unwrap();
        let sleep = if engine == Engine::Postgres { "pg_sleep(2) IS NULL" } else { "SLEEP(2) IS NULL" };
        let sql = format!("UPDATE slow SET n = n + 1 WHERE id = 1 AND NOT {sleep}");
        let cut = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            proxy.cut();
        };
        let (result, ()) = tokio::join!(service.call("execute", json!({ "sql": sql })), cut);
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(error.message().contains("may have happened") && !error.is_retryable(), "{error:?}");
    }
}

/// F27
#[tokio::test]
async fn only_addresses_that_are_allowed_are_connected_to() {
    for engine in [Engine::Postgres, Engine::Mariadb] {
        let place = Place::make(engine).await;
        let port = place.host().rsplit_once(':').unwrap().1;
        for (host, allowed) in
            [("127.0.0.1", json!(false)), ("localhost", json!(["10.0.0.0/8"])), ("2130706433", json!(false))]
        {
            let through = place.connection_string().replace(place.host(), &format!("{host}:{port}"));
            let service =
                place.open(json!({ "connection_string": through, "allow_private_network": allowed }));
            let error = service.query("SELECT 1").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{host}: {error:?}");
            assert!(error.message().contains("allow_private_network"), "{error}");
        }
        assert_eq!(place.sessions().await, 0);
    }
}

#[tokio::test]
async fn sign_ins_that_are_refused_name_the_setting() {
    for engine in [Engine::Postgres, Engine::Mariadb] {
        let place = Place::make(engine).await;
        let string = place.connection_string();
        // The PostgreSQL of tests trusts everybody, so that only names can be wrong there.
        let wrong = match engine {
            Engine::Postgres => string.replacen(place.name(), "nobody_at_all", 1),
            _ => string.replace("s3cr3t", "wr0ng"),
        };
        let service = place.open(json!({ "connection_string": wrong }));
        let error = service.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
        assert!(
            error.message().contains("connection_string") && !error.message().contains("wr0ng"),
            "{error}"
        );
        assert!(service.0.health(&context(Duration::from_secs(9))).await.is_err());
    }
}

#[tokio::test]
async fn servers_are_known_by_their_certificates() {
    let place = Place::make(Engine::Mariadb).await;
    let ca = std::fs::read_to_string(std::env::var("MCP_TEST_MARIADB_CA").unwrap()).unwrap();
    let service = place.open(json!({ "tls": { "ca": ca } }));
    service.query("SELECT 1").await.unwrap();
    let service = place.open(json!({ "tls": { "ca": ca, "server_name": "localhost" } }));
    service.query("SELECT 1").await.unwrap();
    for tls in [json!({ "ca": ca, "server_name": "db.example" }), json!({ "ca": Authority::new().pem() })] {
        let service = place.open(json!({ "tls": tls }));
        let error = service.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(error.message().contains("'tls'"), "{error}");
    }
    for (tls, path) in [
        (json!({ "ca": "no pem" }), "tls.ca"),
        (json!({ "key": "no pem" }), "tls.certificate"),
        (json!({ "certificate": ca }), "tls.key"),
    ] {
        let error = place.try_open(json!({ "tls": tls })).err().unwrap();
        assert!(error.problems().iter().any(|problem| problem.path == path), "{error:?}");
    }
}

#[tokio::test]
async fn superusers_send_no_sql_unless_that_is_allowed() {
    let place = Place::make(Engine::Postgres).await;
    place.administer(&format!("ALTER ROLE {} SUPERUSER", place.name())).await;
    let writing = json!({ "read_only": false, "operations": ["execute"] });
    assert_eq!(place.open(writing).names().await, ["describe", "tables"]);
    assert!(place.open(json!({ "allow_superuser": true })).names().await.contains(&"query".to_owned()));
    let place = Place::make(Engine::Mariadb).await;
    assert!(place.open(json!({})).names().await.contains(&"query".to_owned()));
    place.administer(&format!("GRANT FILE ON *.* TO '{}'@'127.0.0.1'", place.name())).await;
    assert_eq!(place.open(json!({})).names().await, ["describe", "tables"]);
}

/// A pool that is busy says nothing about the database. DB-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_session_opens_no_breaker() {
    let place = Place::make(Engine::Postgres).await;
    let service =
        place.open(json!({ "pool_size": 1, "timeout_ms": 1000, "circuit_breaker": { "failures": 6 } }));
    service.query("SELECT 1").await.unwrap();
    let mut calls = JoinSet::new();
    for number in 0..6 {
        let service = service.clone();
        calls.spawn(async move {
            // The first one holds the session.
            tokio::time::sleep(Duration::from_millis(if number == 0 { 0 } else { 50 })).await;
            service.query("SELECT pg_sleep(30)").await.unwrap_err()
        });
    }
    let errors = calls.join_all().await;
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Timeout), "{errors:?}");
    // Some may get the session in their last moment.
    let waited = errors.iter().filter(|error| error.message().contains("pool_size")).count();
    assert!(waited >= 1, "{errors:?}");
    assert_eq!(service.query("SELECT 1 AS n").await.unwrap()["rows"][0]["n"], 1);
}

/// Whoever stands in for the server gets no password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sends_no_password_in_clear_text() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for encryption in ["prefer", "disable"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut heard = vec![0; 4096];
            if encryption == "prefer" {
                assert_eq!(socket.read(&mut heard).await.unwrap(), 8);
                socket.write_all(b"N").await.unwrap();
            }
            let _ = socket.read(&mut heard).await.unwrap();
            socket.write_all(b"R\0\0\0\x08\0\0\0\x03").await.unwrap();
            let mut rest = Vec::new();
            socket.read_to_end(&mut rest).await.unwrap();
            rest
        });
        let settings = json!({
            "db_type": "postgresql", "connection_string": format!("postgres://u:s3cr3t@{address}/d?sslmode={encryption}"),
            "allow_private_network": true, "retry": { "max_attempts": 1 },
        });
        let kind = connectors::find("db").unwrap();
        let service = super::support::Service(kind.open(settings, &tool::Env::default()).unwrap());
        let error = service.error("tables", json!({})).await;
        assert!(error.message().contains("clear text"), "{error:?}");
        assert_eq!(heard.await.unwrap(), b"", "{encryption}");
    }
}

/// DB-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shows_nobody_how_users_of_mariadb_sign_in() {
    let place = Place::make(Engine::Mariadb).await;
    let service = place.open(json!({}));
    for sql in ["SHOW GRANTS", "show /* all */ grants for CURRENT_USER", "SHOW CREATE USER CURRENT_USER"] {
        let error = service.query(sql).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{sql}: {error:?}");
        assert!(!error.message().contains('*'), "{error}");
    }
    service.query("SHOW TABLES").await.unwrap();
}
