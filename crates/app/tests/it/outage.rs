//! The database gone: what is configured goes on, management says so, and nothing is lost.

use crate::setup::{PATIENCE, audited, crm};
use serde_json::json;
use sqlx::{AnyConnection, Connection as _, Executor as _};
use std::sync::Arc;
use std::time::Duration;
use testkit::tcp_proxy::TcpProxy;
use testkit::{Backend, Database, TestApp, eventually, http};
use tool::Secret;

/// What stands for the lost database.
enum Fault {
    Postgres(TcpProxy),
    Sqlite(Box<AnyConnection>),
}

impl Fault {
    async fn begin(&mut self) {
        match self {
            Self::Postgres(proxy) => proxy.cut(),
            Self::Sqlite(connection) => {
                connection.execute("BEGIN IMMEDIATE").await.unwrap();
            }
        }
    }

    async fn end(&mut self) {
        match self {
            Self::Postgres(proxy) => proxy.restore(),
            Self::Sqlite(connection) => {
                connection.execute("ROLLBACK").await.unwrap();
            }
        }
    }
}

async fn start(backend: Backend) -> (TestApp, Fault) {
    let database = Arc::new(Database::create(backend).await);
    match backend {
        Backend::Postgres => {
            let (proxy, url) = database.behind_proxy().await;
            let app =
                TestApp::start_on(&database, |settings| settings.database = Some(Secret::new(url))).await;
            (app, Fault::Postgres(proxy))
        }
        Backend::Sqlite => {
            let app = TestApp::start_on(&database, |_| {}).await;
            let connection = database.connect().await;
            (app, Fault::Sqlite(Box::new(connection)))
        }
    }
}

testkit::on_both_databases! {
    goes_on_without_its_database_and_loses_nothing
    keeps_the_audit_of_an_outage_through_a_restart
}

async fn goes_on_without_its_database_and_loses_nothing(backend: Backend) {
    let upstream = http::Server::start().await;
    let (app, mut fault) = start(backend).await;
    app.service(crm(&upstream)).await;
    app.call("api://crm/ping", json!({})).await.is(200);
    audited(&app, "", 1).await;

    fault.begin().await;
    for n in 0..20 {
        let reply = app.call("api://crm/get_order", json!({ "userId": format!("u{n}") })).await.is(200);
        assert_eq!(reply.body["isError"], false);
    }
    assert_eq!(app.tool_names().await.len(), 4);
    app.get("/healthz").await.is(200);
    app.get("auth/me").await.is(200);
    let reply = app.post("keys", json!({ "name": "lost" })).await.is_problem(503, "UNAVAILABLE");
    assert!(!reply.text.contains("postgres://"), "{}", reply.text);
    app.post("services/api/crm/disable", json!({})).await.is_problem(503, "UNAVAILABLE");
    if backend == Backend::Postgres {
        // SQLite's readers go on beside a writer that does not end.
        for path in ["services", "users", "keys", "audit", "tenants", "/readyz"] {
            app.get(path).await.is_problem(503, "UNAVAILABLE");
        }
    }
    let spill = app.data_dir().join("audit-spill.jsonl");
    eventually("the audit waits in a file", PATIENCE, async || spill.exists()).await;
    app.call("api://crm/fail", json!({})).await.is(200);

    fault.end().await;
    eventually("ready again", PATIENCE, async || app.get("/readyz").await.status == 200).await;
    eventually("management works again", PATIENCE, async || {
        app.patch("services/api/crm", json!({ "name": "back" })).await.status == 200
    })
    .await;
    // Without any further call: the records do not wait for company.
    audited(&app, "", 22).await;
    assert_eq!(app.get("audit?tool=crm__get_order").await.is(200).body["total"], 20);
    eventually("the file is gone", PATIENCE, async || !spill.exists()).await;
    app.call("api://crm/ping", json!({})).await.is(200);
    audited(&app, "", 23).await;
    assert_eq!(app.get("keys").await.is(200).items().iter().filter(|key| key["name"] == "lost").count(), 0);
}

/// The server is stopped while the database is away; the records are in the file, and the next
/// start brings them in.
async fn keeps_the_audit_of_an_outage_through_a_restart(backend: Backend) {
    let upstream = http::Server::start().await;
    let (app, mut fault) = start(backend).await;
    app.service(crm(&upstream)).await;
    let key = app.post("keys", json!({ "name": "m", "role": "manager" })).await.is(201).string("key");
    let database = app.database().clone();
    fault.begin().await;
    for _ in 0..5 {
        app.call("api://crm/ping", json!({})).await.is(200);
    }
    let spill = app.data_dir().join("audit-spill.jsonl");
    eventually("the audit waits in a file", PATIENCE, async || spill.exists()).await;
    tokio::time::timeout(Duration::from_secs(50), app.stop()).await.expect("stops without its database");
    let waiting = std::fs::read_to_string(&spill).unwrap();
    assert_eq!(waiting.lines().count(), 5, "{waiting}");
    fault.end().await;
    if let Fault::Sqlite(connection) = fault {
        connection.close().await.unwrap();
    }
    let again = TestApp::restart(&database).await;
    audited(&again.as_key(key), "tool=crm__ping", 5).await;
}

/// Somebody holds the tables locked: a statement of ours would wait for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn does_not_wait_for_ever_for_a_database_that_does_not_answer() {
    let upstream = http::Server::start().await;
    let database = Arc::new(Database::create(Backend::Postgres).await);
    let change =
        |settings: &mut app::wiring::Settings| settings.server.store_timeout = Duration::from_secs(1);
    let app = TestApp::start_on(&database, change).await;
    app.service(crm(&upstream)).await;
    let mut locker = database.connect().await;
    locker.execute("BEGIN").await.unwrap();
    locker.execute("LOCK TABLE services, keys, audit IN ACCESS EXCLUSIVE MODE").await.unwrap();
    app.call("api://crm/ping", json!({})).await.is(200);
    app.get("services").await.is_problem(503, "UNAVAILABLE");
    app.post("keys", json!({ "name": "late" })).await.is_problem(503, "UNAVAILABLE");
    app.call("api://crm/ping", json!({})).await.is(200);
    let spilled = app.data_dir().join("audit-spill.jsonl");
    eventually("the audit waits in a file", PATIENCE, async || spilled.exists()).await;
    locker.execute("ROLLBACK").await.unwrap();
    eventually("management works again", PATIENCE, async || app.get("services").await.status == 200).await;
    audited(&app, "status=ok", 2).await;
}
