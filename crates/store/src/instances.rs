//! MCP instances: doors of their own, each with a key and the tools that are bound to it.

use crate::error::check_text;
use crate::keys::{KeyHash, prefix_of};
use crate::page::List;
use crate::vault::random_text;
use crate::{Error, Page, PageRequest, Result, Status, Store, row as column};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use tool::{InstanceId, Secret, TenantId, ToolSearch};

const COLUMNS: &str = "tenant, id, name, description, status, owner, prefix, hash, created_at, updated_at, version, tool_search";

/// An instance, without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instance {
    /// Where the instance belongs.
    pub tenant: TenantId,
    /// Names the instance.
    pub id: InstanceId,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether its door is open.
    pub status: Status,
    /// The id of the key or user that made it.
    pub owner: String,
    /// The first characters of its key, to recognise it.
    pub prefix: String,
    /// How its door tells of its tools; `None`: all of them.
    pub tool_search: Option<ToolSearch>,
    /// What the key in a path is matched against.
    #[serde(skip)]
    pub hash: KeyHash,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change.
    pub version: i64,
}

/// An instance to be.
#[derive(Debug, Clone)]
pub struct NewInstance {
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The id of the key or user that makes it.
    pub owner: String,
    /// How its door tells of its tools.
    pub tool_search: Option<ToolSearch>,
}

/// What to change; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct InstanceChanges {
    /// The name for people.
    pub name: Option<String>,
    /// What it is for; `Some(None)` removes the text.
    pub description: Option<Option<String>>,
    /// Whether its door is open.
    pub status: Option<Status>,
    /// How its door tells of its tools; `Some(None)` is all of them.
    pub tool_search: Option<Option<ToolSearch>>,
}

/// The instances of the tenants.
#[derive(Debug, Clone, Copy)]
pub struct Instances<'a>(pub(crate) &'a Store);

impl Instances<'_> {
    /// Makes an instance. Its key is in the answer and nowhere else.
    pub async fn create(self, tenant: &TenantId, new: NewInstance) -> Result<(Instance, Secret)> {
        check_texts(Some(&new.name), new.description.as_deref())?;
        let key = new_key()?;
        let mut write = self.0.write().await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "INSERT INTO instances ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 1, $10)
             RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(InstanceId::generate().as_str())
        .bind(new.name)
        .bind(new.description)
        .bind(Status::Active.as_str())
        .bind(new.owner)
        .bind(prefix_of(key.expose()))
        .bind(hash_of(&key))
        .bind(column::now())
        .bind(new.tool_search.as_ref().map(column::to_json).transpose()?)
        .fetch_one(write.connection())
        .await?;
        write.commit_change(tenant).await?;
        Ok((decode(&row)?, key))
    }

    /// The instance.
    pub async fn get(self, tenant: &TenantId, id: &InstanceId) -> Result<Instance> {
        let sql = format!("SELECT {COLUMNS} FROM instances WHERE tenant = $1 AND id = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// The tenant's instances, oldest first; with an owner, only that owner's.
    pub async fn list(
        self,
        tenant: &TenantId,
        owner: Option<&str>,
        page: PageRequest,
    ) -> Result<Page<Instance>> {
        const WHERE: &str = "tenant = $1 AND ($2 IS NULL OR owner = $2)";
        let bound = |sql: String| {
            sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str().to_owned()).bind(owner.map(str::to_owned))
        };
        let list = List {
            columns: COLUMNS,
            from: &format!("instances WHERE {WHERE}"),
            order: "created_at, id",
            values: 2,
        };
        let (rows, total) = page.read(self.0, &list, bound).await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// Every open door of every active tenant. Platform-wide: for the snapshot that requests are
    /// checked against, so that calls need no database.
    pub async fn all_active(self) -> Result<Vec<Instance>> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM instances
             WHERE status = $1 AND tenant IN (SELECT t.id FROM tenants t WHERE t.status = $1)
             ORDER BY created_at, id"
        )))
        .bind(Status::Active.as_str())
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(decode).collect()
    }

    /// How the doors of a tenant's instances tell of their tools, where that is said.
    pub async fn tool_searches(self, tenant: &TenantId) -> Result<Vec<(InstanceId, ToolSearch)>> {
        let rows = sqlx::query(
            "SELECT id, tool_search FROM instances WHERE tenant = $1 AND tool_search IS NOT NULL ORDER BY id",
        )
        .bind(tenant.as_str())
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(|row| Ok((column::parsed(row, "id")?, column::json(row, "tool_search")?))).collect()
    }

    /// Changes the instance; with an expected version, only if it is still that one.
    pub async fn update(
        self,
        tenant: &TenantId,
        id: &InstanceId,
        changes: InstanceChanges,
        expected_version: Option<i64>,
    ) -> Result<Instance> {
        check_texts(changes.name.as_deref(), changes.description.as_ref().and_then(Option::as_deref))?;
        let mut write = self.0.write().await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "UPDATE instances SET name = COALESCE($3, name),
                 description = CASE WHEN $4 = 1 THEN $5 ELSE description END,
                 status = COALESCE($6, status), updated_at = $7, version = version + 1,
                 tool_search = CASE WHEN $8 = 1 THEN $9 ELSE tool_search END
             WHERE tenant = $1 AND id = $2 AND ($10 IS NULL OR version = $10) RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(changes.name)
        .bind(i64::from(changes.description.is_some()))
        .bind(changes.description.flatten())
        .bind(changes.status.map(Status::as_str))
        .bind(column::now())
        .bind(i64::from(changes.tool_search.is_some()))
        .bind(changes.tool_search.flatten().as_ref().map(column::to_json).transpose()?)
        .bind(expected_version)
        .fetch_optional(write.connection())
        .await?;
        let Some(row) = row else {
            drop(write);
            self.get(tenant, id).await?;
            return Err(Error::stale("MCP instance"));
        };
        write.commit_change(tenant).await?;
        decode(&row)
    }

    /// Gives the instance another key; the old one is void.
    pub async fn rotate_key(self, tenant: &TenantId, id: &InstanceId) -> Result<(Instance, Secret)> {
        let key = new_key()?;
        let mut write = self.0.write().await?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "UPDATE instances SET prefix = $3, hash = $4, updated_at = $5, version = version + 1
             WHERE tenant = $1 AND id = $2 RETURNING {COLUMNS}"
        )))
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(prefix_of(key.expose()))
        .bind(hash_of(&key))
        .bind(column::now())
        .fetch_optional(write.connection())
        .await?;
        let instance = decode(&row.ok_or_else(missing)?)?;
        write.commit_change(tenant).await?;
        Ok((instance, key))
    }

    /// Deletes the instance with its bindings.
    pub async fn delete(self, tenant: &TenantId, id: &InstanceId) -> Result<()> {
        let mut write = self.0.write().await?;
        let done = sqlx::query("DELETE FROM instances WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .execute(write.connection())
            .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        write.commit_change(tenant).await
    }
}

fn new_key() -> Result<Secret> {
    Ok(Secret::new(format!("mi_{}", random_text::<32>()?.expose())))
}

fn hash_of(key: &Secret) -> String {
    BASE64.encode(KeyHash::of(key.expose()).0)
}

pub(crate) fn missing() -> Error {
    Error::not_found("MCP instance")
}

fn check_texts(name: Option<&str>, description: Option<&str>) -> Result<()> {
    check_text("name", name.unwrap_or_default())?;
    check_text("description", description.unwrap_or_default())
}

fn decode(row: &AnyRow) -> Result<Instance> {
    Ok(Instance {
        tenant: column::parsed(row, "tenant")?,
        id: column::parsed(row, "id")?,
        name: column::text(row, "name")?,
        description: column::optional_text(row, "description")?,
        status: Status::parse(&column::text(row, "status")?)?,
        owner: column::text(row, "owner")?,
        prefix: column::text(row, "prefix")?,
        tool_search: column::optional_json(row, "tool_search")?,
        hash: KeyHash::parse(&column::text(row, "hash")?)?,
        created_at: column::integer(row, "created_at")?,
        updated_at: column::integer(row, "updated_at")?,
        version: column::integer(row, "version")?,
    })
}
