//! Which flows name which services: nobody deletes a service unknowingly that a flow needs.

use crate::database::Write;
use crate::error::check_text;
use crate::flows::{DRAFT, Flows};
use crate::{Result, row};
use serde::Serialize;
use tool::TenantId;

/// A node that names a tool of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReference {
    /// The node's path in the document.
    pub node: String,
    /// The service's type.
    pub scheme: String,
    /// The service.
    pub service: String,
    /// The tool.
    pub tool: String,
}

/// Where a flow needs a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The flow.
    pub flow: String,
    /// Its name for people.
    pub name: String,
    /// The version; `None` for the draft.
    pub version: Option<i64>,
    /// New runs take this version.
    pub is_current: bool,
    /// The node's path in the document.
    pub node: String,
    /// The tool.
    pub tool: String,
}

impl NewReference {
    pub(crate) fn check(&self) -> Result<()> {
        for (field, text) in
            [("node", &self.node), ("type", &self.scheme), ("service", &self.service), ("tool", &self.tool)]
        {
            check_text(field, text)?;
        }
        Ok(())
    }
}

impl Flows<'_> {
    /// Where the service is needed: by drafts, current versions, and versions with runs under way.
    pub async fn references(self, tenant: &TenantId, scheme: &str, service: &str) -> Result<Vec<Reference>> {
        let rows = sqlx::query(
            "SELECT r.flow, f.name, r.version, f.current_version, r.node, r.tool FROM flow_refs r
             JOIN flows f ON f.tenant = r.tenant AND f.id = r.flow
             WHERE r.tenant = $1 AND r.type = $2 AND r.service = $3
                 AND (r.version = $4 OR r.version = f.current_version OR EXISTS (SELECT 1 FROM runs u
                     WHERE u.tenant = r.tenant AND u.flow = r.flow AND u.version = r.version
                         AND u.ended_at IS NULL))
             ORDER BY r.flow, r.version, r.node, r.tool",
        )
        .bind(tenant.as_str())
        .bind(row::clean(scheme))
        .bind(row::clean(service))
        .bind(DRAFT)
        .fetch_all(self.0.pool())
        .await?;
        let reference = |row| {
            let version = row::integer(row, "version")?;
            Ok(Reference {
                flow: row::text(row, "flow")?,
                name: row::text(row, "name")?,
                version: Some(version).filter(|version| *version != DRAFT),
                is_current: row::optional_integer(row, "current_version")? == Some(version),
                node: row::text(row, "node")?,
                tool: row::text(row, "tool")?,
            })
        };
        rows.iter().map(reference).collect()
    }
}

pub(crate) async fn replace(
    write: &mut Write,
    tenant: &TenantId,
    flow: &str,
    version: i64,
    references: &[NewReference],
) -> Result<()> {
    sqlx::query("DELETE FROM flow_refs WHERE tenant = $1 AND flow = $2 AND version = $3")
        .bind(tenant.as_str())
        .bind(flow)
        .bind(version)
        .execute(write.connection())
        .await?;
    for reference in references {
        sqlx::query(
            "INSERT INTO flow_refs (tenant, flow, version, node, type, service, tool)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        )
        .bind(tenant.as_str())
        .bind(flow)
        .bind(version)
        .bind(reference.node.as_str())
        .bind(reference.scheme.as_str())
        .bind(reference.service.as_str())
        .bind(reference.tool.as_str())
        .execute(write.connection())
        .await?;
    }
    Ok(())
}
