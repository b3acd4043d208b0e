//! Reading Tools: one, a page, all of a tenant, and what they once were.

use crate::page::List;
use crate::tools::row::{COLUMNS, decode, decode_version};
use crate::tools::{Tool, ToolFilter, ToolVersion, Tools, missing};
use crate::{Error, Page, PageRequest, Result, row as column};
use sqlx::AssertSqlSafe;
use tool::{TenantId, ToolId};

/// The condition of every list; `$1` is the tenant.
const WHERE: &str = "tenant = $1 AND ($2 IS NULL OR type = $2) AND ($3 IS NULL OR status = $3)
    AND ($4 IS NULL OR owner = $4) AND ($5 IS NULL OR search LIKE $5 ESCAPE '!')";

impl Tools<'_> {
    /// The Tool.
    pub async fn get(self, tenant: &TenantId, id: &ToolId) -> Result<Tool> {
        let mut snapshot = self.0.snapshot().await?;
        self.read(&mut snapshot, tenant, id).await
    }

    /// The Tool with this name, if there is one.
    pub async fn find_by_name(self, tenant: &TenantId, name: &str) -> Result<Option<Tool>> {
        let row = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM tools WHERE tenant = $1 AND name = $2"
        )))
        .bind(tenant.as_str())
        .bind(column::clean(name))
        .fetch_optional(self.0.pool())
        .await?;
        row.map(|row| decode(self.0.vault(), &row)).transpose()
    }

    /// The tenant's Tools that fit the filter, oldest first.
    pub async fn list(self, tenant: &TenantId, filter: &ToolFilter, page: PageRequest) -> Result<Page<Tool>> {
        let bound = |sql: String| {
            sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str().to_owned())
                .bind(filter.kind.as_deref().map(column::clean))
                .bind(filter.status.map(|status| status.as_str()))
                .bind(filter.owner.clone())
                .bind(filter.text.as_deref().map(column::pattern))
        };
        let list = List {
            columns: COLUMNS,
            from: &format!("tools WHERE {WHERE}"),
            order: "created_at, id",
            values: 5,
        };
        let (rows, total) = page.read(self.0, &list, bound).await?;
        Ok(page.of(rows.iter().map(|row| decode(self.0.vault(), row)).collect::<Result<_>>()?, total))
    }

    /// Every Tool of the tenant: for the catalog.
    pub async fn all(self, tenant: &TenantId) -> Result<Vec<Tool>> {
        let rows = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM tools WHERE tenant = $1 ORDER BY created_at, id"
        )))
        .bind(tenant.as_str())
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(|row| decode(self.0.vault(), row)).collect()
    }

    /// What the Tool was, newest first.
    pub async fn versions(
        self,
        tenant: &TenantId,
        id: &ToolId,
        page: PageRequest,
    ) -> Result<Page<ToolVersion>> {
        let mut snapshot = self.0.snapshot().await?;
        self.read(&mut snapshot, tenant, id).await?;
        let total =
            sqlx::query("SELECT COUNT(*) AS total FROM tool_versions WHERE tenant = $1 AND tool = $2")
                .bind(tenant.as_str())
                .bind(id.as_str())
                .fetch_one(&mut *snapshot)
                .await?;
        let rows = sqlx::query(
            "SELECT tenant, tool, version, content, changed_by, at FROM tool_versions
             WHERE tenant = $1 AND tool = $2 ORDER BY version DESC LIMIT $3 OFFSET $4",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(page.limit())
        .bind(page.offset())
        .fetch_all(&mut *snapshot)
        .await?;
        let items = rows.iter().map(|row| decode_version(self.0.vault(), row)).collect::<Result<_>>()?;
        Ok(page.of(items, column::integer(&total, "total")?))
    }

    /// What the Tool was in one version.
    pub async fn version(self, tenant: &TenantId, id: &ToolId, version: i64) -> Result<ToolVersion> {
        let row = sqlx::query(
            "SELECT tenant, tool, version, content, changed_by, at FROM tool_versions
             WHERE tenant = $1 AND tool = $2 AND version = $3",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(version)
        .fetch_optional(self.0.pool())
        .await?;
        let Some(row) = row else {
            self.get(tenant, id).await.map_err(|_| missing())?;
            return Err(Error::not_found("version of the tool"));
        };
        decode_version(self.0.vault(), &row)
    }
}
