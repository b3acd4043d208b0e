//! Reading flows: one, a page, all that are published, and their versions.

use crate::flows::row::{BRIEF_COLUMNS, COLUMNS, check_name, decode};
use crate::flows::{Flow, Flows, missing};
use crate::page::List;
use crate::{Error, Page, PageRequest, Result, Status, row as column};
use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use tool::TenantId;

/// The condition of every list; `$1` is the tenant.
const WHERE: &str =
    "tenant = $1 AND ($2 IS NULL OR status = $2) AND ($3 IS NULL OR search LIKE $3 ESCAPE '!')";
const VERSION_COLUMNS: &str = "version, source, bound, published_by, at, rights";
/// Without the texts, which a page of them would be too large with.
const BRIEF_VERSION_COLUMNS: &str = "version, '' AS source, '' AS bound, published_by, at, rights";

/// Which flows to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct FlowFilter {
    /// Only those switched on, or off.
    pub is_enabled: Option<bool>,
    /// With this text in id or name, in any case.
    pub text: Option<String>,
}

/// A published version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowVersion {
    /// From 1.
    pub version: i64,
    /// The text.
    pub source: String,
    /// The parameters that were bound by name, as JSON.
    pub bound: String,
    /// The id of the key or user that published it.
    pub published_by: String,
    /// Milliseconds since 1970.
    pub at: i64,
    /// What that one might reach then, as JSON; of older versions nobody has kept it.
    pub rights: Option<String>,
}

impl Flows<'_> {
    /// The flow.
    pub async fn get(self, tenant: &TenantId, id: &str) -> Result<Flow> {
        check_name(id)?;
        self.read(&mut *self.0.pool().acquire().await?, tenant, id).await
    }

    /// The tenant's flows that fit the filter, by id, without their drafts.
    pub async fn list(self, tenant: &TenantId, filter: &FlowFilter, page: PageRequest) -> Result<Page<Flow>> {
        let bound = |sql: String| {
            sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str().to_owned())
                .bind(filter.is_enabled.map(|on| Status::enabled(on).as_str()))
                .bind(filter.text.as_deref().map(column::pattern))
        };
        let list =
            List { columns: BRIEF_COLUMNS, from: &format!("flows WHERE {WHERE}"), order: "id", values: 3 };
        let (rows, total) = page.read(self.0, &list, bound).await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// Every flow of the tenant that has a version: for the catalog.
    pub async fn published(self, tenant: &TenantId) -> Result<Vec<(Flow, FlowVersion)>> {
        let rows = sqlx::query(
            "SELECT f.tenant, f.id, f.name, f.status, f.owner, f.draft, f.revision, f.current_version,
                 f.created_at, f.updated_at, v.version, v.source, v.bound, v.published_by, v.at, v.rights
             FROM flows f JOIN flow_versions v
                 ON v.tenant = f.tenant AND v.flow = f.id AND v.version = f.current_version
             WHERE f.tenant = $1 ORDER BY f.id",
        )
        .bind(tenant.as_str())
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(|row| Ok((decode(row)?, decode_version(row)?))).collect()
    }

    /// What was published, newest first, without the texts.
    pub async fn versions(self, tenant: &TenantId, id: &str, page: PageRequest) -> Result<Page<FlowVersion>> {
        check_name(id)?;
        let mut snapshot = self.0.snapshot().await?;
        self.read(&mut snapshot, tenant, id).await?;
        let total = sqlx::query("SELECT COUNT(*) FROM flow_versions WHERE tenant = $1 AND flow = $2")
            .bind(tenant.as_str())
            .bind(id)
            .fetch_one(&mut *snapshot)
            .await?
            .try_get(0)?;
        let sql = format!(
            "SELECT {BRIEF_VERSION_COLUMNS} FROM flow_versions WHERE tenant = $1 AND flow = $2
             ORDER BY version DESC LIMIT $3 OFFSET $4"
        );
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id)
            .bind(page.limit())
            .bind(page.offset())
            .fetch_all(&mut *snapshot)
            .await?;
        Ok(page.of(rows.iter().map(decode_version).collect::<Result<_>>()?, total))
    }

    /// One published version.
    pub async fn version(self, tenant: &TenantId, id: &str, version: i64) -> Result<FlowVersion> {
        check_name(id)?;
        let mut snapshot = self.0.snapshot().await?;
        self.read(&mut snapshot, tenant, id).await?;
        let found = read_version(&mut snapshot, tenant, id, version).await?;
        found.ok_or_else(|| Error::not_found("version of the flow"))
    }

    pub(crate) async fn read(
        self,
        connection: &mut AnyConnection,
        tenant: &TenantId,
        id: &str,
    ) -> Result<Flow> {
        let sql = format!("SELECT {COLUMNS} FROM flows WHERE tenant = $1 AND id = $2");
        let row =
            sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(id).fetch_optional(connection).await?;
        decode(&row.ok_or_else(missing)?)
    }
}

pub(crate) async fn read_version(
    connection: &mut AnyConnection,
    tenant: &TenantId,
    id: &str,
    version: i64,
) -> Result<Option<FlowVersion>> {
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM flow_versions WHERE tenant = $1 AND flow = $2 AND version = $3"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(id)
        .bind(version)
        .fetch_optional(connection)
        .await?;
    row.map(|row| decode_version(&row)).transpose()
}

fn decode_version(row: &AnyRow) -> Result<FlowVersion> {
    Ok(FlowVersion {
        version: column::integer(row, "version")?,
        source: column::text(row, "source")?,
        bound: column::text(row, "bound")?,
        published_by: column::text(row, "published_by")?,
        at: column::integer(row, "at")?,
        rights: column::optional_text(row, "rights")?,
    })
}
