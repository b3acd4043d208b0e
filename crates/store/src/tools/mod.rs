//! Tools: what a tenant calls by a name of its own, with every version they had. Sealed.

mod read;
pub(crate) mod row;

use crate::database::Write;
use crate::error::check_text;
use crate::{Error, Result, Store, bindings, meta, row as column, search};
use row::{COLUMNS, content_of, decode, search_text, tool_place, version_place};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{AnyConnection, AssertSqlSafe};
use tool::{TenantId, ToolId};

/// A Tool: a name over an HTTP request, a URI, or whatever its type says.
#[derive(Clone, PartialEq, Serialize)]
pub struct Tool {
    /// Where the Tool belongs.
    pub tenant: TenantId,
    /// Never changes, whatever the Tool is called.
    pub id: ToolId,
    /// What it is called by, unique in the tenant.
    pub name: String,
    /// Another name, for people.
    pub alias: Option<String>,
    /// What the definition describes, e.g. `http` or `uri`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it can be called.
    pub status: ToolStatus,
    /// The id of the key or user that made it.
    pub owner: String,
    /// Everything else about it, secrets included.
    pub definition: Value,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change.
    pub version: i64,
}

/// Whether a Tool can be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// Only to be tried out by those who manage it.
    Testing,
    /// Listed and called.
    #[default]
    Active,
    /// Switched off.
    Inactive,
}

impl ToolStatus {
    /// The status as it is written in JSON and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Testing => "testing",
            Self::Active => "active",
            Self::Inactive => "inactive",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        [Self::Testing, Self::Active, Self::Inactive]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| Error::corrupt("the database holds an unknown status of a tool"))
    }
}

/// A Tool to be. The caller has checked the name.
#[derive(Clone)]
pub struct NewTool {
    /// What it is called by.
    pub name: String,
    /// Another name, for people.
    pub alias: Option<String>,
    /// What the definition describes.
    pub kind: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it can be called.
    pub status: ToolStatus,
    /// The id of the key or user that makes it.
    pub owner: String,
    /// Everything else about it.
    pub definition: Value,
}

/// What to change; what is `None` stays.
#[derive(Clone, Default)]
pub struct ToolChanges {
    /// What it is called by.
    pub name: Option<String>,
    /// Another name, for people; `Some(None)` removes it.
    pub alias: Option<Option<String>>,
    /// What it is for; `Some(None)` removes the text.
    pub description: Option<Option<String>>,
    /// Whether it can be called.
    pub status: Option<ToolStatus>,
    /// Everything else about it, as a whole.
    pub definition: Option<Value>,
}

/// Which Tools to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// Of this type only.
    pub kind: Option<String>,
    /// In this status only.
    pub status: Option<ToolStatus>,
    /// Of this owner only.
    pub owner: Option<String>,
    /// With this text in name, alias or description, in any case.
    pub text: Option<String>,
}

/// A Tool as it once was.
#[derive(Clone, PartialEq)]
pub struct ToolVersion {
    /// Which version.
    pub version: i64,
    /// What could be rolled back to.
    pub content: ToolContent,
    /// The id of the key or user that made the version.
    pub changed_by: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// What a version of a Tool consists of.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolContent {
    /// What it was called by.
    pub name: String,
    /// Another name, for people.
    pub alias: Option<String>,
    /// What it was for.
    pub description: Option<String>,
    /// Everything else, secrets included.
    pub definition: Value,
    /// How it was switched, which no rollback changes. Older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
}

impl From<ToolContent> for ToolChanges {
    fn from(content: ToolContent) -> Self {
        Self {
            name: Some(content.name),
            alias: Some(content.alias),
            description: Some(content.description),
            status: None,
            definition: Some(content.definition),
        }
    }
}

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

impl Tool {
    fn apply(&mut self, changes: ToolChanges) {
        let ToolChanges { name, alias, description, status, definition } = changes;
        self.name = name.unwrap_or_else(|| std::mem::take(&mut self.name));
        self.alias = alias.unwrap_or_else(|| self.alias.take());
        self.description = description.unwrap_or_else(|| self.description.take());
        self.status = status.unwrap_or(self.status);
        self.definition = definition.unwrap_or_else(|| self.definition.take());
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
