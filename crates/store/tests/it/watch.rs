//! Watching: changes by others are seen within a second, whatever happens in between.

use crate::backend::{Backend, acme, eventually, new_service, new_tenant, new_user};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

on_both! {
    sees_the_change_of_another_store_within_a_second
    tells_which_tenants_changed
    ends_with_its_token_or_its_last_receiver
}

async fn sees_the_change_of_another_store_within_a_second(db: Arc<Backend>) {
    let (watching, writing) = (db.open_with_tenants().await, db.open().await);
    let mut revision = watching.watch(CancellationToken::new());
    revision.wait_for(|value| *value == 2).await.unwrap();
    for round in 3..6 {
        let begun = Instant::now();
        writing.users().create(&acme(), new_user(&format!("user{round}"))).await.unwrap();
        let seen = revision.wait_for(|value| *value == round);
        tokio::time::timeout(Duration::from_secs(1), seen).await.expect("within a second").unwrap();
        assert!(begun.elapsed() < Duration::from_millis(1500));
    }
}

async fn tells_which_tenants_changed(db: Arc<Backend>) {
    let store = db.open().await;
    assert_eq!(store.revisions().current().await.unwrap(), 0);
    for id in ["a", "b", "c"] {
        store.tenants().create(new_tenant(id)).await.unwrap();
    }
    let changed = async |since| {
        let (latest, tenants) = store.revisions().changed_since(since).await.unwrap();
        (latest, tenants.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(changed(0).await, (3, "a b c".into()));
    store.services().create(&"a".parse().unwrap(), new_service("crm")).await.unwrap();
    assert_eq!(changed(3).await, (4, "a".into()));
    store.tenants().delete(&"b".parse().unwrap()).await.unwrap();
    assert_eq!(changed(3).await, (5, "a b".into()), "the deletion is seen too");
    store.audit().append(&[crate::audit::row("c", "1", 1)]).await.unwrap();
    store.meta().put("x", "y").await.unwrap();
    assert_eq!(changed(5).await, (5, String::new()), "audit is no change of configuration");
}

async fn ends_with_its_token_or_its_last_receiver(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let cancel = CancellationToken::new();
    let mut revision = store.watch(cancel.clone());
    revision.wait_for(|value| *value == 2).await.unwrap();
    cancel.cancel();
    eventually("the watcher ends", Duration::from_secs(2), || {
        let ended = revision.has_changed().is_err();
        async move { ended }
    })
    .await;
}
