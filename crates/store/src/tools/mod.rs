//! Tools: what a tenant calls by a name of its own, with every version they had. Sealed.

mod definition;
mod read;
pub(crate) mod row;

pub use definition::{NewTool, Tool, ToolChanges, ToolContent, ToolFilter, ToolStatus, ToolVersion};

use crate::database::Write;
use crate::error::check_text;
use crate::{Error, Result, Store, bindings, meta, row as column, search};
use row::{COLUMNS, content_of, decode, search_text, tool_place, version_place};
use sqlx::{AnyConnection, AssertSqlSafe};
use tool::{TenantId, ToolId};

/// The Tools of the tenants.
#[derive(Debug, Clone, Copy)]
pub struct Tools<'a>(pub(crate) &'a Store);

impl Tools<'_> {
    /// Adds a Tool; a taken name is a conflict.
    pub async fn create(self, tenant: &TenantId, new: NewTool) -> Result<Tool> {
        check_texts(&new.name, new.alias.as_deref(), new.description.as_deref())?;
        check_text("type", &new.kind)?;
        let mut write = self.0.write().await?;
        let key_id = meta::sealing_key(self.0, &mut write).await?;
        let now = column::now();
        let owner = new.owner.clone();
        let tool = Tool {
            tenant: tenant.clone(),
            id: ToolId::generate(),
            name: new.name,
            alias: new.alias,
            kind: new.kind,
            description: new.description,
            status: new.status,
            owner: new.owner,
            definition: new.definition,
            created_at: now,
            updated_at: now,
            version: 1,
        };
        sqlx::query(
            "INSERT INTO tools (tenant, id, name, alias, type, description, search, status, owner, definition,
                 created_at, updated_at, version)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, 1)",
        )
        .bind(tenant.as_str())
        .bind(tool.id.as_str())
        .bind(tool.name.as_str())
        .bind(tool.alias.as_deref())
        .bind(tool.kind.as_str())
        .bind(tool.description.as_deref())
        .bind(search_text(&tool))
        .bind(tool.status.as_str())
        .bind(tool.owner.as_str())
        .bind(self.seal(&key_id, &tool)?)
        .bind(now)
        .execute(write.connection())
        .await?;
        self.keep_version(&mut write, &key_id, &tool, &owner).await?;
        search::follow(&mut write, &tool).await?;
        write.commit_change(tenant).await?;
        Ok(tool)
    }

    /// Changes the Tool on behalf of `changed_by`; with an expected version, only if it is still
    /// that one.
    pub async fn update(
        self,
        tenant: &TenantId,
        id: &ToolId,
        changes: ToolChanges,
        changed_by: &str,
        expected_version: Option<i64>,
    ) -> Result<Tool> {
        let mut write = self.0.write().await?;
        let key_id = meta::sealing_key(self.0, &mut write).await?;
        lock(write.connection(), tenant, id).await?;
        let mut tool = self.read(write.connection(), tenant, id).await?;
        if expected_version.is_some_and(|expected| expected != tool.version) {
            return Err(Error::stale("tool"));
        }
        let old_name = tool.name.clone();
        tool.apply(changes);
        check_texts(&tool.name, tool.alias.as_deref(), tool.description.as_deref())?;
        if tool.name != old_name {
            bindings::rename(write.connection(), tenant, id, &tool.name).await?;
        }
        tool.version += 1;
        tool.updated_at = column::now();
        sqlx::query(
            "UPDATE tools SET name = $3, alias = $4, description = $5, search = $6, status = $7,
                 definition = $8, updated_at = $9, version = $10
             WHERE tenant = $1 AND id = $2",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(tool.name.as_str())
        .bind(tool.alias.as_deref())
        .bind(tool.description.as_deref())
        .bind(search_text(&tool))
        .bind(tool.status.as_str())
        .bind(self.seal(&key_id, &tool)?)
        .bind(tool.updated_at)
        .bind(tool.version)
        .execute(write.connection())
        .await?;
        self.keep_version(&mut write, &key_id, &tool, changed_by).await?;
        search::follow(&mut write, &tool).await?;
        write.commit_change(tenant).await?;
        Ok(tool)
    }

    /// Deletes the Tool with its versions.
    pub async fn delete(self, tenant: &TenantId, id: &ToolId) -> Result<()> {
        let mut write = self.0.write().await?;
        search::drop_words(&mut write, tenant, id).await?;
        let done = sqlx::query("DELETE FROM tools WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .execute(write.connection())
            .await?;
        if done.rows_affected() == 0 {
            return Err(missing());
        }
        write.commit_change(tenant).await
    }

    pub(crate) async fn read(
        self,
        connection: &mut AnyConnection,
        tenant: &TenantId,
        id: &ToolId,
    ) -> Result<Tool> {
        let row =
            sqlx::query(AssertSqlSafe(format!("SELECT {COLUMNS} FROM tools WHERE tenant = $1 AND id = $2")))
                .bind(tenant.as_str())
                .bind(id.as_str())
                .fetch_optional(connection)
                .await?;
        decode(self.0.vault(), &row.ok_or_else(missing)?)
    }

    async fn keep_version(
        self,
        write: &mut Write,
        key_id: &str,
        tool: &Tool,
        changed_by: &str,
    ) -> Result<()> {
        let place = version_place(tool.tenant.as_str(), tool.id.as_str(), tool.version);
        let content = column::to_json(&content_of(tool))?;
        sqlx::query(
            "INSERT INTO tool_versions (tenant, tool, version, content, changed_by, at)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(tool.tenant.as_str())
        .bind(tool.id.as_str())
        .bind(tool.version)
        .bind(self.0.vault().seal(key_id, &place, &content)?)
        .bind(changed_by)
        .bind(tool.updated_at)
        .execute(write.connection())
        .await?;
        Ok(())
    }

    fn seal(self, key_id: &str, tool: &Tool) -> Result<String> {
        let place = tool_place(tool.tenant.as_str(), tool.id.as_str());
        self.0.vault().seal(key_id, &place, &column::to_readable_json("definition", &tool.definition)?)
    }
}

/// Holds the row until the transaction ends, so that two changes do not undo each other.
async fn lock(connection: &mut AnyConnection, tenant: &TenantId, id: &ToolId) -> Result<()> {
    let done = sqlx::query("UPDATE tools SET version = version WHERE tenant = $1 AND id = $2")
        .bind(tenant.as_str())
        .bind(id.as_str())
        .execute(connection)
        .await?;
    if done.rows_affected() == 0 { Err(missing()) } else { Ok(()) }
}

pub(crate) fn missing() -> Error {
    Error::not_found("tool")
}

fn check_texts(name: &str, alias: Option<&str>, description: Option<&str>) -> Result<()> {
    check_text("name", name)?;
    check_text("alias", alias.unwrap_or_default())?;
    check_text("description", description.unwrap_or_default())
}
