//! Tools: kept sealed with every version they had.

use crate::backend::{Backend, acme, other};
use serde_json::json;
use std::sync::Arc;
use store::{ErrorKind, NewTool, PageRequest, ToolChanges, ToolFilter, ToolStatus};
use tool::ToolId;

on_both! {
    keeps_a_tool_under_one_name
    changes_only_what_is_given_and_keeps_every_version
    refuses_a_change_of_a_stale_version
    finds_tools_by_type_status_owner_and_text
    finds_no_tool_of_another_tenant
    goes_with_its_tenant
    reseals_tools_and_their_versions
    shows_no_definition_in_debug
}

pub(crate) fn new_tool(name: &str) -> NewTool {
    NewTool {
        name: name.into(),
        alias: None,
        kind: "http".into(),
        description: Some("for tests".into()),
        status: ToolStatus::Active,
        owner: "ada".into(),
        definition: json!({ "z": 1, "config": { "HTTP": { "headers": { "Authorization": "hunter2" } } } }),
    }
}

async fn keeps_a_tool_under_one_name(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let before = store.revisions().current().await.unwrap();
    let created = store.tools().create(&acme(), new_tool("a")).await.unwrap();
    assert!(store.revisions().current().await.unwrap() > before);
    assert_eq!((created.version, created.owner.as_str()), (1, "ada"));
    assert_eq!(store.tools().get(&acme(), &created.id).await.unwrap(), created);
    assert_eq!(store.tools().find_by_name(&acme(), "a").await.unwrap().as_ref(), Some(&created));
    assert_eq!(store.tools().find_by_name(&acme(), "\0").await.unwrap(), None);
    let error = store.tools().create(&acme(), new_tool("a")).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("name")));
    store.tools().create(&other(), new_tool("a")).await.unwrap();
    let second = store.tools().create(&acme(), new_tool("b")).await.unwrap();
    let rename = ToolChanges { name: Some("a".into()), ..ToolChanges::default() };
    let error = store.tools().update(&acme(), &second.id, rename, "eve", None).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("name")));
    assert_eq!(store.tools().all(&acme()).await.unwrap(), [created.clone(), second]);
    store.tools().delete(&acme(), &created.id).await.unwrap();
    assert_eq!(store.tools().get(&acme(), &created.id).await.unwrap_err().kind(), ErrorKind::NotFound);
    let nul = NewTool { description: Some("\0".into()), ..new_tool("c") };
    assert_eq!(store.tools().create(&acme(), nul).await.unwrap_err().kind(), ErrorKind::Invalid);
}

async fn changes_only_what_is_given_and_keeps_every_version(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let tools = store.tools();
    let first = tools.create(&acme(), new_tool("a")).await.unwrap();
    let changes = ToolChanges {
        description: Some(None),
        alias: Some(Some("A".into())),
        definition: Some(json!({ "b": 1, "a": 2 })),
        ..ToolChanges::default()
    };
    let second = tools.update(&acme(), &first.id, changes, "eve", Some(1)).await.unwrap();
    assert_eq!(
        (second.version, second.description.as_deref(), second.alias.as_deref()),
        (2, None, Some("A"))
    );
    assert_eq!((second.name.as_str(), second.definition.to_string()), ("a", r#"{"b":1,"a":2}"#.into()));
    let off = ToolChanges { status: Some(ToolStatus::Inactive), ..ToolChanges::default() };
    let third = tools.update(&acme(), &first.id, off, "eve", None).await.unwrap();
    assert_eq!(tools.get(&acme(), &first.id).await.unwrap(), third);

    let history = tools.versions(&acme(), &first.id, PageRequest::default()).await.unwrap();
    let numbers: Vec<_> = history.items.iter().map(|one| (one.version, one.changed_by.as_str())).collect();
    assert_eq!((numbers.as_slice(), history.total), (&[(3, "eve"), (2, "eve"), (1, "ada")][..], 3));
    let page = tools.versions(&acme(), &first.id, PageRequest { page: 2, limit: 2 }).await.unwrap();
    assert_eq!((page.items.len(), page.items[0].version), (1, 1));

    let old = tools.version(&acme(), &first.id, 1).await.unwrap();
    assert_eq!(old.content.definition, first.definition);
    let back = tools.update(&acme(), &first.id, old.content.into(), "ada", None).await.unwrap();
    assert_eq!((back.version, &back.definition, &back.alias), (4, &first.definition, &None));
    assert_eq!((back.status, back.description.as_deref()), (ToolStatus::Inactive, Some("for tests")));
    assert_eq!(tools.version(&acme(), &first.id, 9).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn refuses_a_change_of_a_stale_version(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let tool = store.tools().create(&acme(), new_tool("a")).await.unwrap();
    let change = || ToolChanges { alias: Some(Some("x".into())), ..ToolChanges::default() };
    store.tools().update(&acme(), &tool.id, change(), "eve", Some(1)).await.unwrap();
    let error = store.tools().update(&acme(), &tool.id, change(), "eve", Some(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    let error = store.tools().update(&acme(), &ToolId::generate(), change(), "eve", None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

async fn finds_tools_by_type_status_owner_and_text(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    for (name, kind, status, owner) in [
        ("one", "http", ToolStatus::Active, "ada"),
        ("two_x", "uri", ToolStatus::Testing, "ada"),
        ("three", "uri", ToolStatus::Active, "eve"),
    ] {
        let new = NewTool { kind: kind.into(), status, owner: owner.into(), ..new_tool(name) };
        store.tools().create(&acme(), new).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let any = ToolFilter::default;
    for (filter, expected) in [
        (any(), &["one", "two_x", "three"][..]),
        (ToolFilter { kind: Some("uri".into()), ..any() }, &["two_x", "three"]),
        (ToolFilter { status: Some(ToolStatus::Active), ..any() }, &["one", "three"]),
        (ToolFilter { owner: Some("eve".into()), ..any() }, &["three"]),
        (ToolFilter { text: Some("O_X".into()), ..any() }, &["two_x"]),
        (ToolFilter { text: Some("FOR tests".into()), ..any() }, &["one", "two_x", "three"]),
        (ToolFilter { text: Some("%".into()), ..any() }, &[]),
        (ToolFilter { kind: Some("\0".into()), ..any() }, &[]),
    ] {
        let page = store.tools().list(&acme(), &filter, PageRequest::default()).await.unwrap();
        let names: Vec<_> = page.items.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((names.as_slice(), page.total), (expected, expected.len() as i64), "{filter:?}");
    }
    let page = store.tools().list(&acme(), &any(), PageRequest { page: 2, limit: 2 }).await.unwrap();
    assert_eq!((page.items.len(), page.items[0].name.as_str(), page.total), (1, "three", 3));
}

async fn finds_no_tool_of_another_tenant(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let id = store.tools().create(&acme(), new_tool("a")).await.unwrap().id;
    let tools = store.tools();
    for (tenant, expected) in [(other(), Err(ErrorKind::NotFound)), (acme(), Ok(()))] {
        for result in [
            tools.get(&tenant, &id).await.map(drop),
            tools.versions(&tenant, &id, PageRequest::default()).await.map(drop),
            tools.version(&tenant, &id, 1).await.map(drop),
            tools.update(&tenant, &id, ToolChanges::default(), "eve", None).await.map(drop),
            tools.delete(&tenant, &id).await,
        ] {
            assert_eq!(result.map_err(|error| error.kind()), expected, "{tenant}");
        }
    }
    tools.create(&acme(), new_tool("a")).await.unwrap();
    assert!(tools.all(&other()).await.unwrap().is_empty());
    assert!(tools.find_by_name(&other(), "a").await.unwrap().is_none());
    let page = tools.list(&other(), &ToolFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(page.total, 0);
}

async fn goes_with_its_tenant(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    store.tools().create(&acme(), new_tool("a")).await.unwrap();
    store.tenants().delete(&acme()).await.unwrap();
    let mut connection = db.raw().await;
    for table in ["tools", "tool_versions"] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT tenant FROM {table}"));
        assert!(sqlx::query(sql).fetch_all(&mut connection).await.unwrap().is_empty(), "{table}");
    }
    let error = store.tools().create(&acme(), new_tool("a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

async fn reseals_tools_and_their_versions(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let tool = store.tools().create(&acme(), new_tool("a")).await.unwrap();
    let change = ToolChanges { alias: Some(None), ..ToolChanges::default() };
    let tool = store.tools().update(&acme(), &tool.id, change, "eve", None).await.unwrap();
    // The Tool and two versions, beside the canary.
    assert_eq!(store.rotate_master_key().await.unwrap(), 4);
    let fresh = db.open().await;
    assert_eq!(fresh.tools().all(&acme()).await.unwrap(), std::slice::from_ref(&tool));
    assert_eq!(
        fresh.tools().version(&acme(), &tool.id, 1).await.unwrap().content.definition,
        tool.definition
    );
    let mut connection = db.raw().await;
    for sql in ["SELECT definition FROM tools", "SELECT content FROM tool_versions"] {
        for row in sqlx::query(sql).fetch_all(&mut connection).await.unwrap() {
            let sealed: String = sqlx::Row::try_get(&row, 0).unwrap();
            assert!(!sealed.contains("hunter2") && !sealed.contains("Authorization"), "{sealed}");
        }
    }
}

async fn shows_no_definition_in_debug(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let tool = store.tools().create(&acme(), new_tool("a")).await.unwrap();
    let version = store.tools().version(&acme(), &tool.id, 1).await.unwrap();
    let shown = format!("{tool:?} {version:?} {:?}", new_tool("a"));
    assert!(!shown.contains("hunter2") && shown.contains("\"a\""), "{shown}");
}
