//! Search indexes: what one process has done is not done again by another.

use crate::backend::{Backend, acme};
use crate::tools::new_tool;
use document::Node;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::{Documents, ErrorKind, IndexStatus, NewTable, NewTool, Store, Table};

on_both! {
    an_index_that_was_made_since_somebody_looked_is_not_made_again
    a_late_write_to_an_index_that_another_took_over_is_refused
}

const LEASE: Duration = Duration::from_secs(60);

/// A table, and a Tool that searches it.
async fn searched(store: &Store) -> Table {
    let documents = Documents::new(store.clone(), LEASE);
    let document = Node::from(&json!(["a text"]));
    let new = NewTable { name: "t".into(), description: None, owner: "ada".into(), document };
    let table = documents.create(&acme(), new).await.unwrap();
    let definition = json!({ "table_id": table.id.as_str(), "json_path": "" });
    let tool = NewTool { kind: "search".into(), definition, ..new_tool("find") };
    store.tools().create(&acme(), tool).await.unwrap();
    table
}

async fn an_index_that_was_made_since_somebody_looked_is_not_made_again(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let table = searched(&store).await;
    let search = store.search();
    // Two processes look at the same time, and one of them is fast.
    let seen = search.due("model", 10).await.unwrap().remove(0);
    let claimed = search.claim(&seen, LEASE).await.unwrap().unwrap();
    assert!(search.claim(&seen, LEASE).await.unwrap().is_none(), "the other works on it");
    claimed.note_words(table.version).await.unwrap();
    claimed.finish("model", Duration::ZERO).await.unwrap();
    assert!(search.claim(&seen, LEASE).await.unwrap().is_none(), "it is ready");
    assert!(search.due("model", 10).await.unwrap().is_empty());
    // What was seen since is claimed as ever: here, that another model is wanted.
    let seen = search.due("other", 10).await.unwrap().remove(0);
    assert!(search.claim(&seen, LEASE).await.unwrap().is_some());
}

async fn a_late_write_to_an_index_that_another_took_over_is_refused(db: Arc<Backend>) {
    let (one, other) = (db.open_with_tenants().await, db.open().await);
    let table = searched(&one).await;
    let seen = one.search().due("", 10).await.unwrap().remove(0);
    let late = one.search().claim(&seen, Duration::from_millis(300)).await.unwrap().unwrap();
    assert!(other.search().due("", 10).await.unwrap().is_empty(), "it is being worked on");
    tokio::time::sleep(Duration::from_millis(600)).await;
    let seen = other.search().due("", 10).await.unwrap().remove(0);
    let taken = other.search().claim(&seen, LEASE).await.unwrap().unwrap();
    assert_eq!(late.note_words(7).await.unwrap_err().kind(), ErrorKind::Stale);
    assert_eq!(late.finish("", Duration::ZERO).await.unwrap_err().kind(), ErrorKind::Stale);
    taken.note_words(table.version).await.unwrap();
    taken.finish("", Duration::ZERO).await.unwrap();
    let index = one.search().get(&acme(), &seen.tool).await.unwrap();
    assert_eq!((index.table_version, index.status), (table.version, IndexStatus::Ready));
}
