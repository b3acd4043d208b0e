//! Services: what a tenant has configured, with its settings and tools sealed.

mod pins;
mod read;
mod row;
mod tools;

pub use pins::{Announce, ServicePins};
pub(crate) use row::{service_place, tool_place};

use crate::database::Write;
use crate::error::check_text;
use crate::queues::forget_later_calls;
use crate::{Error, Result, Status, Store, meta, row as column};
use row::search_text;
use serde::Serialize;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use tool::TenantId;

/// A configured service, e.g. `api://crm-service`.
#[derive(Clone, PartialEq, Serialize)]
pub struct Service {
    /// Where the service belongs.
    pub tenant: TenantId,
    /// Its type, which is the scheme of its tools' URIs.
    #[serde(rename = "type")]
    pub scheme: String,
    /// Its name in URIs, unique per tenant and type.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its settings, secrets included.
    pub config: Value,
    /// The tools that users defined, in their order.
    pub tools: Vec<ServiceTool>,
    /// Whether its tools may be called.
    pub is_enabled: bool,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change, of its tools too.
    pub version: i64,
}

/// A tool that a user defined on a service.
#[derive(Clone, PartialEq, Serialize)]
pub struct ServiceTool {
    /// Its name, unique in the service.
    pub id: String,
    /// Everything else about it, secrets included.
    pub definition: Value,
}

/// A service to be. The caller has checked that the ids are ids.
#[derive(Clone)]
pub struct NewService {
    /// Its type.
    pub scheme: String,
    /// Its name in URIs.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its settings.
    pub config: Value,
    /// Its tools.
    pub tools: Vec<ServiceTool>,
    /// Whether its tools may be called from the start.
    pub is_enabled: bool,
}

/// What to change; what is `None` stays.
#[derive(Clone, Default)]
pub struct ServiceChanges {
    /// The name for people.
    pub name: Option<String>,
    /// What it is for; `Some(None)` removes the text.
    pub description: Option<Option<String>>,
    /// The settings, as a whole.
    pub config: Option<Value>,
    /// The tools, all of them.
    pub tools: Option<Vec<ServiceTool>>,
    /// Whether its tools may be called.
    pub is_enabled: Option<bool>,
}

/// Which services to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct ServiceFilter {
    /// Of this type only.
    pub scheme: Option<String>,
    /// Only those switched on, or off.
    pub is_enabled: Option<bool>,
    /// With this text in id, name or description, in any case.
    pub text: Option<String>,
}

/// The configured services and their tools.
#[derive(Debug, Clone, Copy)]
pub struct Services<'a>(pub(crate) &'a Store);

impl Services<'_> {
    /// Adds a service with its tools, all or nothing; a taken id is a conflict.
    pub async fn create(self, tenant: &TenantId, new: NewService) -> Result<Service> {
        check_service(&new.name, new.description.as_deref())?;
        check_text("type", &new.scheme)?;
        check_text("id", &new.id)?;
        let mut write = self.0.write().await?;
        let key_id = meta::sealing_key(self.0, &mut write).await?;
        let place = service_place(tenant.as_str(), &new.scheme, &new.id);
        let config =
            self.0.vault().seal(&key_id, &place, &column::to_readable_json("config", &new.config)?)?;
        sqlx::query(
            "INSERT INTO services (tenant, type, id, name, description, search, status, config,
                 created_at, updated_at, version)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, 1)",
        )
        .bind(tenant.as_str())
        .bind(new.scheme.as_str())
        .bind(new.id.as_str())
        .bind(new.name.as_str())
        .bind(new.description.as_deref())
        .bind(search_text(&new.id, &new.name, new.description.as_deref()))
        .bind(Status::enabled(new.is_enabled).as_str())
        .bind(config)
        .bind(column::now())
        .execute(write.connection())
        .await?;
        for (position, tool) in (1..).zip(&new.tools) {
            self.insert_tool(&mut write, &key_id, tenant, &new.scheme, &new.id, position, tool).await?;
        }
        self.finish(write, tenant, &new.scheme, &new.id).await
    }

    /// Changes the service; with an expected version, only if it is still that one.
    pub async fn update(
        self,
        tenant: &TenantId,
        scheme: &str,
        id: &str,
        changes: ServiceChanges,
        expected_version: Option<i64>,
    ) -> Result<Service> {
        let description = changes.description.as_ref().and_then(Option::as_deref);
        check_service(changes.name.as_deref().unwrap_or_default(), description)?;
        let mut write = self.0.write().await?;
        let key_id = meta::sealing_key(self.0, &mut write).await?;
        let config = self.seal_config(&key_id, tenant, scheme, id, changes.config.as_ref())?;
        self.touch(&mut write, tenant, scheme, id, expected_version).await?;
        sqlx::query(
            "UPDATE services SET name = COALESCE($4, name), status = COALESCE($5, status),
                 config = COALESCE($6, config),
                 description = CASE WHEN $7 = 1 THEN $8 ELSE description END
             WHERE tenant = $1 AND type = $2 AND id = $3",
        )
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(id)
        .bind(changes.name.as_deref())
        .bind(changes.is_enabled.map(|on| Status::enabled(on).as_str()))
        .bind(config)
        .bind(i64::from(changes.description.is_some()))
        .bind(description)
        .execute(write.connection())
        .await?;
        if let Some(tools) = &changes.tools {
            self.replace_tools(&mut write, &key_id, tenant, scheme, id, tools).await?;
        }
        self.refresh_search(&mut write, tenant, scheme, id).await?;
        self.finish(write, tenant, scheme, id).await
    }

    /// Switches the service on or off.
    pub async fn set_enabled(
        self,
        tenant: &TenantId,
        scheme: &str,
        id: &str,
        is_enabled: bool,
    ) -> Result<Service> {
        let changes = ServiceChanges { is_enabled: Some(is_enabled), ..ServiceChanges::default() };
        self.update(tenant, scheme, id, changes, None).await
    }

    /// Deletes the service with its tools.
    pub async fn delete(self, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
        let write = self.delete_row(tenant, scheme, id).await?;
        write.commit_change(tenant).await
    }

    /// Deletes the service with its tools and the queues that it keeps here, which have its id alone before their names.
    pub async fn delete_with_queues(self, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
        let mut write = self.delete_row(tenant, scheme, id).await?;
        // In the order in which others lock them.
        for (table, column) in [("queue_messages", "queue"), ("queues", "name")] {
            forget(&mut write, tenant, table, column, &format!("{id}/")).await?;
        }
        write.commit_change(tenant).await
    }

    /// Deletes the service with all that is kept under its address: calls that wait for it, and keys of what it sent once.
    async fn delete_row(self, tenant: &TenantId, scheme: &str, id: &str) -> Result<Write> {
        check_name(scheme, id)?;
        let mut write = self.0.write().await?;
        let done = sqlx::query("DELETE FROM services WHERE tenant = $1 AND type = $2 AND id = $3")
            .bind(tenant.as_str())
            .bind(scheme)
            .bind(id)
            .execute(write.connection())
            .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        let place = format!("{scheme}/{id}/");
        forget_later_calls(&mut write, tenant, &place).await?;
        forget(&mut write, tenant, "once_results", "scope", &place).await?;
        Ok(write)
    }

    /// Locks the service's row, counts the change and checks the version.
    pub(crate) async fn touch(
        self,
        write: &mut Write,
        tenant: &TenantId,
        scheme: &str,
        id: &str,
        expected_version: Option<i64>,
    ) -> Result<()> {
        check_name(scheme, id)?;
        let done = sqlx::query(
            "UPDATE services SET version = version + 1, updated_at = $4
             WHERE tenant = $1 AND type = $2 AND id = $3 RETURNING version",
        )
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(id)
        .bind(column::now())
        .fetch_optional(write.connection())
        .await?;
        let version = column::integer(&done.ok_or_else(missing)?, "version")?;
        if expected_version.is_some_and(|expected| expected + 1 != version) {
            return Err(Error::stale("service"));
        }
        Ok(())
    }

    /// Reads the service back within the transaction, then commits.
    async fn finish(self, mut write: Write, tenant: &TenantId, scheme: &str, id: &str) -> Result<Service> {
        let service = self.read(write.connection(), tenant, scheme, id).await?;
        write.commit_change(tenant).await?;
        Ok(service)
    }

    fn seal_config(
        self,
        key_id: &str,
        tenant: &TenantId,
        scheme: &str,
        id: &str,
        config: Option<&Value>,
    ) -> Result<Option<String>> {
        let place = service_place(tenant.as_str(), scheme, id);
        config
            .map(|config| self.0.vault().seal(key_id, &place, &column::to_readable_json("config", config)?))
            .transpose()
    }

    /// The search column follows from the others; it is computed here for both databases alike.
    async fn refresh_search(
        self,
        write: &mut Write,
        tenant: &TenantId,
        scheme: &str,
        id: &str,
    ) -> Result<()> {
        let row =
            sqlx::query("SELECT name, description FROM services WHERE tenant = $1 AND type = $2 AND id = $3")
                .bind(tenant.as_str())
                .bind(scheme)
                .bind(id)
                .fetch_one(write.connection())
                .await?;
        let description = column::optional_text(&row, "description")?;
        let search = search_text(id, &column::text(&row, "name")?, description.as_deref());
        sqlx::query("UPDATE services SET search = $4 WHERE tenant = $1 AND type = $2 AND id = $3")
            .bind(tenant.as_str())
            .bind(scheme)
            .bind(id)
            .bind(search)
            .execute(write.connection())
            .await?;
        Ok(())
    }
}

/// Deletes the rows of which a column begins so.
async fn forget(
    write: &mut Write,
    tenant: &TenantId,
    table: &str,
    column: &str,
    beginning: &str,
) -> Result<()> {
    let sql = format!("DELETE FROM {table} WHERE tenant = $1 AND substr({column}, 1, length($2)) = $2");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(beginning.to_owned());
    query.execute(write.connection()).await?;
    Ok(())
}

pub(crate) fn missing() -> Error {
    Error::not_found("service")
}

/// No service has U+0000 in its name; PostgreSQL would not even look.
pub(crate) fn check_name(scheme: &str, id: &str) -> Result<()> {
    if scheme.contains('\0') || id.contains('\0') { Err(missing()) } else { Ok(()) }
}

fn check_service(name: &str, description: Option<&str>) -> Result<()> {
    check_text("name", name)?;
    check_text("description", description.unwrap_or_default())
}
