//! Pins of services: kept per tenant, changed by one at a time, gone with their service.

use crate::backend::{Backend, new_tenant};
use serde_json::json;
use std::sync::Arc;
use store::{Announce, NewService, Store};
use tokio::task::JoinSet;
use tool::TenantId;

on_both! {
    keeps_pins_per_tenant_and_drops_them_with_the_service
    loses_no_change_of_many_writers
    tells_replicas_of_approvals_alone
}

async fn with_service(store: &Store, tenant: &str) -> TenantId {
    let tenant = store.tenants().create(new_tenant(tenant)).await.unwrap().id;
    let new = NewService {
        scheme: "mcp".into(),
        id: "clock".into(),
        name: "clock".into(),
        description: None,
        config: json!({}),
        tools: Vec::new(),
        is_enabled: true,
    };
    store.services().create(&tenant, new).await.unwrap();
    tenant
}

async fn keeps_pins_per_tenant_and_drops_them_with_the_service(db: Arc<Backend>) {
    let store = db.open().await;
    let (acme, other) = (with_service(&store, "acme").await, with_service(&store, "other").await);
    let pins = store.service_pins();
    let edit = |found: Option<&str>| (Some("1".to_owned()), found.map(str::to_owned));
    assert_eq!(pins.change(&acme, "mcp", "clock", Announce::No, edit).await.unwrap(), None);
    assert_eq!(pins.change(&acme, "mcp", "clock", Announce::No, edit).await.unwrap().as_deref(), Some("1"));
    assert_eq!(pins.get(&other, "mcp", "clock").await.unwrap(), None);
    let nothing = |_: Option<&str>| (None, ());
    pins.change(&acme, "mcp", "clock", Announce::No, nothing).await.unwrap();
    assert_eq!(pins.get(&acme, "mcp", "clock").await.unwrap().as_deref(), Some("1"));
    store.services().delete(&acme, "mcp", "clock").await.unwrap();
    assert_eq!(pins.get(&acme, "mcp", "clock").await.unwrap(), None);
    assert!(
        pins.change(&acme, "mcp", "clock", Announce::No, edit).await.is_err(),
        "there is no such service"
    );
}

async fn loses_no_change_of_many_writers(db: Arc<Backend>) {
    let store = db.open().await;
    let acme = with_service(&store, "acme").await;
    let mut writers = JoinSet::new();
    for _ in 0..8 {
        let (store, acme) = (store.clone(), acme.clone());
        writers.spawn(async move {
            let count = |found: Option<&str>| {
                let next = found.map_or(0, |text| text.parse::<u32>().unwrap()) + 1;
                (Some(next.to_string()), ())
            };
            store.service_pins().change(&acme, "mcp", "clock", Announce::No, count).await
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap().unwrap();
    }
    assert_eq!(store.service_pins().get(&acme, "mcp", "clock").await.unwrap().as_deref(), Some("8"));
}

async fn tells_replicas_of_approvals_alone(db: Arc<Backend>) {
    let store = db.open().await;
    let acme = with_service(&store, "acme").await;
    let before = store.revisions().current().await.unwrap();
    let put = |text: &'static str| move |_: Option<&str>| (Some(text.to_owned()), ());
    store.service_pins().change(&acme, "mcp", "clock", Announce::No, put("1")).await.unwrap();
    assert_eq!(store.revisions().current().await.unwrap(), before);
    store.service_pins().change(&acme, "mcp", "clock", Announce::ToReplicas, put("2")).await.unwrap();
    assert_eq!(store.revisions().changed_since(before).await.unwrap().1, [acme]);
}
