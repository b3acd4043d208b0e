//! Who is behind keys and instances: one person may have several, and be asked by one what it wants by another.

use crate::database::Write;
use crate::{Result, Store, row};
use sqlx::any::AnyRow;

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
    let user = sqlx::query("SELECT id FROM users WHERE id = $1")
        .bind(row::clean(maker))
        .fetch_optional(write.connection())
        .await?;
    user.map(|user| row::text(&user, "id")).transpose()
}

fn behind_key_of(maker: &AnyRow) -> Result<Option<String>> {
    if let Some(owner) = row::optional_text(maker, "owner")? {
        return Ok(Some(owner));
    }
    let is_platforms =
        row::optional_text(maker, "created_by")?.is_none() && row::text(maker, "role")? == "admin";
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
    let key = sqlx::query("SELECT owner FROM keys WHERE id = $1")
        .bind(row::clean(&id))
        .fetch_optional(store.pool())
        .await?;
    let owner = key.map(|key| row::optional_text(&key, "owner")).transpose()?.flatten();
    Ok(owner.unwrap_or(id))
}
