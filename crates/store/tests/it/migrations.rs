//! The schema: brought up to date once, by whoever comes first.

use crate::backend::{Backend, new_tenant};
use std::sync::Arc;
use store::{ErrorKind, Options, Store};
use tokio::task::JoinSet;

on_both! {
    opens_twice_and_keeps_what_is_there
    migrates_once_when_many_start_together
    refuses_a_schema_from_the_future
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
    assert_eq!(rows.len(), 3);
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
