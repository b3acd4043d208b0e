//! Bindings: which Tools an MCP instance offers.

use crate::instances::{self, Instances};
use crate::{Error, ErrorKind, Result, row as column};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe};
use tool::{InstanceId, TenantId, ToolId};

const COLUMNS: &str = "instance, tool, id, name, status, created_at, updated_at";

/// A Tool that is bound to an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// Names the binding.
    pub id: String,
    /// The instance.
    pub instance: InstanceId,
    /// The Tool.
    pub tool: ToolId,
    /// What the Tool is called, unique in the instance.
    pub name: String,
    /// Whether the instance offers it.
    pub status: BindingStatus,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
}

/// Whether an instance offers a Tool that is bound to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BindingStatus {
    /// Listed and called.
    #[default]
    Enabled,
    /// Switched off; its name stays taken.
    Disabled,
}

impl BindingStatus {
    /// The status as it is written in JSON and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }

    fn parse(text: &str) -> Result<Self> {
        [Self::Enabled, Self::Disabled]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| Error::corrupt("the database holds an unknown status of a binding"))
    }
}

impl Instances<'_> {
    /// Binds Tools to the instance, all of them or none. Two Tools of one name are a conflict,
    /// also where one is switched off.
    pub async fn bind(
        self,
        tenant: &TenantId,
        id: &InstanceId,
        tools: &[(ToolId, BindingStatus)],
    ) -> Result<Vec<Binding>> {
        let mut write = self.0.write().await?;
        let mut bound = Vec::with_capacity(tools.len());
        for (tool, status) in tools {
            // Held until the end, so that no renaming comes between.
            let name = lock_tool(write.connection(), tenant, tool).await?;
            lock_instance(write.connection(), tenant, id).await?;
            check_free(write.connection(), tenant, id, tool, &name).await?;
            let sql = format!(
                "INSERT INTO bindings (tenant, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
                 RETURNING {COLUMNS}"
            );
            let row = sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str())
                .bind(id.as_str())
                .bind(tool.as_str())
                .bind(ToolId::generate().as_str())
                .bind(name)
                .bind(status.as_str())
                .bind(column::now())
                .fetch_one(write.connection())
                .await?;
            bound.push(decode(&row)?);
        }
        write.commit_change(tenant).await?;
        Ok(bound)
    }

    /// Switches a binding on or off.
    pub async fn switch(
        self,
        tenant: &TenantId,
        id: &InstanceId,
        tool: &ToolId,
        status: BindingStatus,
    ) -> Result<Binding> {
        let mut write = self.0.write().await?;
        let sql = format!(
            "UPDATE bindings SET status = $4, updated_at = $5
             WHERE tenant = $1 AND instance = $2 AND tool = $3 RETURNING {COLUMNS}"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(tool.as_str())
            .bind(status.as_str())
            .bind(column::now())
            .fetch_optional(write.connection())
            .await?;
        let binding = decode(&row.ok_or_else(missing)?)?;
        write.commit_change(tenant).await?;
        Ok(binding)
    }

    /// Takes a Tool from the instance.
    pub async fn unbind(self, tenant: &TenantId, id: &InstanceId, tool: &ToolId) -> Result<()> {
        let mut write = self.0.write().await?;
        let done = sqlx::query("DELETE FROM bindings WHERE tenant = $1 AND instance = $2 AND tool = $3")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(tool.as_str())
            .execute(write.connection())
            .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        write.commit_change(tenant).await
    }

    /// The bindings of all instances of the tenant, by instance and oldest first; with an instance, only its own.
    pub async fn bindings(self, tenant: &TenantId, id: Option<&InstanceId>) -> Result<Vec<Binding>> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM bindings WHERE tenant = $1 AND ($2 IS NULL OR instance = $2)
             ORDER BY instance, created_at, id"
        )))
        .bind(tenant.as_str())
        .bind(id.map(InstanceId::as_str))
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(decode).collect()
    }
}

/// Gives a Tool's bindings its new name, unless an instance has a Tool of that name.
pub(crate) async fn rename(
    connection: &mut AnyConnection,
    tenant: &TenantId,
    tool: &ToolId,
    name: &str,
) -> Result<()> {
    let taken = sqlx::query(
        "SELECT i.name AS instance_name FROM bindings mine
         JOIN bindings other ON other.tenant = mine.tenant AND other.instance = mine.instance
         JOIN instances i ON i.tenant = mine.tenant AND i.id = mine.instance
         WHERE mine.tenant = $1 AND mine.tool = $2 AND other.tool <> $2 AND other.name = $3
         ORDER BY i.name LIMIT 1",
    )
    .bind(tenant.as_str())
    .bind(tool.as_str())
    .bind(name)
    .fetch_optional(&mut *connection)
    .await?;
    if let Some(row) = taken {
        return Err(taken_in(&column::text(&row, "instance_name")?, name));
    }
    sqlx::query("UPDATE bindings SET name = $3 WHERE tenant = $1 AND tool = $2")
        .bind(tenant.as_str())
        .bind(tool.as_str())
        .bind(name)
        .execute(connection)
        .await?;
    Ok(())
}

async fn check_free(
    connection: &mut AnyConnection,
    tenant: &TenantId,
    id: &InstanceId,
    tool: &ToolId,
    name: &str,
) -> Result<()> {
    let taken = sqlx::query(
        "SELECT b.tool AS tool, i.name AS instance_name FROM bindings b
         JOIN instances i ON i.tenant = b.tenant AND i.id = b.instance
         WHERE b.tenant = $1 AND b.instance = $2 AND (b.tool = $3 OR b.name = $4) LIMIT 1",
    )
    .bind(tenant.as_str())
    .bind(id.as_str())
    .bind(tool.as_str())
    .bind(name)
    .fetch_optional(connection)
    .await?;
    let Some(row) = taken else { return Ok(()) };
    let instance = column::text(&row, "instance_name")?;
    if column::text(&row, "tool")? == tool.as_str() {
        let message = format!("the tool '{name}' is bound to the MCP instance '{instance}' already");
        return Err(Error::new(ErrorKind::Conflict, message).at("tool_id"));
    }
    Err(taken_in(&instance, name))
}

fn taken_in(instance: &str, name: &str) -> Error {
    let message = format!("the MCP instance '{instance}' has another tool named '{name}' already");
    Error::new(ErrorKind::Conflict, message).at("name")
}

async fn lock_tool(connection: &mut AnyConnection, tenant: &TenantId, id: &ToolId) -> Result<String> {
    let row = sqlx::query("UPDATE tools SET version = version WHERE tenant = $1 AND id = $2 RETURNING name")
        .bind(tenant.as_str())
        .bind(id.as_str())
        .fetch_optional(connection)
        .await?;
    column::text(&row.ok_or_else(crate::tools::missing)?, "name")
}

async fn lock_instance(connection: &mut AnyConnection, tenant: &TenantId, id: &InstanceId) -> Result<()> {
    let done = sqlx::query("UPDATE instances SET version = version WHERE tenant = $1 AND id = $2")
        .bind(tenant.as_str())
        .bind(id.as_str())
        .execute(connection)
        .await?;
    if done.rows_affected() == 0 { Err(instances::missing()) } else { Ok(()) }
}

fn missing() -> Error {
    Error::not_found("binding")
}

fn decode(row: &AnyRow) -> Result<Binding> {
    Ok(Binding {
        id: column::text(row, "id")?,
        instance: column::parsed(row, "instance")?,
        tool: column::parsed(row, "tool")?,
        name: column::text(row, "name")?,
        status: BindingStatus::parse(&column::text(row, "status")?)?,
        created_at: column::integer(row, "created_at")?,
        updated_at: column::integer(row, "updated_at")?,
    })
}
