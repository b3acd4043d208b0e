//! Tenants: what belongs to one is not there for another.

use crate::backend::{Backend, acme, new_service, new_user, other, service_tool};
use std::sync::Arc;
use store::{
    ErrorKind, Filter, KeyChanges, NewKey, PageRequest, Result, ServiceChanges, ServiceFilter, Store,
    UserChanges,
};
use tool::{Role, Secret, TenantId};

on_both! {
    finds_nothing_of_another_tenant
    shows_nothing_of_another_tenant_in_lists
}

/// Every function that takes an id, called with the ids of `acme`.
async fn attempts(store: &Store, tenant: &TenantId) -> Vec<(&'static str, Result<()>)> {
    let owner = acme();
    let user = store.users().find_by_username(&owner, "eve").await.unwrap().unwrap().0.id;
    let key = store.keys().list(&owner, PageRequest::default()).await.unwrap().items[0].id.clone();
    let (users, keys, services) = (store.users(), store.keys(), store.services());
    let (service, tool) = (ServiceChanges::default(), service_tool("ant"));
    macro_rules! attempt {
        ($call:expr) => {
            (stringify!($call), $call.await.map(|_| ()))
        };
    }
    vec![
        attempt!(users.get(tenant, &user)),
        attempt!(users.update(tenant, &user, UserChanges::default(), None)),
        attempt!(users.set_password(tenant, &user, &Secret::new("x"))),
        attempt!(users.void_tokens(tenant, &user)),
        attempt!(keys.get(tenant, &key)),
        attempt!(keys.update(tenant, &key, KeyChanges::default(), None)),
        attempt!(services.get(tenant, "api", "crm")),
        attempt!(services.update(tenant, "api", "crm", service, None)),
        attempt!(services.set_enabled(tenant, "api", "crm", true)),
        attempt!(services.list_tools(tenant, "api", "crm")),
        attempt!(services.get_tool(tenant, "api", "crm", "ant")),
        attempt!(services.update_tool(tenant, "api", "crm", tool, None)),
        attempt!(services.create_tool(tenant, "api", "crm", service_tool("new"), None)),
        attempt!(services.delete_tool(tenant, "api", "crm", "ant", None)),
        attempt!(services.delete(tenant, "api", "crm")),
        attempt!(keys.delete(tenant, &key)),
        attempt!(users.delete(tenant, &user)),
    ]
}

async fn fill(store: &Store) {
    store.users().create(&acme(), new_user("eve")).await.unwrap();
    store.keys().create(&acme(), NewKey::new("ci", Role::Caller)).await.unwrap();
    store.services().create(&acme(), new_service("crm")).await.unwrap();
    store.audit().append(&[crate::audit::row("acme", "1", 5)]).await.unwrap();
}

async fn finds_nothing_of_another_tenant(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    fill(&store).await;
    let before = store.services().all(&acme()).await.unwrap();
    for (call, result) in attempts(&store, &other()).await {
        assert_eq!(result.map_err(|error| error.kind()), Err(ErrorKind::NotFound), "{call}");
    }
    assert_eq!(store.services().all(&acme()).await.unwrap(), before, "nothing was touched");
    // The same calls succeed for the owner, so it is the tenant that made the difference.
    for (call, result) in attempts(&store, &acme()).await {
        assert_eq!(result, Ok(()), "{call}");
    }
}

async fn shows_nothing_of_another_tenant_in_lists(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    fill(&store).await;
    for (tenant, expected) in [(other(), 0), (acme(), 1)] {
        let page = PageRequest::default();
        let mut export = store.audit().export(&tenant, Filter::default());
        let counts = [
            ("users", store.users().list(&tenant, page).await.unwrap().total),
            ("keys", store.keys().list(&tenant, page).await.unwrap().total),
            (
                "services",
                store.services().list(&tenant, &ServiceFilter::default(), page).await.unwrap().total,
            ),
            ("all", store.services().all(&tenant).await.unwrap().len() as i64),
            ("audit", store.audit().query(&tenant, &Filter::default(), page).await.unwrap().total),
            ("export", export.next().await.unwrap().map_or(0, |rows| rows.len() as i64)),
            ("login", i64::from(store.users().find_by_username(&tenant, "eve").await.unwrap().is_some())),
        ];
        for (list, count) in counts {
            assert_eq!(count, expected, "{list} of {tenant}");
        }
    }
}
