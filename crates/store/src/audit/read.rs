//! Reading the audit: a page of it, or all of it step by step.

use super::{Audit, AuditRow, COLUMNS, Filter, Query};
use crate::{Page, PageRequest, Result, Store, row};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row as _};
use std::borrow::Cow;
use tool::TenantId;

/// Rows per step of an export.
const EXPORT_STEP: i64 = 1000;

/// The condition of every query; `$1` is the tenant.
const WHERE: &str = "tenant = $1 AND ($2 IS NULL OR tool = $2) AND ($3 IS NULL OR service = $3)
    AND ($4 IS NULL OR caller = $4) AND ($5 IS NULL OR status = $5)
    AND ($6 IS NULL OR at >= $6) AND ($7 IS NULL OR at < $7) AND ($8 IS NULL OR details LIKE $8)";

impl Audit<'_> {
    /// The tenant's rows that fit the filter, newest first.
    pub async fn query(
        self,
        tenant: &TenantId,
        filter: &Filter,
        page: PageRequest,
    ) -> Result<Page<AuditRow<'static>>> {
        let mut snapshot = self.0.snapshot().await?;
        let table = filter.kind.table();
        let total = filtered(format!("SELECT COUNT(*) FROM {table} WHERE {WHERE}"), tenant, filter)
            .fetch_one(&mut *snapshot)
            .await?
            .try_get(0)?;
        let sql = format!(
            "SELECT {COLUMNS} FROM {table} WHERE {WHERE} ORDER BY at DESC, id DESC LIMIT $9 OFFSET $10"
        );
        let rows = filtered(sql, tenant, filter)
            .bind(page.limit())
            .bind(page.offset())
            .fetch_all(&mut *snapshot)
            .await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// All rows that fit the filter, oldest first, step by step. Rows of calls that begin
    /// after this moment are left out, so an export always ends.
    #[must_use]
    pub fn export(self, tenant: &TenantId, mut filter: Filter) -> Export {
        let end = row::now() + 1;
        filter.to = Some(filter.to.map_or(end, |to| to.min(end)));
        Export {
            store: self.0.clone(),
            tenant: tenant.clone(),
            filter,
            after: Some((i64::MIN, String::new())),
        }
    }
}

/// An export under way; it holds no connection between its steps.
#[derive(Debug)]
pub struct Export {
    store: Store,
    tenant: TenantId,
    filter: Filter,
    /// The last row given; `None` at the end.
    after: Option<(i64, String)>,
}

impl Export {
    /// The next rows, at most a thousand; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<AuditRow<'static>>>> {
        let Some((at, id)) = self.after.clone() else { return Ok(None) };
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE {WHERE} AND (at, id) > ($9, $10) ORDER BY at, id LIMIT $11",
            self.filter.kind.table()
        );
        let rows = filtered(sql, &self.tenant, &self.filter)
            .bind(at)
            .bind(id)
            .bind(EXPORT_STEP)
            .fetch_all(self.store.pool())
            .await?;
        let rows = rows.iter().map(decode).collect::<Result<Vec<_>>>()?;
        self.after = rows.last().map(|row| (row.at, row.id.to_string()));
        Ok((!rows.is_empty()).then_some(rows))
    }
}

fn filtered<'q>(sql: String, tenant: &TenantId, filter: &Filter) -> Query<'q> {
    sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str().to_owned())
        .bind(filter.tool.as_deref().map(row::clean))
        .bind(filter.service.as_deref().map(row::clean))
        .bind(filter.caller.as_deref().map(row::clean))
        .bind(filter.status.as_deref().map(row::clean))
        .bind(filter.from)
        .bind(filter.to)
        // The details are what we wrote, so that a run stands there in one way only.
        .bind(filter.run.as_ref().map(|run| format!("%\"run_id\":\"{run}\"%")))
}

fn decode(row: &AnyRow) -> Result<AuditRow<'static>> {
    Ok(AuditRow {
        id: row::text(row, "id")?.into(),
        tenant: row::text(row, "tenant")?.into(),
        at: row::integer(row, "at")?,
        caller: row::text(row, "caller")?.into(),
        tool: row::text(row, "tool")?.into(),
        service: row::text(row, "service")?.into(),
        arguments: row::optional_text(row, "arguments")?.map(Cow::from),
        status: row::text(row, "status")?.into(),
        details: row::json(row, "details")?,
    })
}
