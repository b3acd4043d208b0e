//! The schema: brought up to date once, by whoever comes first.

use crate::backend::{Backend, Kind, acme, new_tenant};
use std::sync::Arc;
use store::{ErrorKind, Filter, Options, PageRequest, Store};
use tokio::task::JoinSet;

on_both! {
    opens_twice_and_keeps_what_is_there
    migrates_once_when_many_start_together
    refuses_a_schema_from_the_future
    keeps_tools_and_their_versions_in_the_third_step
    keeps_the_audit_in_the_sixth_step
    knows_runs_of_agents_in_the_nineteenth_step
}

async fn opens_twice_and_keeps_what_is_there(db: Arc<Backend>) {
    db.open().await.tenants().create(new_tenant("acme")).await.unwrap();
    assert_eq!(db.open().await.tenants().all().await.unwrap().len(), 1);
}

async fn migrates_once_when_many_start_together(db: Arc<Backend>) {
    let mut openings = JoinSet::new();
    for _ in 0..16 {
        let db = Arc::clone(&db);
        openings.spawn(async move { Store::open(&db.options(), db.vault()).await.map(|_| ()) });
    }
    while let Some(result) = openings.join_next().await {
        result.unwrap().unwrap();
    }
    let mut connection = db.raw().await;
    let rows = sqlx::query("SELECT version FROM schema_version").fetch_all(&mut connection).await.unwrap();
    assert_eq!(rows.len(), 23);
}

async fn refuses_a_schema_from_the_future(db: Arc<Backend>) {
    db.open().await.close().await;
    db.execute("INSERT INTO schema_version (version, applied_at) VALUES (999, 0)").await;
    let error = Store::open(&db.options(), db.vault()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("schema version 999"), "{error}");
}

#[tokio::test]
async fn refuses_urls_it_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    for url in
        ["", "mysql://u:hunter2@h/d", "sqlite:", "sqlite::memory:", "data.db", "postgres://u:hunter2@[::/d"]
    {
        let vault = store::Vault::load(folder.path(), None).unwrap();
        let options = Options::new(url);
        let error = Store::open(&options, vault).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}: {error}");
        assert!(!format!("{error} {error:?} {options:?}").contains("hunter2"));
    }
}

/// Makes the database as it was after the second step.
async fn make_second_step(db: &Backend) {
    if db.kind == Kind::Sqlite {
        std::fs::create_dir_all(db.database_file().parent().unwrap()).unwrap();
        std::fs::File::create(db.database_file()).unwrap();
    }
    db.execute("CREATE TABLE schema_version (version BIGINT PRIMARY KEY, applied_at BIGINT NOT NULL)").await;
    for (version, step) in [
        (1, include_str!("../../migrations/0001_first.sql")),
        (2, include_str!("../../migrations/0002_tools.sql")),
    ] {
        db.execute(step).await;
        db.execute(&format!("INSERT INTO schema_version (version, applied_at) VALUES ({version}, 0)")).await;
    }
}

async fn keeps_the_audit_in_the_sixth_step(db: Arc<Backend>) {
    make_second_step(&db).await;
    db.execute(
        "INSERT INTO audit VALUES ('acme', 'i1', 7, 'eve', 'user', 'rest', 'api__list', 'api://crm/list', 'crm',
             '{\"q\":1}', 'error', 'TIMEOUT', 'it \"took\" long', 12, 'r', 't', 9007199254740993),
         ('acme', 'i2', 8, 'eve', 'user', 'rest', 'x', '', '', NULL, 'ok', NULL, NULL, 1, '', '', 0)",
    )
    .await;
    let store = db.open().await;
    let page = store.audit().query(&acme(), &Filter::default(), PageRequest::default()).await.unwrap();
    let [second, first] = <[_; 2]>::try_from(page.items).unwrap();
    assert_eq!((&*first.id, first.at, &*first.tool, &*first.status), ("i1", 7, "api__list", "error"));
    assert_eq!(first.arguments.as_deref(), Some("{\"q\":1}"));
    assert_eq!((first.details.code.as_deref(), &*first.details.uri), (Some("TIMEOUT"), "api://crm/list"));
    assert_eq!(first.details.message.as_deref(), Some("it \"took\" long"));
    assert_eq!((first.details.duration_us, first.details.result_bytes), (12, 9_007_199_254_740_993));
    assert_eq!((second.arguments, second.details.code, second.details.message), (None, None, None));
}

async fn knows_runs_of_agents_in_the_nineteenth_step(db: Arc<Backend>) {
    db.open_with_tenants().await.close().await;
    for sql in [
        "DROP INDEX runs_due_flows",
        "DROP INDEX runs_due_agents",
        "CREATE INDEX runs_due ON runs (tenant, due_at, id) WHERE due_at IS NOT NULL",
        "ALTER TABLE runs DROP COLUMN agent",
        "ALTER TABLE keys DROP COLUMN owner",
        "ALTER TABLE users DROP COLUMN owner",
        "DROP TABLE audit",
        "DROP TABLE management",
        "CREATE TABLE audit (tenant TEXT, at BIGINT, id TEXT, caller TEXT, tool TEXT, service TEXT, status TEXT,
             arguments TEXT, details TEXT)",
        "CREATE TABLE management (tenant TEXT, at BIGINT, id TEXT, caller TEXT, tool TEXT, service TEXT, status TEXT,
             arguments TEXT, details TEXT)",
        "DELETE FROM schema_version WHERE version > 18",
    ] {
        db.execute(sql).await;
    }
    for (id, flow) in [("r1", "orders"), ("r2", "agent://helper")] {
        db.execute(&format!(
            "INSERT INTO runs (tenant, id, flow, state, epoch, leased_until, last_seq, news_seq, is_admitted,
                 is_secret, origin, caller, created_at)
             VALUES ('acme', '{id}', '{flow}', 'succeeded', 0, 0, 0, 0, 1, 0, '{{}}', '{{}}', 1)"
        ))
        .await;
    }
    let store = db.open().await;
    for (id, agent) in [("r1", None), ("r2", Some("helper"))] {
        assert_eq!(store.runs().get(&acme(), &id.parse().unwrap()).await.unwrap().agent(), agent);
    }
}

async fn keeps_tools_and_their_versions_in_the_third_step(db: Arc<Backend>) {
    make_second_step(&db).await;
    db.execute("INSERT INTO tenants VALUES ('acme', 'Acme', 'active', '{}', 1, 1, 1)").await;
    db.execute("INSERT INTO tools VALUES ('acme', 't1', 'a', NULL, 'http', NULL, 'a', 'active', 'ada', 'sealed', 1, 1, 2)").await;
    db.execute("INSERT INTO tool_versions VALUES ('acme', 't1', 1, 'sealed', 'ada', 1), ('acme', 't1', 2, 'sealed', 'ada', 2)").await;
    db.open().await;
    let count = async |sql: &'static str| {
        let row: (i64,) = sqlx::query_as(sql).fetch_one(&mut db.raw().await).await.unwrap();
        row.0
    };
    assert_eq!(count("SELECT COUNT(*) FROM tools WHERE id = 't1' AND version = 2").await, 1);
    assert_eq!(count("SELECT COUNT(*) FROM tool_versions WHERE tool = 't1'").await, 2);
    db.execute("DELETE FROM tenants").await;
    assert_eq!(count("SELECT COUNT(*) FROM tool_versions").await, 0, "versions still go with their tool");
}
