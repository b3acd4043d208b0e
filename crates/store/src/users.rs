//! Users: the people of a tenant, who sign in with a password.

use crate::error::check_text;
use crate::{Error, Page, PageRequest, Result, Status, Store, admins, owners, row};
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use tool::{Role, Secret, TenantId, UserId};

/// Everything but the hash of the password.
const COLUMNS: &str = "tenant, id, username, display_name, role, bu_code, status, tokens_valid_after,
    created_at, updated_at, version";

/// A person of a tenant. The hash of the password is no part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    /// The `sub` of the tokens.
    pub id: UserId,
    /// Where the person belongs.
    pub tenant: TenantId,
    /// The name to sign in with, unique in the tenant.
    pub username: String,
    /// The name for people.
    pub display_name: String,
    /// What the person may do.
    pub role: Role,
    /// The unit of the tenant that the person works for.
    pub bu_code: Option<String>,
    /// Whether the person may sign in.
    pub status: Status,
    /// Tokens issued before this time are void. Milliseconds since 1970.
    pub tokens_valid_after: i64,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change.
    pub version: i64,
}

/// A user to be.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// The name to sign in with.
    pub username: String,
    /// The name for people.
    pub display_name: String,
    /// What the person may do.
    pub role: Role,
    /// The unit of the tenant that the person works for.
    pub bu_code: Option<String>,
    /// From `password::hash`.
    pub password_hash: Secret,
    /// The id of the key or user who makes it.
    pub created_by: Option<String>,
}

/// What to change; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct UserChanges {
    /// The name for people.
    pub display_name: Option<String>,
    /// What the person may do.
    pub role: Option<Role>,
    /// The unit of the tenant that the person works for; `Some(None)` is none.
    pub bu_code: Option<Option<String>>,
    /// Whether the person may sign in.
    pub status: Option<Status>,
}

/// The people.
#[derive(Debug, Clone, Copy)]
pub struct Users<'a>(pub(crate) &'a Store);

impl Users<'_> {
    /// Adds a user; a taken user name is a conflict.
    pub async fn create(self, tenant: &TenantId, new: NewUser) -> Result<User> {
        check_text("username", &new.username)?;
        check_text("display_name", &new.display_name)?;
        check_text("bu_code", new.bu_code.as_deref().unwrap_or_default())?;
        let mut write = self.0.write().await?;
        let owner = owners::behind_new_user(&mut write, new.created_by.as_deref()).await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "INSERT INTO users (tenant, id, username, display_name, role, status, password_hash,
                 tokens_valid_after, created_at, updated_at, version, bu_code, owner)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $8, 1, $9, $10) RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(UserId::generate().as_str())
        .bind(new.username)
        .bind(new.display_name)
        .bind(new.role.as_str())
        .bind(Status::Active.as_str())
        .bind(new.password_hash.expose())
        .bind(row::now())
        .bind(new.bu_code)
        .bind(owner)
        .fetch_one(write.connection())
        .await?;
        write.commit_change(tenant).await?;
        decode(&row)
    }

    /// The tenant that a user belongs to, if there is one with this id. Platform-wide: for those who look after all tenants.
    pub async fn tenant_of(self, id: &UserId) -> Result<Option<TenantId>> {
        admins::tenant_of(self.0, "user", id.as_str()).await
    }

    /// The user.
    pub async fn get(self, tenant: &TenantId, id: &UserId) -> Result<User> {
        let sql = format!("SELECT {COLUMNS} FROM users WHERE tenant = $1 AND id = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// The user of that name, if there is one and its tenant is active, with the hash to check the password against.
    pub async fn find_by_username(self, tenant: &TenantId, username: &str) -> Result<Option<(User, Secret)>> {
        if username.contains('\0') {
            return Ok(None);
        }
        let sql = format!(
            "SELECT {COLUMNS}, password_hash FROM users WHERE tenant = $1 AND username = $2
                 AND tenant IN (SELECT t.id FROM tenants t WHERE t.status = $3)"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(username)
            .bind(Status::Active.as_str())
            .fetch_optional(self.0.pool())
            .await?;
        row.map(|row| Ok((decode(&row)?, Secret::new(row::text(&row, "password_hash")?)))).transpose()
    }

    /// The tenant's users, oldest first.
    pub async fn list(self, tenant: &TenantId, page: PageRequest) -> Result<Page<User>> {
        let mut snapshot = self.0.snapshot().await?;
        let total = sqlx::query("SELECT COUNT(*) AS total FROM users WHERE tenant = $1")
            .bind(tenant.as_str())
            .fetch_one(&mut *snapshot)
            .await?;
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM users WHERE tenant = $1 ORDER BY created_at, id LIMIT $2 OFFSET $3"
        )))
        .bind(tenant.as_str())
        .bind(page.limit())
        .bind(page.offset())
        .fetch_all(&mut *snapshot)
        .await?;
        let items = rows.iter().map(decode).collect::<Result<_>>()?;
        Ok(page.of(items, row::integer(&total, "total")?))
    }

    /// Every active user of every active tenant. Platform-wide: for the snapshot that tokens
    /// are checked against, so that calls need no database.
    pub async fn all_active(self) -> Result<Vec<User>> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM users
             WHERE status = $1 AND tenant IN (SELECT t.id FROM tenants t WHERE t.status = $1)
             ORDER BY created_at, id"
        )))
        .bind(Status::Active.as_str())
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(decode).collect()
    }

    /// Changes the user; with an expected version, only if it is still that one.
    pub async fn update(
        self,
        tenant: &TenantId,
        id: &UserId,
        changes: UserChanges,
        expected_version: Option<i64>,
    ) -> Result<User> {
        check_text("display_name", changes.display_name.as_deref().unwrap_or_default())?;
        let changes_unit = changes.bu_code.is_some();
        let bu_code = changes.bu_code.flatten();
        check_text("bu_code", bu_code.as_deref().unwrap_or_default())?;
        let mut write = self.0.write().await?;
        let admins = admins::count(&mut write).await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "UPDATE users SET display_name = COALESCE($4, display_name), role = COALESCE($5, role),
                 status = COALESCE($6, status), updated_at = $7, version = version + 1,
                 bu_code = CASE WHEN $8 = 1 THEN $9 ELSE bu_code END
             WHERE tenant = $1 AND id = $2 AND ($3 IS NULL OR version = $3) RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(expected_version)
        .bind(changes.display_name)
        .bind(changes.role.map(Role::as_str))
        .bind(changes.status.map(Status::as_str))
        .bind(row::now())
        .bind(i64::from(changes_unit))
        .bind(bu_code)
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else {
            drop(write);
            self.get(tenant, id).await?;
            return Err(Error::stale("user"));
        };
        admins::check_left(&mut write, admins).await?;
        write.commit_change(tenant).await?;
        decode(&row)
    }

    /// Sets a new password, given its hash. Tokens issued until now become void.
    pub async fn set_password(self, tenant: &TenantId, id: &UserId, hash: &Secret) -> Result<User> {
        let mut write = self.0.write().await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "UPDATE users SET password_hash = $3, tokens_valid_after = $4, updated_at = $4,
                 version = version + 1
             WHERE tenant = $1 AND id = $2 RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(hash.expose())
        .bind(row::now())
        .fetch_optional(write.connection())
        .await?;
        let row = row.ok_or_else(missing)?;
        write.commit_change(tenant).await?;
        decode(&row)
    }

    /// Makes the tokens issued until now void.
    pub async fn void_tokens(self, tenant: &TenantId, id: &UserId) -> Result<()> {
        let mut write = self.0.write().await?;
        let done = sqlx::query(
            "UPDATE users SET tokens_valid_after = $3, updated_at = $3, version = version + 1
             WHERE tenant = $1 AND id = $2",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(row::now())
        .execute(write.connection())
        .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        write.commit_change(tenant).await
    }

    /// Deletes the user; the last admin is a conflict.
    pub async fn delete(self, tenant: &TenantId, id: &UserId) -> Result<()> {
        admins::delete(self.0, tenant, "user", id.as_str()).await
    }
}

fn missing() -> Error {
    Error::not_found("user")
}

fn decode(row: &AnyRow) -> Result<User> {
    Ok(User {
        id: row::parsed(row, "id")?,
        tenant: row::parsed(row, "tenant")?,
        username: row::text(row, "username")?,
        display_name: row::text(row, "display_name")?,
        role: row::parsed(row, "role")?,
        bu_code: row::optional_text(row, "bu_code")?,
        status: Status::parse(&row::text(row, "status")?)?,
        tokens_valid_after: row::integer(row, "tokens_valid_after")?,
        created_at: row::integer(row, "created_at")?,
        updated_at: row::integer(row, "updated_at")?,
        version: row::integer(row, "version")?,
    })
}
