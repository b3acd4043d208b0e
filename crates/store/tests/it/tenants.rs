//! Tenants: made, read, changed, deleted with all they have.

use crate::backend::{Backend, acme, new_service, new_tenant, new_user, other};
use std::sync::Arc;
use store::{ErrorKind, Filter, NewKey, PageRequest, ServiceFilter, Status, TenantChanges};
use tool::{Limits, Role};

on_both! {
    keeps_what_was_created
    changes_only_what_is_given
    refuses_a_taken_id
    refuses_a_change_of_a_stale_version
    lists_in_pages_in_order_of_creation
    deletes_everything_of_the_tenant_and_nothing_else
    refuses_what_cannot_be_stored
}

async fn keeps_what_was_created(db: Arc<Backend>) {
    let store = db.open().await;
    let mut new = new_tenant("acme");
    new.limits = Limits { calls_per_minute: Some(7), concurrent_calls: None };
    let created = store.tenants().create(new).await.unwrap();
    assert_eq!((created.name.as_str(), created.status, created.version), ("ACME", Status::Active, 1));
    assert_eq!(created.limits.calls_per_minute, Some(7));
    assert!(created.created_at > 1_700_000_000_000 && created.created_at == created.updated_at);
    store.close().await;
    assert_eq!(db.open().await.tenants().get(&acme()).await.unwrap(), created, "after a restart too");
}

async fn changes_only_what_is_given(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let changes = TenantChanges { status: Some(Status::Disabled), ..TenantChanges::default() };
    let changed = store.tenants().update(&acme(), changes, None).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.status, changed.version), ("ACME", Status::Disabled, 2));
    let limits = Limits { calls_per_minute: None, concurrent_calls: Some(3) };
    let changes =
        TenantChanges { name: Some("New".into()), limits: Some(limits), ..TenantChanges::default() };
    let changed = store.tenants().update(&acme(), changes, Some(2)).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.status, changed.limits), ("New", Status::Disabled, limits));
    assert_eq!(store.tenants().get(&acme()).await.unwrap(), changed);
}

async fn refuses_a_taken_id(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let error = store.tenants().create(new_tenant("acme")).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("id")));
    assert_eq!(error.to_string(), "that id is taken already");
}

async fn refuses_a_change_of_a_stale_version(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let change = || TenantChanges { name: Some("x".into()), ..TenantChanges::default() };
    store.tenants().update(&acme(), change(), Some(1)).await.unwrap();
    let error = store.tenants().update(&acme(), change(), Some(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert_eq!(store.tenants().get(&acme()).await.unwrap().version, 2);
    let missing = store.tenants().update(&"none".parse().unwrap(), change(), Some(1)).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

async fn lists_in_pages_in_order_of_creation(db: Arc<Backend>) {
    let store = db.open().await;
    let names = ["c", "a", "d", "b", "e"];
    for name in names {
        store.tenants().create(new_tenant(name)).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let mut seen = Vec::new();
    for page in 1..=4 {
        let page = store.tenants().list(PageRequest { page, limit: 2 }).await.unwrap();
        assert_eq!((page.total, page.limit), (5, 2));
        seen.extend(page.items.into_iter().map(|tenant| tenant.id.to_string()));
    }
    assert_eq!(seen, names);
    assert_eq!(store.tenants().all().await.unwrap().len(), 5);
}

async fn deletes_everything_of_the_tenant_and_nothing_else(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    for tenant in [acme(), other()] {
        store.users().create(&tenant, new_user("eve")).await.unwrap();
        store.keys().create(&tenant, NewKey::new("ci", Role::Caller)).await.unwrap();
        store.services().create(&tenant, new_service("crm")).await.unwrap();
        store.audit().append(&[crate::audit::row(tenant.as_str(), "1", 5)]).await.unwrap();
    }
    store.tenants().delete(&acme()).await.unwrap();
    assert_eq!(store.tenants().delete(&acme()).await.unwrap_err().kind(), ErrorKind::NotFound);
    // The id may be used again, and nothing of the old tenant comes back.
    store.tenants().create(new_tenant("acme")).await.unwrap();
    for (tenant, count) in [(acme(), 0), (other(), 1)] {
        let page = PageRequest::default();
        assert_eq!(store.users().list(&tenant, page).await.unwrap().total, count);
        assert_eq!(store.keys().list(&tenant, page).await.unwrap().total, count);
        assert_eq!(
            store.services().list(&tenant, &ServiceFilter::default(), page).await.unwrap().total,
            count
        );
        assert_eq!(store.services().all(&tenant).await.unwrap().len() as i64, count);
        assert_eq!(store.audit().query(&tenant, &Filter::default(), page).await.unwrap().total, count);
    }
}

async fn refuses_what_cannot_be_stored(db: Arc<Backend>) {
    let store = db.open().await;
    let mut new = new_tenant("acme");
    new.name = "a\0b".into();
    let error = store.tenants().create(new).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Invalid, Some("name")));
}
