//! The last way in for those who manage the platform stays open.

use crate::database::Write;
use crate::{Error, ErrorKind, Result, Status, Store, row};
use sqlx::AssertSqlSafe;
use tool::{Role, TenantId};

/// Deletes one of those who may come in, `what` in the table of that name in the plural; the last admin is a conflict.
pub(crate) async fn delete(store: &Store, tenant: &TenantId, what: &str, id: &str) -> Result<()> {
    let mut write = store.write().await?;
    let before = count(&mut write).await?;
    let done = sqlx::query(AssertSqlSafe(format!("DELETE FROM {what}s WHERE tenant = $1 AND id = $2")))
        .bind(tenant.as_str())
        .bind(id.to_owned())
        .execute(write.connection())
        .await?;
    if done.rows_affected() == 0 {
        return Err(Error::not_found(what));
    }
    check_left(&mut write, before).await?;
    write.commit_change(tenant).await
}

/// The tenant of one of those who may come in: whoever looks after all tenants has no more than an id.
pub(crate) async fn tenant_of(store: &Store, what: &str, id: &str) -> Result<Option<TenantId>> {
    let sql = format!("SELECT tenant FROM {what}s WHERE id = $1");
    let row = sqlx::query(AssertSqlSafe(sql)).bind(id.to_owned()).fetch_optional(store.pool()).await?;
    row.map(|row| row::parsed(&row, "tenant")).transpose()
}

/// How many keys and people manage the platform without restriction. Whoever asks is the only one who changes that,
/// until the write ends: two who take away the last two ways in would otherwise both find the other's.
pub(crate) async fn count(write: &mut Write) -> Result<i64> {
    sqlx::query("UPDATE tenants SET version = version WHERE id = $1")
        .bind(TenantId::default_tenant().as_str())
        .execute(write.connection())
        .await?;
    let row = sqlx::query(
        "SELECT (SELECT COUNT(*) FROM keys k
             WHERE k.role = $1 AND k.status = $2 AND (k.expires_at IS NULL OR k.expires_at > $3)
                 AND (k.scopes = '[]' OR k.scopes LIKE '%\"manage\"%') AND k.allow = '[]'
                 AND k.tenant IN (SELECT t.id FROM tenants t WHERE t.status = $2))
         + (SELECT COUNT(*) FROM users u WHERE u.role = $1 AND u.status = $2
                 AND u.tenant IN (SELECT t.id FROM tenants t WHERE t.status = $2)) AS total",
    )
    .bind(Role::Admin.as_str())
    .bind(Status::Active.as_str())
    .bind(row::now())
    .fetch_one(write.connection())
    .await?;
    row::integer(&row, "total")
}

/// Refuses a change that leaves none where there was one `before`.
pub(crate) async fn check_left(write: &mut Write, before: i64) -> Result<()> {
    if before > 0 && count(write).await? == 0 {
        let message = "this is the last way in for an admin; make another key with the role admin first";
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    Ok(())
}
