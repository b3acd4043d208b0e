//! Search indexes: what one process has done is not done again by another.

use crate::backend::{Backend, acme};
use crate::tools::new_tool;
use document::Node;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::{Documents, NewTable, NewTool};

on_both! {
    an_index_that_was_made_since_somebody_looked_is_not_made_again
}

const LEASE: Duration = Duration::from_secs(60);

async fn an_index_that_was_made_since_somebody_looked_is_not_made_again(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let documents = Documents::new(store.clone(), LEASE);
    let document = Node::from(&json!(["a text"]));
    let new = NewTable { name: "t".into(), description: None, owner: "ada".into(), document };
    let table = documents.create(&acme(), new).await.unwrap();
    let definition = json!({ "table_id": table.id.as_str(), "json_path": "" });
    let tool = NewTool { kind: "search".into(), definition, ..new_tool("find") };
    store.tools().create(&acme(), tool).await.unwrap();
    let search = store.search();
    // Two processes look at the same time, and one of them is fast.
    let seen = search.due("model", 10).await.unwrap().remove(0);
    let lease = search.claim(&seen, "fast", LEASE).await.unwrap().unwrap();
    assert!(search.claim(&seen, "slow", LEASE).await.unwrap().is_none(), "the other works on it");
    lease.note_words(table.version).await.unwrap();
    lease.finish("model", Duration::ZERO).await.unwrap();
    assert!(search.claim(&seen, "slow", LEASE).await.unwrap().is_none(), "it is ready");
    assert!(search.due("model", 10).await.unwrap().is_empty());
    // What was seen since is claimed as ever: here, that another model is wanted.
    let seen = search.due("other", 10).await.unwrap().remove(0);
    assert!(search.claim(&seen, "slow", LEASE).await.unwrap().is_some());
}
