//! Between rows and Tools: unsealing, and the places that values are sealed for.

use crate::tools::{Tool, ToolContent, ToolStatus, ToolVersion};
use crate::vault::Vault;
use crate::{NewTool, Result, row};
use serde::de::DeserializeOwned;
use sqlx::any::AnyRow;
use std::fmt;
use tool::TenantId;

pub(crate) const COLUMNS: &str =
    "tenant, id, name, alias, type, description, status, owner, definition, created_at, updated_at, version";

/// Ids hold no `/`, so every Tool has a place of its own, apart from those of services' tools.
pub(crate) fn tool_place(tenant: &str, id: &str) -> String {
    format!("own-tool/{tenant}/{id}")
}

pub(crate) fn version_place(tenant: &str, tool: &str, version: i64) -> String {
    format!("own-tool-version/{tenant}/{tool}/{version}")
}

/// What the text filter looks at.
pub(crate) fn search_text(tool: &Tool) -> String {
    let texts = [Some(tool.name.as_str()), tool.alias.as_deref(), tool.description.as_deref()];
    texts.map(Option::unwrap_or_default).join("\n").to_lowercase()
}

/// What a version keeps of a Tool.
pub(crate) fn content_of(tool: &Tool) -> ToolContent {
    ToolContent {
        name: tool.name.clone(),
        alias: tool.alias.clone(),
        description: tool.description.clone(),
        definition: tool.definition.clone(),
        status: Some(tool.status),
    }
}

pub(crate) fn decode(vault: &Vault, row: &AnyRow) -> Result<Tool> {
    let tenant: TenantId = row::parsed(row, "tenant")?;
    let id = row::text(row, "id")?;
    let place = tool_place(tenant.as_str(), &id);
    Ok(Tool {
        definition: unseal(vault, &place, row, "definition")?,
        tenant,
        id: row::parsed(row, "id")?,
        name: row::text(row, "name")?,
        alias: row::optional_text(row, "alias")?,
        kind: row::text(row, "type")?,
        description: row::optional_text(row, "description")?,
        status: ToolStatus::parse(&row::text(row, "status")?)?,
        owner: row::text(row, "owner")?,
        created_at: row::integer(row, "created_at")?,
        updated_at: row::integer(row, "updated_at")?,
        version: row::integer(row, "version")?,
    })
}

pub(crate) fn decode_version(vault: &Vault, row: &AnyRow) -> Result<ToolVersion> {
    let version = row::integer(row, "version")?;
    let place = version_place(&row::text(row, "tenant")?, &row::text(row, "tool")?, version);
    Ok(ToolVersion {
        version,
        content: unseal(vault, &place, row, "content")?,
        changed_by: row::text(row, "changed_by")?,
        at: row::integer(row, "at")?,
    })
}

fn unseal<T: DeserializeOwned>(vault: &Vault, place: &str, row: &AnyRow, column: &str) -> Result<T> {
    let text = vault.open(place, &row::text(row, column)?)?;
    serde_json::from_str(&text).map_err(|_| row::undecodable(column))
}

/// Without the definition, which may hold secrets.
impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("tenant", &self.tenant)
            .field("id", &self.id)
            .field("name", &self.name)
            .field("type", &self.kind)
            .field("status", &self.status)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Without the definition, which may hold secrets.
impl fmt::Debug for NewTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewTool").field("name", &self.name).field("type", &self.kind).finish_non_exhaustive()
    }
}

/// Without the content, which may hold secrets.
impl fmt::Debug for ToolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolVersion").field("version", &self.version).finish_non_exhaustive()
    }
}
