//! Faults around runs: the database away or full, services that go, versions that change under runs that wait.

use crate::crashes::BINARY;
use crate::world::{PATIENCE, publish, publish_over_rest, republish_over_rest, shop, start, until};
use serde_json::json;
use sqlx::{AnyConnection, Executor as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use testkit::process::{self, Server};
use testkit::tcp_proxy::TcpProxy;
use testkit::{Backend, Database, TestApp, eventually, http, on_both_databases};
use tool::Secret;

on_both_databases! {
    runs_wait_while_the_database_is_away
    runs_wait_while_the_disk_is_full
    a_service_that_goes_under_a_waiting_run_fails_its_node
    waiting_runs_keep_their_version
}

const CHAIN: &str = "
inputs: {ms: int}
nodes:
  slow: {exec: 'api://shop/slow', args: {ms: '${ms}'}, next: last}
  last: {exec: 'api://shop/ship', args: {id: a}, with: \"'done'\"}
output: ${last}
";

/// What stands for a database that is away.
enum Away {
    /// It refuses connections, or takes them and says nothing.
    Proxied(TcpProxy),
    /// Somebody writes and does not end.
    Locked(Box<AnyConnection>),
}

impl Away {
    async fn begin(&mut self, is_silent: bool) {
        match self {
            Self::Proxied(proxy) if is_silent => proxy.stall(),
            Self::Proxied(proxy) => proxy.cut(),
            Self::Locked(connection) => drop(connection.execute("BEGIN IMMEDIATE").await.unwrap()),
        }
    }

    async fn end(&mut self) {
        match self {
            Self::Proxied(proxy) => proxy.restore(),
            Self::Locked(connection) => drop(connection.execute("ROLLBACK").await.unwrap()),
        }
    }
}

/// FL-13, FL-19: while the database is away, with or without a word, nothing begins and nothing is lost; once it is back
/// all goes on, in every loop, without a restart.
async fn runs_wait_while_the_database_is_away(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Arc::new(Database::create(backend).await));
    let (url, proxy) = match backend {
        Backend::Postgres => {
            let (proxy, url) = database.behind_proxy().await;
            (Some(Secret::new(url)), Some(proxy))
        }
        Backend::Sqlite => (None, None),
    };
    let app = TestApp::start_on(&database, |settings| {
        settings.server.store_timeout = Duration::from_secs(2);
        settings.database = url.or(settings.database.take());
    })
    .await;
    let mut away = match proxy {
        Some(proxy) => Away::Proxied(proxy),
        None => Away::Locked(Box::new(database.connect().await)),
    };
    app.service(shop(&upstream)).await;
    publish(&app, &database, "chain", CHAIN).await;
    publish(&app, &database, "later", "nodes: {w: {wait: 3s, next: e}, e: {with: \"'late'\"}}").await;
    // Longer than the call, the timer and the patience with the database; without a word also longer than a claim lasts, so that
    // the process has lost its own runs.
    for (is_silent, ms, seconds) in [(false, 1500, 6), (true, 1501, 20)] {
        let under_way = start(&app, "chain", json!({ "ms": ms })).await;
        let parked = start(&app, "later", json!({})).await;
        until(&app, &parked, &["waiting"]).await;
        let call = format!("/slow/{ms}");
        eventually("the call is under way", PATIENCE, async || {
            upstream.requests().iter().any(|request| request.path == call)
        })
        .await;
        away.begin(is_silent).await;
        let refused = app.post("flows/chain/runs", json!({ "inputs": { "ms": 1 } })).await;
        refused.is_problem(503, "UNAVAILABLE");
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        away.end().await;
        eventually("starts are taken again", PATIENCE, async || {
            app.post("flows/chain/runs", json!({ "inputs": { "ms": 1 } })).await.status == 202
        })
        .await;
        assert_eq!(until(&app, &parked, &["succeeded", "failed"]).await["output"], "late");
        assert_eq!(until(&app, &under_way, &["succeeded", "failed"]).await["output"], "done");
    }
}

/// A disk, or what stands for one, that can be filled and emptied again.
enum Disk {
    /// A file system of the server's own.
    Small(std::path::PathBuf),
    Remote(Arc<Database>),
}

impl Disk {
    async fn fill(&self) {
        match self {
            Self::Small(folder) => {
                let filler = std::fs::File::create(folder.join("filler")).unwrap();
                let mut writer = std::io::BufWriter::with_capacity(4096, filler);
                while std::io::Write::write_all(&mut writer, &[0; 4096]).is_ok() {}
                // What did not fit is nothing to write at the end.
                drop(writer.into_parts());
            }
            Self::Remote(database) => {
                let mut connection = database.connect().await;
                let function = "CREATE OR REPLACE FUNCTION full() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$";
                connection.execute(sqlx::raw_sql(function)).await.unwrap();
                for table in ["runs", "run_journal"] {
                    let sql = format!(
                        "CREATE TRIGGER is_full BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION full()"
                    );
                    connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(sql))).await.unwrap();
                }
            }
        }
    }

    async fn empty(&self) {
        match self {
            Self::Small(folder) => std::fs::remove_file(folder.join("filler")).unwrap(),
            Self::Remote(database) => {
                let mut connection = database.connect().await;
                for table in ["runs", "run_journal"] {
                    let sql = format!("DROP TRIGGER is_full ON {table}");
                    connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(sql))).await.unwrap();
                }
            }
        }
    }
}

/// A server whose data folder is a file system of its own, which is small.
fn serve_on_a_small_disk(database: &Database) -> (Server, Disk) {
    let folder = database.data_dir();
    std::fs::create_dir_all(&folder).unwrap();
    let mut serve = process::serve(BINARY, database, &folder);
    serve.arg("--allow-private-network");
    let mut command = process::sheltered("unshare");
    let mount = format!("mount -t tmpfs -o size=24m tmpfs '{}' && exec \"$0\" \"$@\"", folder.display());
    command
        .args(["--map-root-user", "--mount", "sh", "-c", &mount])
        .arg(serve.get_program())
        .args(serve.get_args());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let server = Server::start(command);
    let inside =
        Path::new("/proc").join(server.id().to_string()).join("root").join(folder.strip_prefix("/").unwrap());
    (server, Disk::Small(inside))
}

/// A full disk refuses starts with 503 and lets runs wait; what was accepted is done when there is room again.
async fn runs_wait_while_the_disk_is_full(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Arc::new(Database::create(backend).await));
    let (server, disk) = match backend {
        Backend::Sqlite => serve_on_a_small_disk(&database),
        Backend::Postgres => (crate::crashes::serve(&database, None), Disk::Remote(database.clone())),
    };
    let admin = server.admin();
    admin.post("services", shop(&upstream)).await.is(201);
    publish_over_rest(&admin, "chain", CHAIN).await;
    let under_way = start(&admin, "chain", json!({ "ms": 1500 })).await;
    eventually("the call is under way", PATIENCE, async || !upstream.requests().is_empty()).await;
    disk.fill().await;
    eventually("starts are refused", PATIENCE, async || {
        let reply = admin.post("flows/chain/runs", json!({ "inputs": { "ms": 1 } })).await;
        assert!(matches!(reply.status, 202 | 503), "{}", reply.text);
        reply.status == 503
    })
    .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    admin.get("/healthz").await.is(200);
    disk.empty().await;
    eventually("starts are taken again", PATIENCE, async || {
        admin.post("flows/chain/runs", json!({ "inputs": { "ms": 1 } })).await.status == 202
    })
    .await;
    assert_eq!(until(&admin, &under_way, &["succeeded", "failed"]).await["output"], "done");
}

/// FL-9: a service that is switched off or deleted while a run waits fails the node that calls it, with a code that says which.
async fn a_service_that_goes_under_a_waiting_run_fails_its_node(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    app.service(shop(&upstream)).await;
    let text = "
nodes:
  go: {wait: {signal: go}, next: send}
  send: {exec: 'api://shop/ship', args: {id: a}, fail: lost}
  lost: {with: send.error.code}
";
    publish(&app, app.database(), "ship", text).await;
    let (off, gone) = (start(&app, "ship", json!({})).await, start(&app, "ship", json!({})).await);
    for run in [&off, &gone] {
        until(&app, run, &["waiting"]).await;
    }
    app.post("services/api/shop/disable", json!({})).await.is(200);
    app.post(&format!("runs/{off}/signals/go"), json!({})).await.is(202);
    assert_eq!(until(&app, &off, &["succeeded", "failed"]).await["output"], "SERVICE_DISABLED");
    app.delete("services/api/shop?force=true").await.is(204);
    app.post(&format!("runs/{gone}/signals/go"), json!({})).await.is(202);
    assert_eq!(until(&app, &gone, &["succeeded", "failed"]).await["output"], "TOOL_NOT_FOUND");
}

/// FL-26: what is published or taken back while runs wait is for new ones.
async fn waiting_runs_keep_their_version(backend: Backend) {
    let app = TestApp::start(backend).await;
    let text = |n: u32| format!("nodes: {{go: {{wait: {{signal: go}}, next: n}}, n: {{with: {n}}}}}");
    publish_over_rest(&app, "versioned", &text(1)).await;
    let first = start(&app, "versioned", json!({})).await;
    until(&app, &first, &["waiting"]).await;
    republish_over_rest(&app, "versioned", &text(2)).await;
    let second = start(&app, "versioned", json!({})).await;
    until(&app, &second, &["waiting"]).await;
    app.post("flows/versioned/rollback", json!({ "version": 1 })).await.is(200);
    let third = start(&app, "versioned", json!({})).await;
    for (run, expected) in [(first, 1), (second, 2), (third, 1)] {
        app.post(&format!("runs/{run}/signals/go"), json!({})).await.is(202);
        assert_eq!(until(&app, &run, &["succeeded", "failed"]).await["output"], expected);
    }
}
