//! Who is behind keys, users and instances: one person may have several, and be asked by one what it wants by another.

use crate::database::Write;
use crate::{Result, Store, row};
use sqlx::any::AnyRow;

/// The role of the platform's own keys and users.
const ADMIN: &str = "admin";

/// Who is behind a key that somebody makes. What the platform's own key makes is for others, each of whom is somebody; any
/// other key makes keys for whoever has it.
pub(crate) async fn behind_new(write: &mut Write, maker: Option<&str>) -> Result<Option<String>> {
    let Some(maker) = maker else { return Ok(None) };
    let key = sqlx::query("SELECT id, owner, created_by, role FROM keys WHERE id = $1")
        .bind(row::clean(maker))
        .fetch_optional(write.connection())
        .await?;
    if let Some(key) = key {
        return behind_key_of(&key);
    }
    let user = find_user(write, maker).await?;
    let Some(user) = user else { return Ok(None) };
    match row::optional_text(&user, "owner")? {
        Some(owner) => Ok(Some(owner)),
        None => row::text(&user, "id").map(Some),
    }
}

/// Who is behind a user that somebody makes. What an admin of the platform makes whom nobody has made is for others, too.
pub(crate) async fn behind_new_user(write: &mut Write, maker: Option<&str>) -> Result<Option<String>> {
    let Some(id) = maker else { return Ok(None) };
    if let Some(user) = find_user(write, id).await?
        && row::text(&user, "role")? == ADMIN
        && row::optional_text(&user, "owner")?.is_none()
    {
        return Ok(None);
    }
    behind_new(write, maker).await
}

async fn find_user(write: &mut Write, id: &str) -> Result<Option<AnyRow>> {
    let user = sqlx::query("SELECT id, owner, role FROM users WHERE id = $1")
        .bind(row::clean(id))
        .fetch_optional(write.connection())
        .await?;
    Ok(user)
}

fn behind_key_of(maker: &AnyRow) -> Result<Option<String>> {
    if let Some(owner) = row::optional_text(maker, "owner")? {
        return Ok(Some(owner));
    }
    let is_platforms =
        row::optional_text(maker, "created_by")?.is_none() && row::text(maker, "role")? == ADMIN;
    if is_platforms { Ok(None) } else { row::text(maker, "id").map(Some) }
}

/// Who is behind a key, a user or an instance.
pub(crate) async fn person(store: &Store, id: &str) -> Result<String> {
    let instance = sqlx::query("SELECT owner FROM instances WHERE id = $1 AND owner <> ''")
        .bind(row::clean(id))
        .fetch_optional(store.pool())
        .await?;
    let id =
        instance.map(|instance| row::text(&instance, "owner")).transpose()?.unwrap_or_else(|| id.to_owned());
    let owned =
        sqlx::query("SELECT owner FROM keys WHERE id = $1 UNION ALL SELECT owner FROM users WHERE id = $1")
            .bind(row::clean(&id))
            .fetch_optional(store.pool())
            .await?;
    let owner = owned.map(|owned| row::optional_text(&owned, "owner")).transpose()?.flatten();
    Ok(owner.unwrap_or(id))
}
