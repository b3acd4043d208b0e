//! Users: their names, passwords and tokens.

use crate::backend::{Backend, acme, new_user, other};
use std::sync::Arc;
use store::{ErrorKind, NewUser, PageRequest, Status, TenantChanges, UserChanges, password};
use tool::{Role, Secret, UserId};

on_both! {
    keeps_and_changes_a_user
    refuses_a_taken_user_name_within_the_tenant_only
    checks_passwords_and_voids_tokens_with_a_new_one
    loads_only_active_users_of_active_tenants
    refuses_a_user_of_a_tenant_that_does_not_exist
    takes_every_text_literally
}

async fn keeps_and_changes_a_user(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let user = store.users().create(&acme(), new_user("eve")).await.unwrap();
    assert_eq!(store.users().get(&acme(), &user.id).await.unwrap(), user);
    assert_eq!(store.users().find_by_username(&acme(), "eve").await.unwrap().unwrap().0, user);
    assert!(store.users().find_by_username(&acme(), "Eve").await.unwrap().is_none());
    let changes = UserChanges { role: Some(Role::Manager), ..UserChanges::default() };
    let changed = store.users().update(&acme(), &user.id, changes.clone(), Some(1)).await.unwrap();
    assert_eq!((changed.role, changed.display_name.as_str(), changed.version), (Role::Manager, "EVE", 2));
    let stale = store.users().update(&acme(), &user.id, changes, Some(1)).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Stale);
    store.users().delete(&acme(), &user.id).await.unwrap();
    for error in [
        store.users().get(&acme(), &user.id).await.unwrap_err(),
        store.users().delete(&acme(), &user.id).await.unwrap_err(),
        store.users().update(&acme(), &user.id, UserChanges::default(), None).await.unwrap_err(),
        store.users().set_password(&acme(), &user.id, &Secret::new("x")).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

async fn refuses_a_taken_user_name_within_the_tenant_only(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    store.users().create(&acme(), new_user("eve")).await.unwrap();
    store.users().create(&other(), new_user("eve")).await.unwrap();
    let error = store.users().create(&acme(), new_user("eve")).await.unwrap_err();
    assert_eq!((error.kind(), error.field()), (ErrorKind::Conflict, Some("username")));
}

async fn checks_passwords_and_voids_tokens_with_a_new_one(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let hash = password::hash(&Secret::new("first")).unwrap();
    let new = NewUser { password_hash: hash, ..new_user("eve") };
    let user = store.users().create(&acme(), new).await.unwrap();
    let (_, stored) = store.users().find_by_username(&acme(), "eve").await.unwrap().unwrap();
    assert!(password::verify(&Secret::new("first"), &stored));
    assert_eq!(user.tokens_valid_after, 0);
    let hash = password::hash(&Secret::new("second")).unwrap();
    let changed = store.users().set_password(&acme(), &user.id, &hash).await.unwrap();
    assert!(changed.tokens_valid_after >= user.created_at && changed.version == 2);
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    store.users().void_tokens(&acme(), &user.id).await.unwrap();
    let voided = store.users().get(&acme(), &user.id).await.unwrap();
    assert!(voided.tokens_valid_after > changed.tokens_valid_after && voided.version == 3);
    let (found, stored) = store.users().find_by_username(&acme(), "eve").await.unwrap().unwrap();
    assert!(
        password::verify(&Secret::new("second"), &stored)
            && !password::verify(&Secret::new("first"), &stored)
    );
    let shown = format!("{found:?} {stored:?} {}", serde_json::to_string(&found).unwrap());
    assert!(!shown.contains("argon2") && !shown.contains("hash"), "{shown}");
}

async fn loads_only_active_users_of_active_tenants(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let off = store.users().create(&acme(), new_user("off")).await.unwrap();
    store.users().create(&acme(), new_user("on")).await.unwrap();
    store.users().create(&other(), new_user("foreign")).await.unwrap();
    let disable = UserChanges { status: Some(Status::Disabled), ..UserChanges::default() };
    store.users().update(&acme(), &off.id, disable, None).await.unwrap();
    let disable = TenantChanges { status: Some(Status::Disabled), ..TenantChanges::default() };
    store.tenants().update(&other(), disable, None).await.unwrap();
    let names: Vec<_> =
        store.users().all_active().await.unwrap().into_iter().map(|user| user.username).collect();
    assert_eq!(names, ["on"]);
}

async fn refuses_a_user_of_a_tenant_that_does_not_exist(db: Arc<Backend>) {
    let store = db.open().await;
    let error = store.users().create(&acme(), new_user("eve")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

async fn takes_every_text_literally(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let names =
        ["'; DROP TABLE users; --", "\" OR \"1\"=\"1", "$1", "%", "a\\'b", "日本語 🦀", "\u{202e}x", " "];
    for name in names {
        let user = store.users().create(&acme(), new_user(name)).await.unwrap();
        assert_eq!(user.username, name);
        assert_eq!(store.users().find_by_username(&acme(), name).await.unwrap().unwrap().0.id, user.id);
        assert!(store.users().find_by_username(&other(), name).await.unwrap().is_none());
    }
    let page = store.users().list(&acme(), PageRequest::default()).await.unwrap();
    assert_eq!(page.total, names.len() as i64);
    assert!(store.users().find_by_username(&acme(), "a\0b").await.unwrap().is_none());
    assert_eq!(
        store.users().get(&acme(), &UserId::generate()).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
