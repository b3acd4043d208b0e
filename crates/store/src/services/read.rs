//! Reading services: one, a page, or all of a tenant.

use crate::services::row::{COLUMNS, decode, decode_tools};
use crate::services::{Service, ServiceFilter, Services, check_name, missing};
use crate::{Error, ErrorKind, Page, PageRequest, Result, Status, row as column};
use document::nearest;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use tool::TenantId;

/// The condition of every list; `$1` is the tenant.
const WHERE: &str = "tenant = $1 AND ($2 IS NULL OR type = $2) AND ($3 IS NULL OR status = $3)
    AND ($4 IS NULL OR search LIKE $4 ESCAPE '!')";

impl Services<'_> {
    /// The service with its tools.
    pub async fn get(self, tenant: &TenantId, scheme: &str, id: &str) -> Result<Service> {
        let mut snapshot = self.0.snapshot().await?;
        match self.read(&mut snapshot, tenant, scheme, id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(misspelt(&mut snapshot, tenant, scheme, id).await.unwrap_or(error))
            }
            found => found,
        }
    }

    /// The tenant's services that fit the filter, oldest first.
    pub async fn list(
        self,
        tenant: &TenantId,
        filter: &ServiceFilter,
        page: PageRequest,
    ) -> Result<Page<Service>> {
        let mut snapshot = self.0.snapshot().await?;
        let ordered = format!("WHERE {WHERE} ORDER BY created_at, type, id LIMIT $5 OFFSET $6");
        let bound = |sql: String| {
            sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str().to_owned())
                .bind(filter.scheme.as_deref().map(column::clean))
                .bind(filter.is_enabled.map(|on| Status::enabled(on).as_str()))
                .bind(filter.text.as_deref().map(column::pattern))
        };
        let total = bound(format!("SELECT COUNT(*) FROM services WHERE {WHERE}"))
            .fetch_one(&mut *snapshot)
            .await?
            .try_get(0)?;
        let services = bound(format!("SELECT {COLUMNS} FROM services {ordered}"))
            .bind(page.limit())
            .bind(page.offset())
            .fetch_all(&mut *snapshot)
            .await?;
        let tools = bound(format!(
            "SELECT type, service, id, definition FROM service_tools WHERE tenant = $1
                 AND (type, service) IN (SELECT type, id FROM services {ordered})
             ORDER BY type, service, position, id"
        ))
        .bind(page.limit())
        .bind(page.offset())
        .fetch_all(&mut *snapshot)
        .await?;
        Ok(page.of(self.assemble(tenant, &services, &tools)?, total))
    }

    /// Every service of the tenant: for the catalog.
    pub async fn all(self, tenant: &TenantId) -> Result<Vec<Service>> {
        let mut snapshot = self.0.snapshot().await?;
        let services = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM services WHERE tenant = $1 ORDER BY created_at, type, id"
        )))
        .bind(tenant.as_str())
        .fetch_all(&mut *snapshot)
        .await?;
        let tools = sqlx::query(
            "SELECT type, service, id, definition FROM service_tools WHERE tenant = $1
             ORDER BY type, service, position, id",
        )
        .bind(tenant.as_str())
        .fetch_all(&mut *snapshot)
        .await?;
        self.assemble(tenant, &services, &tools)
    }

    pub(crate) async fn read(
        self,
        connection: &mut AnyConnection,
        tenant: &TenantId,
        scheme: &str,
        id: &str,
    ) -> Result<Service> {
        check_name(scheme, id)?;
        let row = sqlx::query(AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM services WHERE tenant = $1 AND type = $2 AND id = $3"
        )))
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(id)
        .fetch_optional(&mut *connection)
        .await?;
        let mut service = decode(self.0.vault(), &row.ok_or_else(missing)?)?;
        service.tools = self.read_tools(connection, tenant, scheme, id).await?;
        Ok(service)
    }

    fn assemble(self, tenant: &TenantId, services: &[AnyRow], tools: &[AnyRow]) -> Result<Vec<Service>> {
        let mut tools = decode_tools(self.0.vault(), tenant, tools)?;
        let mut result = Vec::with_capacity(services.len());
        for row in services {
            let mut service = decode(self.0.vault(), row)?;
            let key = (service.scheme.clone(), service.id.clone());
            service.tools = tools.remove(&key).unwrap_or_default();
            result.push(service);
        }
        Ok(result)
    }
}

/// The refusal that names the tenant's service which was probably meant.
async fn misspelt(snapshot: &mut AnyConnection, tenant: &TenantId, scheme: &str, id: &str) -> Option<Error> {
    let sql = "SELECT type, id FROM services WHERE tenant = $1 ORDER BY type, id LIMIT 1000";
    let rows = sqlx::query(sql).bind(tenant.as_str().to_owned()).fetch_all(snapshot).await.ok()?;
    let name = |row: &AnyRow| Some((column::text(row, "type").ok()?, column::text(row, "id").ok()?));
    let mut names: Vec<(String, String)> = rows.iter().filter_map(name).collect();
    names.retain(|(known, _)| known == scheme || nearest(scheme, [known.as_str()]).is_some());
    let is_same = names.iter().any(|(_, known)| known == id);
    let meant = if is_same { id } else { nearest(id, names.iter().map(|(_, id)| id.as_str()))? };
    let (scheme, id) = names.iter().find(|(_, id)| id == meant)?;
    let meant = format!("{scheme}/{id}");
    Some(Error::not_found(&format!("service; did you mean '{meant}'?")))
}
