//! Reading the audit: a page of it, or all of it step by step.

use super::{Audit, AuditRow, COLUMNS, Filter, Kind, Query};
use crate::database::Backend;
use crate::page::List;
use crate::{Error, Page, PageRequest, Result, Store, row};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::borrow::Cow;
use tool::TenantId;

/// Rows per step of an export.
const EXPORT_STEP: i64 = 1000;

/// Calls take an hour at the most, and a record is made when its call has ended.
const LONGEST_CALL_MS: i64 = 2 * 60 * 60 * 1000;
const CLOCK_SKEW_MS: i64 = 60 * 1000;

/// How many values the condition has.
const FILTER_VALUES: usize = 11;

/// The condition of every query; `$1` is the tenant.
fn condition(backend: Backend) -> String {
    let [code, door, request_id, kind, run] =
        ["code", "door", "request_id", "caller_kind", "run_id"].map(|name| detail(backend, name));
    format!(
        "tenant = $1 AND ($2 IS NULL OR tool = $2) AND ($3 IS NULL OR service = $3)
        AND ($4 IS NULL OR caller = $4) AND ($5 IS NULL OR status = $5)
        AND ($6 IS NULL OR at >= $6) AND ($7 IS NULL OR at < $7)
        AND ($8 IS NULL OR {code} = $8) AND ($9 IS NULL OR {request_id} = $9)
        AND ($10 IS NULL OR {door} = $10 OR ({kind} = 'instance' AND caller = $10))
        AND ($11 IS NULL OR {run} = $11)"
    )
}

/// A field of the details as SQL reads it, as text on PostgreSQL.
pub(super) fn detail(backend: Backend, name: &str) -> String {
    match backend {
        Backend::Sqlite => format!("json_extract(details, '$.{name}')"),
        Backend::Postgres => format!("(details::json ->> '{name}')"),
    }
}

impl Audit<'_> {
    /// The tenant's rows that fit the filter, newest first.
    pub async fn query(
        self,
        tenant: &TenantId,
        filter: &Filter,
        page: PageRequest,
    ) -> Result<Page<AuditRow<'static>>> {
        let from = from(self.0.backend(), filter);
        let (rows, total) = page.read_long(self.0, &list(&from), |sql| filtered(sql, tenant, filter)).await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// The first page of [`Audit::query`], for those who ask often: nobody counts the rest.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn newest(
        self,
        tenant: &TenantId,
        filter: &Filter,
        limit: u32,
    ) -> Result<Vec<AuditRow<'static>>> {
        let page = PageRequest { page: 1, limit };
        let from = from(self.0.backend(), filter);
        let newest = page.select(&list(&from), |sql| filtered(sql, tenant, filter));
        let rows = newest.fetch_all(self.0.pool()).await?;
        rows.iter().map(decode).collect()
    }

    /// One of the tenant's rows, of calls or of management. Its id says about when it was made, so that only a small
    /// part of the audit is looked through.
    ///
    /// # Errors
    /// `NotFound`, or when the database fails.
    pub async fn get(self, tenant: &TenantId, id: &str) -> Result<(Kind, AuditRow<'static>)> {
        let missing = || Error::not_found("audit record");
        let made_ms = tool::made_at_ms(id).ok_or_else(missing)?;
        for kind in [Kind::Call, Kind::Management] {
            let sql = format!(
                "SELECT {COLUMNS} FROM {} WHERE tenant = $1 AND at >= $2 AND at <= $3 AND id = $4",
                kind.table()
            );
            let found = sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str())
                .bind(made_ms.saturating_sub(LONGEST_CALL_MS))
                .bind(made_ms.saturating_add(CLOCK_SKEW_MS))
                .bind(id)
                .fetch_optional(self.0.pool())
                .await?;
            if let Some(row) = found {
                return Ok((kind, decode(&row)?));
            }
        }
        Err(missing())
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
            "SELECT {COLUMNS} FROM {} WHERE {} AND (at, id) > ($12, $13) ORDER BY at, id LIMIT $14",
            self.filter.kind.table(),
            condition(self.store.backend()),
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

fn from(backend: Backend, filter: &Filter) -> String {
    format!("{} WHERE {}", filter.kind.table(), condition(backend))
}

/// Newest first.
fn list(from: &str) -> List<'_> {
    List { columns: COLUMNS, from, order: "at DESC, id DESC", values: FILTER_VALUES }
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
        .bind(filter.code.as_deref().map(row::clean))
        .bind(filter.request_id.as_deref().map(row::clean))
        .bind(filter.door.as_deref().map(row::clean))
        .bind(filter.run.as_ref().map(|run| run.as_str()))
}

pub(super) fn decode(row: &AnyRow) -> Result<AuditRow<'static>> {
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
