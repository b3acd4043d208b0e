//! API keys: random texts that are shown once and kept as hashes.

use crate::error::check_text;
use crate::vault::random_text;
use crate::{Error, Page, PageRequest, Result, Status, Store, admins, owners, row};
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::fmt;
use tool::{KeyId, Limits, Pattern, Role, Scope, Secret, TenantId};

const COLUMNS: &str =
    "tenant, id, name, prefix, hash, role, scopes, allow, limits, bu_code, status, expires_at,
    created_by, created_at, updated_at, version, owner";

/// The SHA-256 of a key's text: what a request's key is looked up by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// The hash of a key as a request carries it.
    #[must_use]
    pub fn of(key: &str) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, key.as_bytes()).as_ref());
        Self(bytes)
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let bytes = BASE64.decode(text).map_err(|_| row::undecodable("hash"))?;
        Ok(Self(bytes.try_into().map_err(|_| row::undecodable("hash"))?))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(tool::secret::MASK)
    }
}

/// An API key, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Names the key.
    pub id: KeyId,
    /// Where the key belongs.
    pub tenant: TenantId,
    /// Its name for people.
    pub name: String,
    /// The first characters of its text, to recognise it.
    pub prefix: String,
    /// What requests are matched against.
    #[serde(skip)]
    pub hash: KeyHash,
    /// What the key may do.
    pub role: Role,
    /// What it may be used for; empty is all that the role allows.
    pub scopes: Vec<Scope>,
    /// The tools it may see and call; empty is all.
    pub allow: Vec<Pattern>,
    /// What it may use.
    pub limits: Limits,
    /// The unit of its tenant that it works for.
    pub bu_code: Option<String>,
    /// Whether it may be used.
    pub status: Status,
    /// When it ends. Milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// Who made it.
    pub created_by: Option<String>,
    /// Who is behind it: the user or key that made it, or whoever is behind that one; nobody but itself where that is unknown.
    pub owner: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change.
    pub version: i64,
}

/// A key to be.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Its name for people.
    pub name: String,
    /// What the key may do.
    pub role: Role,
    /// What it may be used for; empty is all that the role allows.
    pub scopes: Vec<Scope>,
    /// The tools it may see and call; empty is all.
    pub allow: Vec<Pattern>,
    /// What it may use.
    pub limits: Limits,
    /// The unit of its tenant that it works for.
    pub bu_code: Option<String>,
    /// When it ends. Milliseconds since 1970.
    pub expires_at: Option<i64>,
    /// Who made it.
    pub created_by: Option<String>,
}

impl NewKey {
    /// A key with all that its role allows.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self {
            name: name.into(),
            role,
            scopes: Vec::new(),
            allow: Vec::new(),
            limits: Limits::default(),
            bu_code: None,
            expires_at: None,
            created_by: None,
        }
    }
}

/// What to change; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct KeyChanges {
    /// The name for people.
    pub name: Option<String>,
    /// What the key may do.
    pub role: Option<Role>,
    /// What it may be used for.
    pub scopes: Option<Vec<Scope>>,
    /// The tools it may see and call.
    pub allow: Option<Vec<Pattern>>,
    /// What it may use.
    pub limits: Option<Limits>,
    /// The unit of its tenant that it works for; `Some(None)` is none.
    pub bu_code: Option<Option<String>>,
    /// Whether it may be used.
    pub status: Option<Status>,
    /// When it ends; `Some(None)` is never.
    pub expires_at: Option<Option<i64>>,
}

/// The API keys.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a>(pub(crate) &'a Store);

impl Keys<'_> {
    /// Makes a key. Its text is in the answer and nowhere else.
    pub async fn create(self, tenant: &TenantId, new: NewKey) -> Result<(Key, Secret)> {
        let text = Secret::new(format!("mk_{}", random_text::<32>()?.expose()));
        let key = self.insert(tenant, new, &text).await?;
        Ok((key, text))
    }

    /// Adds a key whose text was chosen elsewhere; a text in use is a conflict.
    pub async fn insert(self, tenant: &TenantId, new: NewKey, text: &Secret) -> Result<Key> {
        check_text("name", &new.name)?;
        check_text("created_by", new.created_by.as_deref().unwrap_or_default())?;
        check_text("bu_code", new.bu_code.as_deref().unwrap_or_default())?;
        let mut write = self.0.write().await?;
        let owner = owners::behind_new(&mut write, new.created_by.as_deref()).await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "INSERT INTO keys (tenant, id, name, prefix, hash, role, scopes, allow, limits, status, expires_at,
                 created_by, created_at, updated_at, version, bu_code, owner)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, 1, $14, $15) RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(KeyId::generate().as_str())
        .bind(new.name)
        .bind(prefix_of(text.expose()))
        .bind(BASE64.encode(KeyHash::of(text.expose()).0))
        .bind(new.role.as_str())
        .bind(row::to_json(&new.scopes)?)
        .bind(row::to_json(&new.allow)?)
        .bind(row::to_json(&new.limits)?)
        .bind(Status::Active.as_str())
        .bind(new.expires_at)
        .bind(new.created_by)
        .bind(row::now())
        .bind(new.bu_code)
        .bind(owner)
        .fetch_one(write.connection())
        .await?;
        write.commit_change(tenant).await?;
        decode(&row)
    }

    /// The tenant that a key belongs to, if there is one with this id. Platform-wide: for those who look after all tenants.
    pub async fn tenant_of(self, id: &KeyId) -> Result<Option<TenantId>> {
        admins::tenant_of(self.0, "key", id.as_str()).await
    }

    /// The key.
    pub async fn get(self, tenant: &TenantId, id: &KeyId) -> Result<Key> {
        let sql = format!("SELECT {COLUMNS} FROM keys WHERE tenant = $1 AND id = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// The key with this text, whosever it is and whether or not it may be used.
    pub async fn find(self, text: &Secret) -> Result<Key> {
        let sql = format!("SELECT {COLUMNS} FROM keys WHERE hash = $1");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(BASE64.encode(KeyHash::of(text.expose()).0))
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// The tenant's keys, oldest first.
    pub async fn list(self, tenant: &TenantId, page: PageRequest) -> Result<Page<Key>> {
        let mut snapshot = self.0.snapshot().await?;
        let total = sqlx::query("SELECT COUNT(*) AS total FROM keys WHERE tenant = $1")
            .bind(tenant.as_str())
            .fetch_one(&mut *snapshot)
            .await?;
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM keys WHERE tenant = $1 ORDER BY created_at, id LIMIT $2 OFFSET $3"
        )))
        .bind(tenant.as_str())
        .bind(page.limit())
        .bind(page.offset())
        .fetch_all(&mut *snapshot)
        .await?;
        let items = rows.iter().map(decode).collect::<Result<_>>()?;
        Ok(page.of(items, row::integer(&total, "total")?))
    }

    /// How many keys, users and MCP instances of the tenant go by this name or id.
    pub async fn count_called(self, tenant: &TenantId, name: &str) -> Result<i64> {
        let row = sqlx::query(
            "SELECT (SELECT COUNT(*) FROM keys WHERE tenant = $1 AND (name = $2 OR id = $2))
                 + (SELECT COUNT(*) FROM users WHERE tenant = $1 AND (username = $2 OR id = $2))
                 + (SELECT COUNT(*) FROM instances WHERE tenant = $1 AND (name = $2 OR id = $2)) AS found",
        )
        .bind(tenant.as_str())
        .bind(row::clean(name))
        .fetch_one(self.0.pool())
        .await?;
        row::integer(&row, "found")
    }

    /// Who is behind the key, user or instance with this id: itself where nobody else is known. Platform-wide: whoever manages
    /// the platform works in every tenant.
    pub async fn person_behind(self, id: &str) -> Result<String> {
        owners::person(self.0, id).await
    }

    /// Every active key of every active tenant that has not expired. Platform-wide: for the
    /// snapshot that requests are checked against, so that calls need no database.
    pub async fn all_active(self) -> Result<Vec<Key>> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM keys
             WHERE status = $1 AND (expires_at IS NULL OR expires_at > $2)
                 AND tenant IN (SELECT t.id FROM tenants t WHERE t.status = $1)
             ORDER BY created_at, id"
        )))
        .bind(Status::Active.as_str())
        .bind(row::now())
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(decode).collect()
    }

    /// Changes the key; with an expected version, only if it is still that one.
    pub async fn update(
        self,
        tenant: &TenantId,
        id: &KeyId,
        changes: KeyChanges,
        expected_version: Option<i64>,
    ) -> Result<Key> {
        check_text("name", changes.name.as_deref().unwrap_or_default())?;
        let bu_code = changes.bu_code.clone().flatten();
        check_text("bu_code", bu_code.as_deref().unwrap_or_default())?;
        let mut write = self.0.write().await?;
        let admins = admins::count(&mut write).await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "UPDATE keys SET name = COALESCE($4, name), role = COALESCE($5, role),
                 scopes = COALESCE($6, scopes), allow = COALESCE($7, allow),
                 limits = COALESCE($8, limits), status = COALESCE($9, status),
                 expires_at = CASE WHEN $10 = 1 THEN $11 ELSE expires_at END,
                 bu_code = CASE WHEN $13 = 1 THEN $14 ELSE bu_code END,
                 updated_at = $12, version = version + 1
             WHERE tenant = $1 AND id = $2 AND ($3 IS NULL OR version = $3) RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(expected_version)
        .bind(changes.name)
        .bind(changes.role.map(Role::as_str))
        .bind(changes.scopes.as_ref().map(row::to_json).transpose()?)
        .bind(changes.allow.as_ref().map(row::to_json).transpose()?)
        .bind(changes.limits.as_ref().map(row::to_json).transpose()?)
        .bind(changes.status.map(Status::as_str))
        .bind(i64::from(changes.expires_at.is_some()))
        .bind(changes.expires_at.flatten())
        .bind(row::now())
        .bind(i64::from(changes.bu_code.is_some()))
        .bind(bu_code)
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else {
            drop(write);
            self.get(tenant, id).await?;
            return Err(Error::stale("key"));
        };
        admins::check_left(&mut write, admins).await?;
        write.commit_change(tenant).await?;
        decode(&row)
    }

    /// Deletes the key; the last one of an admin is a conflict.
    pub async fn delete(self, tenant: &TenantId, id: &KeyId) -> Result<()> {
        admins::delete(self.0, tenant, "key", id.as_str()).await
    }
}

fn missing() -> Error {
    Error::not_found("key")
}

/// Eight characters, or fewer when they would give a short key away.
pub(crate) fn prefix_of(text: &str) -> String {
    text.chars().take((text.chars().count() / 4).min(8)).collect()
}

fn decode(row: &AnyRow) -> Result<Key> {
    Ok(Key {
        id: row::parsed(row, "id")?,
        tenant: row::parsed(row, "tenant")?,
        name: row::text(row, "name")?,
        prefix: row::text(row, "prefix")?,
        hash: KeyHash::parse(&row::text(row, "hash")?)?,
        role: row::parsed(row, "role")?,
        scopes: row::json(row, "scopes")?,
        allow: row::json(row, "allow")?,
        limits: row::json(row, "limits")?,
        bu_code: row::optional_text(row, "bu_code")?,
        status: Status::parse(&row::text(row, "status")?)?,
        expires_at: row::optional_integer(row, "expires_at")?,
        created_by: row::optional_text(row, "created_by")?,
        owner: row::optional_text(row, "owner")?,
        created_at: row::integer(row, "created_at")?,
        updated_at: row::integer(row, "updated_at")?,
        version: row::integer(row, "version")?,
    })
}
