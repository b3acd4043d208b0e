//! The vault together with a database: nothing readable, nothing movable, no foreign key.

use crate::backend::{Backend, Kind, acme, new_service, new_user, other};
use sqlx::Row as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use store::{ErrorKind, NewKey, NewUser, Store, Vault, password};
use tool::{Role, Secret};

on_both! {
    refuses_a_master_key_of_another_database
    leaves_no_secret_readable_in_the_database
    notices_values_that_were_tampered_with_or_moved
}

async fn refuses_a_master_key_of_another_database(db: Arc<Backend>) {
    db.open().await.close().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = Vault::load(elsewhere.path(), None).unwrap();
    let error = Store::open(&db.options(), foreign).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("master key does not belong to this database"), "{error}");
    db.open().await;
}

async fn leaves_no_secret_readable_in_the_database(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let mut new = new_service("crm");
    new.config = serde_json::json!({ "token": "SECRET-config" });
    new.tools[0].definition = serde_json::json!({ "header": "SECRET-tool" });
    store.services().create(&acme(), new).await.unwrap();
    let password_hash = password::hash(&Secret::new("SECRET-password")).unwrap();
    store.users().create(&acme(), NewUser { password_hash, ..new_user("eve") }).await.unwrap();
    let (_, key) = store.keys().create(&acme(), NewKey::new("ci", Role::Caller)).await.unwrap();
    let signing = store.meta().jwt_key().await.unwrap();
    let secrets = ["SECRET-", key.expose(), signing.expose()];
    for (name, bytes) in everything_stored(&db).await {
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{name} shows {secret}");
        }
    }
}

/// The raw bytes of the files, or of every row.
async fn everything_stored(db: &Backend) -> Vec<(String, Vec<u8>)> {
    if db.kind == Kind::Sqlite {
        let folder = db.database_file().parent().unwrap().to_owned();
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() >= 2, "the database and its log");
        return files
            .into_iter()
            .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
            .collect();
    }
    let mut connection = db.raw().await;
    let mut all = Vec::new();
    for table in ["meta", "tenants", "users", "keys", "services", "service_tools"] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT CAST(t.* AS TEXT) AS line FROM {table} t"));
        let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
        assert!(!rows.is_empty(), "{table}");
        all.extend(rows.iter().map(|row| (table.to_owned(), row.get::<String, _>("line").into_bytes())));
    }
    all
}

async fn notices_values_that_were_tampered_with_or_moved(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    for tenant in [acme(), other()] {
        store.services().create(&tenant, new_service("crm")).await.unwrap();
    }
    db.execute(
        "UPDATE services SET config = (SELECT s.config FROM services s WHERE s.tenant = 'acme') WHERE tenant = 'other'",
    )
    .await;
    assert!(store.services().get(&acme(), "api", "crm").await.is_ok());
    assert_eq!(store.services().get(&other(), "api", "crm").await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.services().all(&other()).await.unwrap_err().kind(), ErrorKind::Corrupt);
    db.execute("UPDATE services SET config = 'nonsense', status = 'odd' WHERE tenant = 'acme'").await;
    assert_eq!(store.services().get(&acme(), "api", "crm").await.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn makes_a_key_file_for_its_owner_alone_and_refuses_an_open_one() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
    Vault::load(&data, None).unwrap();
    let path = data.join("master.key");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    Vault::load(&data, None).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "made once");
    for exposed in [0o640, 0o604, 0o620] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(exposed)).unwrap();
        let error = Vault::load(&data, None).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        assert!(!error.to_string().contains(text.trim()));
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "not a key").unwrap();
    assert_eq!(Vault::load(&data, None).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn gives_all_who_start_together_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let texts: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    Vault::load(folder.path(), None).unwrap();
                    std::fs::read_to_string(folder.path().join("master.key")).unwrap()
                })
            })
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(texts.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test]
async fn makes_the_database_file_for_its_owner_alone() {
    let db = Backend::new(Kind::Sqlite).await;
    let _store = db.open_with_tenants().await;
    for entry in std::fs::read_dir(db.database_file().parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
}
