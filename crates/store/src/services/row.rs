//! Between rows and services: unsealing, and the places that values are sealed for.

use crate::vault::Vault;
use crate::{Result, Service, ServiceTool, Status, row};
use serde_json::Value;
use sqlx::any::AnyRow;
use std::collections::HashMap;
use std::fmt;
use tool::TenantId;

pub(crate) const COLUMNS: &str =
    "tenant, type, id, name, description, status, config, created_at, updated_at, version";

/// Ids hold no `/`, so every service has a place of its own.
pub(crate) fn service_place(tenant: &str, scheme: &str, id: &str) -> String {
    format!("service/{tenant}/{scheme}/{id}")
}

pub(crate) fn tool_place(tenant: &str, scheme: &str, service: &str, id: &str) -> String {
    format!("tool/{tenant}/{scheme}/{service}/{id}")
}

/// What the text filter looks at.
pub(crate) fn search_text(id: &str, name: &str, description: Option<&str>) -> String {
    format!("{id}\n{name}\n{}", description.unwrap_or_default()).to_lowercase()
}

/// A service whose tools are still to be filled in.
pub(crate) fn decode(vault: &Vault, row: &AnyRow) -> Result<Service> {
    let tenant: TenantId = row::parsed(row, "tenant")?;
    let scheme = row::text(row, "type")?;
    let id = row::text(row, "id")?;
    let place = service_place(tenant.as_str(), &scheme, &id);
    Ok(Service {
        config: unseal(vault, &place, &row::text(row, "config")?, "config")?,
        tenant,
        scheme,
        id,
        name: row::text(row, "name")?,
        description: row::optional_text(row, "description")?,
        tools: Vec::new(),
        is_enabled: Status::parse(&row::text(row, "status")?)? == Status::Active,
        created_at: row::integer(row, "created_at")?,
        updated_at: row::integer(row, "updated_at")?,
        version: row::integer(row, "version")?,
    })
}

/// Tools by type and service, each list in its order.
pub(crate) fn decode_tools(
    vault: &Vault,
    tenant: &TenantId,
    rows: &[AnyRow],
) -> Result<HashMap<(String, String), Vec<ServiceTool>>> {
    let mut tools: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows {
        let key = (row::text(row, "type")?, row::text(row, "service")?);
        let id = row::text(row, "id")?;
        let place = tool_place(tenant.as_str(), &key.0, &key.1, &id);
        let definition = unseal(vault, &place, &row::text(row, "definition")?, "definition")?;
        tools.entry(key).or_default().push(ServiceTool { id, definition });
    }
    Ok(tools)
}

fn unseal(vault: &Vault, place: &str, sealed: &str, column: &str) -> Result<Value> {
    let text = vault.open(place, sealed)?;
    serde_json::from_str(&text).map_err(|_| row::undecodable(column))
}

/// Without the settings, which hold secrets.
impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("tenant", &self.tenant)
            .field("type", &self.scheme)
            .field("id", &self.id)
            .field("name", &self.name)
            .field("tools", &self.tools)
            .field("is_enabled", &self.is_enabled)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Without the definition, which may hold secrets.
impl fmt::Debug for ServiceTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceTool({})", self.id)
    }
}
