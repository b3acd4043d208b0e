//! What every connector must do, on each engine, and what the settings refuse; the rest is tried in `tests/it/db`.

use super::Settings;
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};
use std::path::Path;
use std::time::Duration;
use testkit::conformance::{self, Capability, Echo, Sample, Subject, Tested};
use testkit::http::dead_address;
use tool::{Env, ErrorKind, Kind, Settings as _};

const SECRET: &str = "s3cr3t-of-the-database";

/// The tools that the suite wants, over any engine.
fn tools(slow: &str) -> Value {
    json!([
        { "id": "slow", "description": "Waits.", "sql": slow },
        { "id": "echo", "description": "Echoes.", "sql": "SELECT :text AS said, :count AS times",
          "parameters": [{ "name": "text" }, { "name": "count", "parameter_type": "Integer" }] },
    ])
}

fn subject(settings: Value, dead_settings: Value, secrets: Vec<String>) -> Subject {
    Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings,
        dead_settings: Capability::Has(dead_settings),
        env: Env { data_dir: Some(std::env::temp_dir()), ..Env::default() },
        secrets,
        good: Sample::new("echo", json!({ "text": "hello" })),
        bad: Sample::new("echo", json!({ "count": "seven" })),
        bad_argument: "count",
        slow: Capability::Has(Sample::new("slow", json!({}))),
        echo: Capability::Has(Echo { tool: "echo", argument: "text" }),
        undescribed: Capability::Has(&[(
            "*_take",
            "it answers a row or null, and what an outputSchema describes must be an object",
        )]),
    }
}

fn of(db_type: &str, connection_string: &str, slow: &str) -> Value {
    json!({
        "db_type": db_type, "connection_string": connection_string, "allow_private_network": true,
        "retry": { "max_attempts": 2, "initial_delay_ms": 10 }, "allow_superuser": true, "tools": tools(slow),
    })
}

fn needed(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: use `make test` or `scripts/postgres run scripts/servers run -- cargo nextest run`")
    })
}

#[tokio::test]
async fn conforms_like_every_connector_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{SECRET}.db")).display().to_string();
    let mut connection = SqliteConnection::connect(&format!("sqlite://{file}?mode=rwc")).await.unwrap();
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)").await.unwrap();
    let slow = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
    let dead = "/no/such/folder/of.db";
    conformance::check(&subject(of("sqlite", &file, slow), of("sqlite", dead, slow), vec![file.clone()]))
        .await;
}

#[tokio::test]
async fn conforms_like_every_connector_on_postgresql() {
    let url = needed("MCP_TEST_POSTGRES_URL");
    // The server of tests trusts everybody: a password is for those who look for it in logs.
    let url = url.replacen('@', &format!(":{SECRET}@"), 1);
    let dead = format!("postgres://nobody:{SECRET}@{}/nothing", dead_address().await);
    let slow = "SELECT pg_sleep(20)";
    let mut settings = of("postgresql", &url, slow);
    settings["exclude"] = json!(["*"]);
    conformance::check(&subject(settings, of("postgresql", &dead, slow), vec![url.clone()])).await;
}

#[cfg(feature = "mysql")]
#[tokio::test]
async fn conforms_like_every_connector_on_mariadb() {
    let url = format!("{}/information_schema", needed("MCP_TEST_MARIADB_URL"));
    let dead = format!("mysql://nobody:{SECRET}@{}/nothing", dead_address().await);
    let slow = "SELECT SLEEP(20)";
    let mut settings = of("mysql", &url, slow);
    settings["exclude"] = json!(["*"]);
    conformance::check(&subject(settings, of("mysql", &dead, slow), vec![url.clone()])).await;
}

fn problems(settings: Value) -> Vec<String> {
    let error =
        Kind::of::<Settings>().open(settings, &Env::default()).err().expect("the settings must be refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error.problems().iter().map(|problem| problem.path.clone()).collect()
}

#[test]
fn refuses_settings_that_cannot_work() {
    for (settings, path) in [
        (json!({}), "db_type"),
        (json!({ "db_type": "oracle" }), "db_type"),
        (json!({ "db_type": "postgresql" }), "connection_string"),
        (json!({ "db_type": "sqlite" }), "connection_string"),
        (
            json!({ "db_type": "sqlite", "connection_string": "/x.db", "operations": ["drop"] }),
            "operations[0]",
        ),
        (json!({ "db_type": "sqlite", "connection_string": "/x.db", "pool_size": 0 }), "pool_size"),
        (json!({ "db_type": "sqlite", "connection_string": "/x.db", "tables": [""] }), "tables[0]"),
        (json!({ "db_type": "sqlite", "connection_string": "/x.db", "schema": "temp" }), "schema"),
        (json!({ "db_type": "postgresql", "connection_string": "mysql://u@h/d" }), "connection_string"),
        (
            json!({ "db_type": "sqlite", "connection_string": "/x.db", "retry": { "initial_delay_ms": 99999 } }),
            "retry.initial_delay_ms",
        ),
    ] {
        let found = problems(settings.clone());
        assert!(found.iter().any(|found| found == path), "{settings}: {found:?}");
    }
}

#[test]
fn only_a_named_file_is_privileged() {
    for (settings, is_privileged) in [
        (json!({ "db_type": "sqlite", "connection_string": "/x.db" }), true),
        (json!({ "db_type": "sqlite", "connection_string": null }), false),
        (json!({ "db_type": "sqlite" }), false),
        (json!({ "db_type": "postgresql", "connection_string": "postgres://u@h/d" }), false),
    ] {
        assert_eq!(Settings::privileged(&settings).is_some(), is_privileged, "{settings}");
    }
}

#[tokio::test]
async fn keeps_a_file_of_its_own_in_the_folder_of_the_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let env = |service: &str| Env {
        data_dir: Some(folder.path().to_owned()),
        service: Some(service.to_owned()),
        tenant: "acme".parse().unwrap(),
        ..Env::default()
    };
    let settings = json!({ "db_type": "sqlite", "read_only": false, "operations": ["execute"] });
    for (service, name) in [("notes", "notes"), ("../../x", ".._.._x"), ("..", "_")] {
        let connector = Kind::of::<Settings>().open(settings.clone(), &env(service)).unwrap();
        let place = Path::new("tenants/acme/db").join(name).join("data.db");
        assert!(!folder.path().join(&place).exists(), "opening does no I/O");
        let cx = conformance::context(std::time::Duration::from_secs(20));
        let sql = json!({ "sql": "CREATE TABLE t (id INTEGER)" }).as_object().cloned().unwrap();
        connector.call(&cx, conformance::call("execute", sql)).await.unwrap();
        let file = std::fs::read(folder.path().join(&place)).unwrap();
        assert_eq!(file[18..20], [2, 2], "in a file of ours a slow reader holds up no writer");
        #[cfg(unix)]
        for (place, mode) in [(Path::new("tenants"), 0o700), (&place, 0o600)] {
            let found = std::fs::metadata(folder.path().join(place)).unwrap().permissions();
            let found = std::os::unix::fs::PermissionsExt::mode(&found) & 0o777;
            assert_eq!(found, mode, "{place:?} has the mode {found:o}");
        }
    }
}

/// DB-1: the catalog is read again from time to time, and whoever follows the tools is told when they have changed.
#[tokio::test]
async fn a_new_table_has_tools_before_anybody_asks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db").display().to_string();
    let mut connection = SqliteConnection::connect(&format!("sqlite://{file}?mode=rwc")).await.unwrap();
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)").await.unwrap();
    let settings = json!({ "db_type": "sqlite", "connection_string": file });
    let mut settings: Settings = serde_json::from_value(settings).unwrap();
    settings.refresh = Duration::from_millis(50);
    let service = settings.open(&Env::default()).unwrap();
    let cx = || conformance::context(Duration::from_secs(20));
    let count = |table: &str| conformance::call(&format!("{table}_count"), Default::default());
    service.call(&cx(), count("t")).await.unwrap();
    let mut changes = service.changes().unwrap();
    assert_eq!(service.call(&cx(), count("u")).await.unwrap_err().kind(), ErrorKind::NotFound);
    connection.execute("CREATE TABLE u (id INTEGER PRIMARY KEY)").await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(20), changes.changed()).await;
    told.expect("it is told").unwrap();
    // A call looks at what is remembered alone.
    service.call(&cx(), count("u")).await.unwrap();
    connection.execute("DROP TABLE u").await.unwrap();
    tokio::time::timeout(Duration::from_secs(20), changes.changed()).await.expect("it is told").unwrap();
    assert_eq!(service.call(&cx(), count("u")).await.unwrap_err().kind(), ErrorKind::NotFound);
}
