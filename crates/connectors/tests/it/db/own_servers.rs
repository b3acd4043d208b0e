//! What can only be tried on a server of one's own: a failover to read-only, and PostgreSQL behind TLS.

use super::own_server::OwnServer;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection};
use std::sync::Arc;
use std::time::Duration;
use testkit::certificates::Authority;
use testkit::conformance::{bind_and_call, call, context};
use tool::{Connector, Env, ErrorKind, Outcome};

fn open(settings: Value) -> Arc<dyn Connector> {
    connectors::find("db").unwrap().open(settings, &Env::default()).unwrap()
}

async fn run(service: &Arc<dyn Connector>, tool: &str, arguments: &Value) -> tool::Result<Value> {
    let arguments = arguments.as_object().unwrap().clone();
    match bind_and_call(&**service, &context(Duration::from_secs(30)), call(tool, arguments)).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("the call must be done, not {other:?}"),
    }
}

/// F24, DB-7: MariaDB becomes a replica that nobody may write to, and ends our sessions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_after_a_failover_of_mariadb_say_so() {
    let server = OwnServer::mariadb().await;
    let mut root =
        MySqlConnection::connect(&format!("{}/mysql?ssl-mode=REQUIRED", server.url)).await.unwrap();
    let mut administer = async |sql: &str| {
        root.execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))).await.unwrap();
    };
    administer("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(9))")
        .await;
    administer("INSERT INTO shop.orders VALUES (1, 'a')").await;
    administer("CREATE USER ann@'127.0.0.1' IDENTIFIED BY 's3cr3t'; GRANT ALL ON shop.* TO ann@'127.0.0.1'")
        .await;
    let host = server.url.rsplit_once('@').unwrap().1;
    let service = open(json!({
        "db_type": "mysql", "connection_string": format!("mysql://ann:s3cr3t@{host}/shop"), "allow_private_network": true,
        "read_only": false, "operations": ["modify", "take"],
    }));
    let write = json!({ "id": 1, "status": "b" });
    run(&service, "orders_modify", &write).await.unwrap();
    administer("SET GLOBAL read_only = 1; KILL USER ann@'127.0.0.1'").await;
    let error = run(&service, "orders_modify", &json!({ "id": 1, "status": "c" })).await.unwrap_err();
    assert_eq!((error.kind(), error.service_code()), (ErrorKind::Upstream, Some("HY000")), "{error:?}");
    assert!(error.message().contains("read-only"), "{error}");
    assert_eq!(run(&service, "orders_take", &json!({ "id": 1 })).await.unwrap()["status"], "b");
    administer("SET GLOBAL read_only = 0").await;
    run(&service, "orders_modify", &json!({ "id": 1, "status": "c" })).await.unwrap();
}

/// Writes a file into the server's folder, as the server's user and for it alone.
async fn write_file(root: &mut PgConnection, name: &str, text: &str) {
    let lines: Vec<_> = text.lines().map(|line| format!("('{line}')")).collect();
    let sql = format!("COPY (VALUES {}) TO PROGRAM 'umask 077; cat > {name}'", lines.join(", "));
    root.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
}

/// A PostgreSQL that speaks TLS, asks `pass` for a password and `cert` for a certificate.
async fn behind_tls(authority: &Authority) -> OwnServer {
    let server = OwnServer::postgres().await;
    let mut root = PgConnection::connect(&server.url).await.unwrap();
    let identity = authority.identity("127.0.0.1");
    for (name, text) in [
        ("server.crt", identity.certificate.as_str()),
        ("server.key", identity.key.as_str()),
        ("root.crt", authority.pem().as_str()),
        (
            "pg_hba.conf",
            "hostssl all pass 127.0.0.1/32 scram-sha-256\nhostssl all cert 127.0.0.1/32 cert\n\
             host all postgres 127.0.0.1/32 trust",
        ),
    ] {
        write_file(&mut root, name, text).await;
    }
    for sql in [
        "CREATE ROLE pass LOGIN PASSWORD 's3cr3t'",
        "CREATE ROLE cert LOGIN",
        "ALTER SYSTEM SET ssl_ca_file = 'root.crt'",
        "ALTER SYSTEM SET ssl = on",
        "SELECT pg_reload_conf()",
    ] {
        root.execute(sql).await.unwrap();
    }
    server
}

const IS_ENCRYPTED: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

/// DB-1, DB-8: PostgreSQL over TLS, known by its certificate, with a password and with a certificate of ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_is_known_by_its_certificate_and_knows_us_by_ours() {
    let authority = Authority::new();
    let server = behind_tls(&authority).await;
    let host = server.url.rsplit_once('@').unwrap().1.to_owned();
    let as_user = |user: &str, tls: Value| {
        open(json!({
            "db_type": "postgresql", "connection_string": format!("postgres://{user}@{host}"),
            "allow_private_network": true, "tls": tls, "retry": { "max_attempts": 1 },
        }))
    };
    let ask =
        async |service: Arc<dyn Connector>| run(&service, "query", &json!({ "sql": IS_ENCRYPTED })).await;
    let trusting = json!({ "ca": authority.pem() });
    let ours = authority.identity("cert");
    let showing = json!({ "ca": authority.pem(), "certificate": ours.certificate, "key": ours.key });
    // The server reads its settings anew a moment later.
    testkit::eventually("it speaks TLS", Duration::from_secs(20), async || {
        ask(as_user("pass:s3cr3t", trusting.clone())).await.is_ok()
    })
    .await;
    for service in [as_user("pass:s3cr3t", trusting.clone()), as_user("cert", showing.clone())] {
        assert_eq!(ask(service).await.unwrap()["rows"], json!([{ "ssl": true }]));
    }
    let wrong = ask(as_user("pass:wr0ng", trusting.clone())).await.unwrap_err();
    assert_eq!((wrong.kind(), wrong.service_code()), (ErrorKind::Upstream, Some("28P01")), "{wrong:?}");
    assert!(wrong.message().contains("connection_string") && !wrong.message().contains("wr0ng"), "{wrong}");
    let nobody = ask(as_user("cert", trusting)).await.unwrap_err();
    assert_eq!((nobody.kind(), nobody.service_code()), (ErrorKind::Upstream, Some("28000")), "{nobody:?}");
    let other = ask(as_user("pass:s3cr3t", json!({ "ca": Authority::new().pem() }))).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Unavailable, "{other:?}");
    assert!(other.message().contains("'tls'"), "{other}");
    let stranger = Authority::new().identity("cert");
    let forged = json!({ "ca": authority.pem(), "certificate": stranger.certificate, "key": stranger.key });
    ask(as_user("cert", forged)).await.unwrap_err();
}
