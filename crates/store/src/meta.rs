//! Small values of the whole platform: the vault's canary, the key that signs sign-in tokens.
//!
//! These belong to no tenant, so their functions take none.

use crate::database::Write;
use crate::error::check_text;
use crate::vault::{self, random_text};
use crate::{Error, ErrorKind, Result, Store, row};
use sqlx::AnyConnection;
use tool::Secret;

pub(crate) const CANARY: &str = "canary";
pub(crate) const JWT_KEY: &str = "jwt_key";

/// Small values of the whole platform.
#[derive(Debug, Clone, Copy)]
pub struct Meta<'a>(pub(crate) &'a Store);

impl Meta<'_> {
    /// The value, if it was ever put. Not for secrets.
    pub async fn get(self, name: &str) -> Result<Option<String>> {
        let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
            .bind(format!("value/{name}"))
            .fetch_optional(self.0.pool())
            .await?;
        row.map(|row| row::text(&row, "value")).transpose()
    }

    /// Puts the value, over an older one if there is one. Not for secrets.
    pub async fn put(self, name: &str, value: &str) -> Result<()> {
        check_text("name", name)?;
        check_text("value", value)?;
        let mut write = self.0.write().await?;
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(format!("value/{name}"))
        .bind(value)
        .execute(write.connection())
        .await?;
        write.commit().await
    }

    /// The key that signs sign-in tokens: made at the first asking, the same for all replicas.
    pub async fn jwt_key(self) -> Result<Secret> {
        if let Some(sealed) = find(self.0, JWT_KEY).await? {
            return open(self.0, JWT_KEY, &sealed);
        }
        let mut write = self.0.write().await?;
        let key_id = sealing_key(self.0, &mut write).await?;
        let sealed = self.0.vault().seal(&key_id, &place(JWT_KEY), random_text::<64>()?.expose())?;
        insert_if_missing(write.connection(), JWT_KEY, &sealed).await?;
        write.commit().await?;
        let sealed = find(self.0, JWT_KEY).await?.ok_or_else(|| Error::not_found("value"))?;
        open(self.0, JWT_KEY, &sealed)
    }
}

/// The first open seals a canary; every later one must be able to read it.
pub(crate) async fn check_vault(store: &Store) -> Result<()> {
    if find(store, CANARY).await?.is_none() {
        let sealed = seal_canary(store, &store.vault().first_key_id())?;
        let mut write = store.write().await?;
        insert_if_missing(write.connection(), CANARY, &sealed).await?;
        write.commit().await?;
    }
    check_canary(store, &mut *store.pool().acquire().await?).await
}

/// Refuses a database that was sealed with another master key.
pub(crate) async fn check_canary(store: &Store, connection: &mut AnyConnection) -> Result<()> {
    let row = sqlx::query("SELECT value FROM meta WHERE name = $1").bind(CANARY).fetch_optional(connection);
    let sealed = row.await?.map(|row| row::text(&row, "value")).transpose()?;
    let sealed = sealed.ok_or_else(|| Error::not_found("value"))?;
    match store.vault().open(&place(CANARY), &sealed) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::Corrupt => Err(foreign_master_key()),
        Err(error) => Err(error),
    }
}

/// The key that the database is sealed with now. The canary's row stays locked until the end
/// of the transaction, so no rotation can pass between this answer and the write.
pub(crate) async fn sealing_key(store: &Store, write: &mut Write) -> Result<String> {
    let row = sqlx::query("UPDATE meta SET value = value WHERE name = $1 RETURNING value")
        .bind(CANARY)
        .fetch_one(write.connection())
        .await?;
    let canary = row::text(&row, "value")?;
    match store.vault().open(&place(CANARY), &canary) {
        Ok(_) => Ok(vault::key_id_of(&canary)?.to_owned()),
        Err(error) if error.kind() == ErrorKind::Corrupt => Err(foreign_master_key()),
        Err(error) => Err(error),
    }
}

pub(crate) fn seal_canary(store: &Store, key_id: &str) -> Result<String> {
    store.vault().seal(key_id, &place(CANARY), "tweet")
}

pub(crate) fn place(name: &str) -> String {
    format!("meta/{name}")
}

fn foreign_master_key() -> Error {
    Error::corrupt("the master key does not belong to this database; start with the key it was made with")
        .at("master key")
}

async fn find(store: &Store, name: &str) -> Result<Option<String>> {
    let row =
        sqlx::query("SELECT value FROM meta WHERE name = $1").bind(name).fetch_optional(store.pool()).await?;
    row.map(|row| row::text(&row, "value")).transpose()
}

async fn insert_if_missing(connection: &mut AnyConnection, name: &str, sealed: &str) -> Result<()> {
    sqlx::query("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
        .bind(name)
        .bind(sealed)
        .execute(connection)
        .await?;
    Ok(())
}

fn open(store: &Store, name: &str, sealed: &str) -> Result<Secret> {
    Ok(Secret::new(store.vault().open(&place(name), sealed)?.as_str()))
}
