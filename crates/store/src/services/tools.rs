//! The tools that users define on a service. Each change of a tool is a change of its service.

use crate::database::Write;
use crate::error::check_text;
use crate::services::row::{decode_tools, tool_place};
use crate::services::{ServiceTool, Services};
use crate::{Error, Result, meta, row};
use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::Row as _;
use tool::TenantId;

impl Services<'_> {
    /// The service's tools, in their order.
    pub async fn list_tools(
        self,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
    ) -> Result<Vec<ServiceTool>> {
        Ok(self.get(tenant, scheme, service).await?.tools)
    }

    /// One tool of the service.
    pub async fn get_tool(
        self,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        tool: &str,
    ) -> Result<ServiceTool> {
        let tools = self.list_tools(tenant, scheme, service).await?;
        tools.into_iter().find(|found| found.id == tool).ok_or_else(missing)
    }

    /// Adds a tool after the others; a taken id is a conflict.
    pub async fn create_tool(
        self,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        tool: ServiceTool,
        expected_version: Option<i64>,
    ) -> Result<ServiceTool> {
        let (mut write, key_id) = self.begin(tenant, scheme, service, expected_version).await?;
        let last = sqlx::query(
            "SELECT COALESCE(MAX(position), 0) FROM service_tools
             WHERE tenant = $1 AND type = $2 AND service = $3",
        )
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(service)
        .fetch_one(write.connection())
        .await?;
        let position = last.try_get::<i64, _>(0)? + 1;
        self.insert_tool(&mut write, &key_id, tenant, scheme, service, position, &tool).await?;
        write.commit_change(tenant).await?;
        Ok(tool)
    }

    /// Changes a tool's definition as a whole; its place in the order stays.
    pub async fn update_tool(
        self,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        tool: ServiceTool,
        expected_version: Option<i64>,
    ) -> Result<ServiceTool> {
        let (mut write, key_id) = self.begin(tenant, scheme, service, expected_version).await?;
        let sealed = self.seal_definition(&key_id, tenant, scheme, service, &tool.id, &tool.definition)?;
        let done = sqlx::query(
            "UPDATE service_tools SET definition = $5
             WHERE tenant = $1 AND type = $2 AND service = $3 AND id = $4",
        )
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(service)
        .bind(row::clean(&tool.id))
        .bind(sealed)
        .execute(write.connection())
        .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        write.commit_change(tenant).await?;
        Ok(tool)
    }

    /// Begins to write a definition, and says with which key it is sealed.
    async fn begin(
        self,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        expected_version: Option<i64>,
    ) -> Result<(Write, String)> {
        let mut write = self.0.write().await?;
        let key_id = meta::sealing_key(self.0, &mut write).await?;
        self.touch(&mut write, tenant, scheme, service, expected_version).await?;
        Ok((write, key_id))
    }

    /// Deletes a tool.
    pub async fn delete_tool(
        self,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        tool: &str,
        expected_version: Option<i64>,
    ) -> Result<()> {
        let mut write = self.0.write().await?;
        self.touch(&mut write, tenant, scheme, service, expected_version).await?;
        let done = sqlx::query(
            "DELETE FROM service_tools WHERE tenant = $1 AND type = $2 AND service = $3 AND id = $4",
        )
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(service)
        .bind(row::clean(tool))
        .execute(write.connection())
        .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        write.commit_change(tenant).await
    }

    #[expect(clippy::too_many_arguments, reason = "the full name of a tool has four parts")]
    pub(crate) async fn insert_tool(
        self,
        write: &mut Write,
        key_id: &str,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        position: i64,
        tool: &ServiceTool,
    ) -> Result<()> {
        check_text("id", &tool.id)?;
        let sealed = self.seal_definition(key_id, tenant, scheme, service, &tool.id, &tool.definition)?;
        sqlx::query(
            "INSERT INTO service_tools (tenant, type, service, id, position, definition)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(service)
        .bind(tool.id.as_str())
        .bind(position)
        .bind(sealed)
        .execute(write.connection())
        .await?;
        Ok(())
    }

    pub(crate) async fn replace_tools(
        self,
        write: &mut Write,
        key_id: &str,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        tools: &[ServiceTool],
    ) -> Result<()> {
        sqlx::query("DELETE FROM service_tools WHERE tenant = $1 AND type = $2 AND service = $3")
            .bind(tenant.as_str())
            .bind(scheme)
            .bind(service)
            .execute(write.connection())
            .await?;
        for (position, tool) in (1..).zip(tools) {
            self.insert_tool(write, key_id, tenant, scheme, service, position, tool).await?;
        }
        Ok(())
    }

    pub(crate) async fn read_tools(
        self,
        connection: &mut AnyConnection,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
    ) -> Result<Vec<ServiceTool>> {
        let rows = sqlx::query(
            "SELECT type, service, id, definition FROM service_tools
             WHERE tenant = $1 AND type = $2 AND service = $3 ORDER BY position, id",
        )
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(service)
        .fetch_all(connection)
        .await?;
        let tools = decode_tools(self.0.vault(), tenant, &rows)?;
        Ok(tools.into_values().next().unwrap_or_default())
    }

    fn seal_definition(
        self,
        key_id: &str,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        tool: &str,
        definition: &Value,
    ) -> Result<String> {
        let place = tool_place(tenant.as_str(), scheme, service, tool);
        self.0.vault().seal(key_id, &place, &row::to_readable_json("definition", definition)?)
    }
}

fn missing() -> Error {
    Error::not_found("tool")
}
