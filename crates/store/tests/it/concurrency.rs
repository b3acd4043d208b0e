//! Many writers at once: each write happens once, or is refused as stale.

use crate::backend::{Backend, acme, new_service, new_user};
use std::sync::Arc;
use store::{ErrorKind, PageRequest, ServiceChanges};
use tokio::task::JoinSet;

on_both! {
    lets_one_of_two_writers_of_a_version_win
    takes_two_hundred_writers_at_once
    loses_no_tool_added_at_the_same_time
    gives_every_process_the_same_signing_key
}

async fn lets_one_of_two_writers_of_a_version_win(db: Arc<Backend>) {
    let first = db.open_with_tenants().await;
    let second = db.open().await;
    first.services().create(&acme(), new_service("crm")).await.unwrap();
    for round in 1..=10 {
        let change =
            |name: &str| ServiceChanges { name: Some(format!("{name} {round}")), ..Default::default() };
        let (tenant, services) = (acme(), (first.services(), second.services()));
        let (a, b) = tokio::join!(
            services.0.update(&tenant, "api", "crm", change("a"), Some(round)),
            services.1.update(&tenant, "api", "crm", change("b"), Some(round)),
        );
        let (winner, loser) = if a.is_ok() { (a, b) } else { (b, a) };
        assert_eq!(loser.unwrap_err().kind(), ErrorKind::Stale);
        assert_eq!(first.services().get(&acme(), "api", "crm").await.unwrap(), winner.unwrap());
    }
}

async fn takes_two_hundred_writers_at_once(db: Arc<Backend>) {
    let stores = [db.open_with_tenants().await, db.open().await];
    let mut writers = JoinSet::new();
    for n in 0..200 {
        let store = stores[n % 2].clone();
        writers.spawn(async move { store.users().create(&acme(), new_user(&format!("user{n}"))).await });
    }
    while let Some(result) = writers.join_next().await {
        result.unwrap().unwrap();
    }
    let page = stores[0].users().list(&acme(), PageRequest { page: 1, limit: 1000 }).await.unwrap();
    assert_eq!((page.total, page.items.len()), (200, 200));
    assert_eq!(stores[1].revisions().current().await.unwrap(), 202);
}

async fn loses_no_tool_added_at_the_same_time(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    store.services().create(&acme(), new_service("crm")).await.unwrap();
    let mut writers = JoinSet::new();
    for n in 0..20 {
        let store = store.clone();
        let tool = crate::backend::service_tool(&format!("tool{n}"));
        writers.spawn(async move { store.services().create_tool(&acme(), "api", "crm", tool, None).await });
    }
    while let Some(result) = writers.join_next().await {
        result.unwrap().unwrap();
    }
    let service = store.services().get(&acme(), "api", "crm").await.unwrap();
    assert_eq!((service.tools.len(), service.version), (22, 21));
}

async fn gives_every_process_the_same_signing_key(db: Arc<Backend>) {
    let stores = [db.open().await, db.open().await, db.open().await];
    let meta = stores.each_ref().map(|store| store.meta());
    let (a, b, c) = tokio::join!(meta[0].jwt_key(), meta[1].jwt_key(), meta[2].jwt_key());
    let key = a.unwrap();
    assert!(key.expose().len() >= 64);
    assert!(key == b.unwrap() && key == c.unwrap());
    assert!(db.open().await.meta().jwt_key().await.unwrap() == key);
    stores[0].meta().put("seen", "1").await.unwrap();
    stores[1].meta().put("seen", "2").await.unwrap();
    assert_eq!(stores[2].meta().get("seen").await.unwrap().as_deref(), Some("2"));
    assert_eq!(stores[2].meta().get("jwt_key").await.unwrap(), None, "sealed values are no plain values");
}
