//! Keys: random, shown once, found by their hash.

use crate::backend::{Backend, acme, other};
use std::collections::HashSet;
use std::sync::Arc;
use store::{ErrorKind, Key, KeyChanges, KeyHash, NewKey, PageRequest, Status, Store, TenantChanges};
use tool::{Limits, Pattern, Role, Scope, Secret};

on_both! {
    makes_random_keys_and_keeps_their_hash_only
    keeps_and_changes_a_key
    takes_a_key_chosen_elsewhere_once
    loads_only_keys_that_may_be_used
}

async fn makes_random_keys_and_keeps_their_hash_only(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let mut seen = HashSet::new();
    for _ in 0..10 {
        let (key, text) = store.keys().create(&acme(), NewKey::new("ci", Role::Caller)).await.unwrap();
        assert!(text.expose().starts_with("mk_") && text.expose().len() == 46);
        assert_eq!(key.prefix, text.expose()[..8]);
        assert_eq!(key.hash, KeyHash::of(text.expose()));
        let shown = format!("{key:?} {}", serde_json::to_string(&key).unwrap());
        assert!(!shown.contains(text.expose()) && !shown.contains("\"hash\""), "{shown}");
        assert!(seen.insert(text.expose().to_owned()));
    }
}

async fn keeps_and_changes_a_key(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let new = NewKey {
        scopes: vec![Scope::Read, Scope::Call],
        allow: vec![Pattern("api://crm/*".into())],
        limits: Limits { calls_per_minute: Some(1), concurrent_calls: Some(2) },
        expires_at: Some(4_000_000_000_000),
        created_by: Some("eve".into()),
        ..NewKey::new("ci", Role::Manager)
    };
    let (key, _) = store.keys().create(&acme(), new).await.unwrap();
    assert_eq!(store.keys().get(&acme(), &key.id).await.unwrap(), key);
    assert_eq!(
        store.keys().list(&acme(), PageRequest::default()).await.unwrap().items,
        std::slice::from_ref(&key)
    );
    let changes = KeyChanges { expires_at: Some(None), scopes: Some(vec![]), ..KeyChanges::default() };
    let changed = store.keys().update(&acme(), &key.id, changes, Some(1)).await.unwrap();
    let expected =
        Key { expires_at: None, scopes: vec![], version: 2, updated_at: changed.updated_at, ..key.clone() };
    assert_eq!(changed, expected);
    let stale = store.keys().update(&acme(), &key.id, KeyChanges::default(), Some(1)).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Stale);
    store.keys().delete(&acme(), &key.id).await.unwrap();
    assert_eq!(store.keys().delete(&acme(), &key.id).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.keys().get(&acme(), &key.id).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn takes_a_key_chosen_elsewhere_once(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let text = Secret::new("short-admin");
    let key = store.keys().insert(&acme(), NewKey::new("admin", Role::Admin), &text).await.unwrap();
    assert_eq!(key.prefix, "sh", "a short key is not given away");
    let error = store.keys().insert(&other(), NewKey::new("again", Role::Viewer), &text).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("hash")));
    assert!(!error.to_string().contains("short-admin"));
}

async fn loads_only_keys_that_may_be_used(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    create(&store, "good").await;
    let mut expired = NewKey::new("expired", Role::Caller);
    expired.expires_at = Some(1000);
    store.keys().create(&acme(), expired).await.unwrap();
    let off = create(&store, "off").await;
    let disable = KeyChanges { status: Some(Status::Disabled), ..KeyChanges::default() };
    store.keys().update(&acme(), &off.id, disable, None).await.unwrap();
    store.keys().create(&other(), NewKey::new("foreign", Role::Caller)).await.unwrap();
    let names = async || {
        let keys = store.keys().all_active().await.unwrap();
        keys.into_iter().map(|key| key.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["good", "foreign"]);
    let disable = TenantChanges { status: Some(Status::Disabled), ..TenantChanges::default() };
    store.tenants().update(&other(), disable, None).await.unwrap();
    assert_eq!(names().await, ["good"]);
}

async fn create(store: &Store, name: &str) -> Key {
    // Keys made within one millisecond sort by id, which is made within it too.
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    store.keys().create(&acme(), NewKey::new(name, Role::Caller)).await.unwrap().0
}
