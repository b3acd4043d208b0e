//! Rotation of the master key: everything stays readable, whenever the power fails.

use crate::backend::{Backend, acme, new_service, service_tool};
use std::sync::Arc;
use store::{ErrorKind, Store, Vault};
use tool::Secret;

on_both! {
    re_seals_everything_with_a_new_key
    survives_a_crash_before_and_after_re_sealing
    keeps_running_replicas_working
    rotates_keys_provided_from_outside
    seals_nothing_with_the_old_key_while_others_write
}

fn key_file(db: &Backend) -> String {
    std::fs::read_to_string(db.data_dir().join("master.key")).unwrap()
}

async fn check(store: &Store, services: usize) {
    let all = store.services().all(&acme()).await.unwrap();
    assert_eq!(all.len(), services);
    for service in all {
        assert_eq!(service.config, new_service("x").config);
        assert_eq!(service.tools[0], service_tool("zebra"));
    }
}

async fn sealed_values(db: &Backend) -> Vec<String> {
    let mut connection = db.raw().await;
    let rows = sqlx::query(
        "SELECT config FROM services UNION ALL SELECT definition FROM service_tools
         UNION ALL SELECT value FROM meta WHERE name IN ('canary', 'jwt_key')",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    rows.iter().map(|row| sqlx::Row::get(row, 0)).collect()
}

async fn re_seals_everything_with_a_new_key(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    store.services().create(&acme(), new_service("crm")).await.unwrap();
    let signing = store.meta().jwt_key().await.unwrap();
    let (old_file, old_values) = (key_file(&db), sealed_values(&db).await);
    assert_eq!(store.rotate_master_key().await.unwrap(), 5, "config, two tools, signing key, canary");
    let (new_file, new_values) = (key_file(&db), sealed_values(&db).await);
    assert!(new_file != old_file && new_file.lines().count() == 1, "the old key is gone");
    let key_id = |sealed: &String| sealed.split('.').nth(1).unwrap().to_owned();
    assert!(new_values.iter().all(|value| key_id(value) == key_id(&new_values[0])));
    assert_ne!(key_id(&new_values[0]), key_id(&old_values[0]));
    for store in [&store, &db.open().await] {
        check(store, 1).await;
        assert!(store.meta().jwt_key().await.unwrap() == signing);
    }
    let old_vault = Vault::load(db.data_dir(), Some(&Secret::new(old_file))).unwrap();
    assert_eq!(Store::open(&db.options(), old_vault).await.unwrap_err().kind(), ErrorKind::Corrupt);
}

async fn survives_a_crash_before_and_after_re_sealing(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    store.services().create(&acme(), new_service("crm")).await.unwrap();
    store.close().await;
    // The power fails when the new key is in the file and nothing is re-sealed.
    drop(Vault::rotate_file(db.data_dir()).unwrap());
    assert_eq!(key_file(&db).lines().count(), 2);
    let store = db.open().await;
    check(&store, 1).await;
    store.services().create(&acme(), new_service("second")).await.unwrap();
    // The power fails again when everything is re-sealed and the old keys are not yet gone.
    drop(Vault::rotate_file(db.data_dir()).unwrap());
    store.reseal().await.unwrap();
    assert_eq!(key_file(&db).lines().count(), 3);
    store.close().await;
    let store = db.open().await;
    check(&store, 2).await;
    store.rotate_master_key().await.unwrap();
    assert_eq!(key_file(&db).lines().count(), 1);
    check(&db.open().await, 2).await;
}

async fn keeps_running_replicas_working(db: Arc<Backend>) {
    let rotating = db.open_with_tenants().await;
    let replica = db.open().await;
    replica.services().create(&acme(), new_service("before")).await.unwrap();
    rotating.rotate_master_key().await.unwrap();
    replica.services().create(&acme(), new_service("after")).await.unwrap();
    check(&replica, 2).await;
    check(&rotating, 2).await;
    check(&db.open().await, 2).await;
}

async fn rotates_keys_provided_from_outside(db: Arc<Backend>) {
    let key = |byte: &str| byte.repeat(32);
    let open = async |ring: String| {
        Store::open(&db.options(), Vault::load(db.data_dir(), Some(&Secret::new(ring))).unwrap()).await
    };
    let store = open(key("01")).await.unwrap();
    store.tenants().create(crate::backend::new_tenant("acme")).await.unwrap();
    store.services().create(&acme(), new_service("crm")).await.unwrap();
    assert_eq!(store.rotate_master_key().await.unwrap_err().kind(), ErrorKind::Invalid);
    let both = open(format!("{},{}", key("02"), key("01"))).await.unwrap();
    both.services().create(&acme(), new_service("with both")).await.unwrap();
    check(&store, 2).await;
    assert_eq!(both.reseal().await.unwrap(), 7);
    check(&open(key("02")).await.unwrap(), 2).await;
    assert!(open(key("01")).await.is_err());
    assert_eq!(
        store.services().create(&acme(), new_service("x")).await.unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    assert!(!db.data_dir().join("master.key").exists());
}

async fn seals_nothing_with_the_old_key_while_others_write(db: Arc<Backend>) {
    let rotating = db.open_with_tenants().await;
    let replica = db.open().await;
    let writer = tokio::spawn(async move {
        for n in 0..40 {
            replica.services().create(&acme(), new_service(&format!("s{n}"))).await.unwrap();
        }
    });
    for _ in 0..3 {
        rotating.rotate_master_key().await.unwrap();
    }
    writer.await.unwrap();
    check(&db.open().await, 40).await;
    rotating.rotate_master_key().await.unwrap();
    check(&db.open().await, 40).await;
}
