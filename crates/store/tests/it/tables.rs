//! Tables: a document, its changes, and what is kept of what it was.

use crate::backend::{Backend, acme, other};
use document::{Change, Node, Pointer};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::{Documents, Error, ErrorKind, NewTable, PageRequest, Store, Table};

on_both! {
    keeps_a_long_list_in_small_steps
    lets_two_keepers_follow_each_other
    changes_nothing_when_a_change_is_refused
    goes_with_its_tenant
    refuses_what_is_too_large
    tells_what_led_from_version_to_version
}

const PATIENCE: Duration = Duration::from_secs(60);

async fn table(store: &Store, documents: &Documents, document: serde_json::Value) -> Table {
    let document = Node::from(&document);
    let new = NewTable { name: "t".into(), description: None, owner: "ada".into(), document };
    let table = documents.create(&acme(), new).await.unwrap();
    assert_eq!(store.tables().get(&acme(), &table.id).await.unwrap(), table);
    table
}

fn append(n: i32) -> Change {
    Change::Append { at: Pointer::default(), values: vec![Node::from(&json!(n))] }
}

async fn json_of(documents: &Documents, table: &Table) -> String {
    documents.read(&acme(), &table.id).await.unwrap().document.to_json()
}

async fn keeps_a_long_list_in_small_steps(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let documents = Documents::new(store.clone(), PATIENCE);
    let table = table(&store, &documents, json!([])).await;
    for n in 0..1050 {
        documents.change::<Error>(&acme(), &table.id, "eve", |_| Ok(append(n))).await.unwrap();
    }
    let expected = json!((0..1050).collect::<Vec<_>>()).to_string();
    assert_eq!(json_of(&documents, &table).await, expected);
    // Read anew, from the snapshot that was due meanwhile and the changes since.
    let fresh = Documents::new(store.clone(), PATIENCE);
    assert_eq!(json_of(&fresh, &table).await, expected);
    let versions =
        store.tables().versions(&acme(), &table.id, PageRequest { page: 1, limit: 1000 }).await.unwrap();
    assert_eq!((versions.items[0].version, versions.items[0].changed_by.as_str()), (1051, "eve"));
    let old = store.tables().document_at(&acme(), &table.id, 1000).await.unwrap();
    assert_eq!(old.as_array().unwrap().len(), 999);
    let counted = "SELECT COUNT(*) FROM table_snapshots";
    let snapshots: (i64,) = sqlx::query_as(counted).fetch_one(&mut db.raw().await).await.unwrap();
    assert_eq!(snapshots.0, 2, "the first, and the one after a thousand changes");
}

async fn lets_two_keepers_follow_each_other(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let (one, two) = (Documents::new(store.clone(), PATIENCE), Documents::new(store.clone(), PATIENCE));
    let table = table(&store, &one, json!([])).await;
    for n in 0..20 {
        let keeper = if n % 3 == 0 { &two } else { &one };
        let tenant = acme();
        let changed = keeper.change::<Error>(&tenant, &table.id, "eve", |loaded| {
            assert_eq!(loaded.document.as_array().unwrap().len(), n as usize, "it sees what the other did");
            Ok(append(n))
        });
        assert_eq!(changed.await.unwrap().table.version, i64::from(n) + 2);
    }
    // One sets the whole document, which the other cannot follow by changes.
    let whole = Change::Set { value: Node::from(&json!(["whole"])) };
    one.change::<Error>(&acme(), &table.id, "eve", |_| Ok(whole)).await.unwrap();
    let changed = two.change::<Error>(&acme(), &table.id, "eve", |_| Ok(append(1))).await.unwrap();
    assert_eq!(changed.document.to_json(), r#"["whole",1]"#);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(json_of(&one, &table).await, r#"["whole",1]"#);
}

async fn changes_nothing_when_a_change_is_refused(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let documents = Documents::new(store.clone(), PATIENCE);
    let table = table(&store, &documents, json!({ "a": 1 })).await;
    let refused = documents.change::<Error>(&acme(), &table.id, "eve", |_| Ok(append(1))).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    let foreign = documents.change::<Error>(&other(), &table.id, "eve", |_| Ok(append(1))).await.unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::NotFound);
    assert_eq!(documents.read(&other(), &table.id).await.unwrap_err().kind(), ErrorKind::NotFound);
    let read = Documents::new(store, PATIENCE).read(&acme(), &table.id).await.unwrap();
    assert_eq!((read.table.version, read.document.to_json().as_str()), (1, r#"{"a":1}"#));
}

async fn goes_with_its_tenant(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let documents = Documents::new(store.clone(), PATIENCE);
    let table = table(&store, &documents, json!([])).await;
    documents.change::<Error>(&acme(), &table.id, "eve", |_| Ok(append(1))).await.unwrap();
    store.tenants().delete(&acme()).await.unwrap();
    for name in ["tables", "table_versions", "table_snapshots"] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {name}"));
        let count: (i64,) = sqlx::query_as(sql).fetch_one(&mut db.raw().await).await.unwrap();
        assert_eq!(count.0, 0, "{name}");
    }
}

async fn refuses_what_is_too_large(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let documents = Documents::new(store.clone(), PATIENCE);
    let table = table(&store, &documents, json!([])).await;
    let part: Node = "x".repeat(20 * 1024 * 1024).as_str().into();
    for round in 0..4 {
        let change = Change::Append { at: Pointer::default(), values: vec![part.clone()] };
        let changed = documents.change::<Error>(&acme(), &table.id, "eve", |_| Ok(change)).await;
        match changed {
            Ok(_) => assert!(round < 3),
            Err(error) => {
                assert_eq!((round, error.kind(), error.field()), (3, ErrorKind::Invalid, Some("data")));
            }
        }
    }
    let read = documents.read(&acme(), &table.id).await.unwrap();
    assert_eq!(read.document.as_array().unwrap().len(), 3);
}

async fn tells_what_led_from_version_to_version(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let documents = Documents::new(store.clone(), PATIENCE);
    let table = table(&store, &documents, json!([])).await;
    let whole = Change::Set { value: Node::from(&json!([7])) };
    for change in [append(1), append(2), whole, append(3)] {
        documents.change::<Error>(&acme(), &table.id, "eve", |_| Ok(change)).await.unwrap();
    }
    let steps = async |behind: i64, limit: u32| {
        let steps = store.tables().steps(&acme(), &table.id, behind, limit).await.unwrap();
        let step = |step: store::TableStep| {
            (step.version.version, step.before.to_json(), step.after.to_json(), step.change.is_some())
        };
        steps.into_iter().map(step).collect::<Vec<_>>()
    };
    let all = [(2, "[]", "[1]"), (3, "[1]", "[1,2]"), (4, "[1,2]", "[7]"), (5, "[7]", "[7,3]")];
    let told: Vec<_> =
        steps(1, 10).await.into_iter().map(|(version, before, after, _)| (version, before, after)).collect();
    let all = all.map(|(version, before, after)| (version, before.to_owned(), after.to_owned()));
    assert_eq!(told, all);
    assert_eq!(steps(3, 1).await.len(), 1);
    assert_eq!(steps(3, 1).await[0].0, 4);
    assert!(steps(5, 10).await.is_empty() && steps(9, 10).await.is_empty());
    for n in 0..130 {
        let whole = Change::Set { value: Node::from(&json!([n])) };
        documents.change::<Error>(&acme(), &table.id, "eve", |_| Ok(whole)).await.unwrap();
    }
    let late = steps(1, 1000).await;
    assert!(late.len() < 134 && late.last().unwrap().0 == 135, "what is not kept any more is passed over");
    let foreign = store.tables().steps(&other(), &table.id, 1, 10).await.unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::NotFound);
}
