//! Backups: nothing is forgotten, and what an older program wrote still restores.

use crate::backend::{Backend, Kind, new_tenant};
use sqlx::Row as _;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::backup::{DERIVED, Present, TABLES};
use store::{Store, Vault};

on_both! {
    keeps_every_table_there_is
    records_a_change_and_its_author_in_one_transaction
}

/// Whoever adds a table must say whether it belongs into a backup.
async fn keeps_every_table_there_is(db: Arc<Backend>) {
    db.open().await.close().await;
    let sql = match db.kind {
        Kind::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        Kind::Postgres => {
            "SELECT CAST(table_name AS TEXT) AS name FROM information_schema.tables WHERE table_schema = current_schema()"
        }
    };
    let rows = sqlx::query(sql).fetch_all(&mut db.raw().await).await.unwrap();
    let found: BTreeSet<String> = rows.iter().map(|row| row.get("name")).collect();
    let known: BTreeSet<String> = TABLES.iter().chain(&DERIVED).map(|name| (*name).to_owned()).collect();
    assert_eq!(found, known);
    let store = db.open().await;
    store.tenants().create(new_tenant("acme")).await.unwrap();
    let mut file = Vec::new();
    let written = store.backup(&mut file).await.unwrap();
    store.close().await;
    // The file may go into the database of the other kind; here, back into its own.
    let vault = Vault::load(db.data_dir(), None).unwrap();
    let store = Store::connect(&db.options(), vault).await.unwrap();
    store.restore(&mut file.as_slice(), Present::Keep).await.unwrap_err();
    assert_eq!(store.restore(&mut file.as_slice(), Present::Replace).await.unwrap(), written);
    assert_eq!(store.tenants().all().await.unwrap().len(), 1);
}

/// A change without its record, or a record without its change, cannot be.
async fn records_a_change_and_its_author_in_one_transaction(db: Arc<Backend>) {
    let store = db.open().await;
    let rows = || async {
        let filter = store::Filter { kind: store::AuditKind::Management, ..store::Filter::default() };
        let page = store::PageRequest::default();
        store.audit().query(&"acme".parse().unwrap(), &filter, page).await.unwrap().items
    };
    let create = || store.tenants().create(new_tenant("acme"));
    let (made, is_written) = store::management::recording(record("one"), create()).await;
    made.unwrap();
    assert!(is_written);
    assert_eq!(rows().await.len(), 1);
    // It is there already.
    let (made, is_written) = store::management::recording(record("two"), create()).await;
    made.unwrap_err();
    assert!(!is_written);
    // Nor is a change kept whose record cannot be.
    let (made, _) = store::management::recording(record("three"), async {
        db.execute("DROP TABLE management").await;
        store.tenants().create(new_tenant("other")).await
    })
    .await;
    made.unwrap_err();
    assert_eq!(store.tenants().all().await.unwrap().len(), 1);
}

fn record(id: &str) -> store::AuditRow<'static> {
    let row = serde_json::json!({
        "id": id, "tenant": "acme", "at": 1, "caller": "ada", "tool": "POST /api/v1/tenants", "service": "",
        "arguments": null, "status": "ok", "caller_kind": "user", "door": "rest", "uri": "", "duration_us": 0,
        "request_id": "", "trace_id": "", "result_bytes": 0
    });
    serde_json::from_value(row).unwrap()
}
