//! What nodes of runs wait for: timers, signals, children, and people who decide.

use crate::database::Write;
use crate::error::check_text;
use crate::page::List;
use crate::runs::{Claim, NewRecord, Runs, claim, doors};
use crate::{Error, ErrorKind, Page, PageRequest, Result, leases, row};
use serde::Serialize;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use tool::{RunId, TenantId};

const COLUMNS: &str = "id, run, path, kind, until, data, opened_at, closed_at";

/// A wait to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWait {
    /// Made by the caller, so that it can be told before it is committed.
    pub id: String,
    /// The node, e.g. `ship[3].send`.
    pub path: String,
    /// For what, e.g. `approval`.
    pub kind: String,
    /// When it is over by itself, by the database's clock.
    pub until: Option<i64>,
    /// Everything else, as JSON.
    pub data: String,
}

/// What a node waits for, or waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// Never changes.
    pub id: String,
    /// Whose node.
    pub run: RunId,
    /// The node, e.g. `ship[3].send`.
    pub path: String,
    /// For what, e.g. `approval`.
    pub kind: String,
    /// When it is over by itself.
    pub until: Option<i64>,
    /// Everything else, as JSON.
    pub data: String,
    /// Milliseconds since 1970.
    pub opened_at: i64,
    /// Milliseconds since 1970; `None` as long as it lasts.
    pub closed_at: Option<i64>,
}

/// Which waits to list, of those that last; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct WaitFilter {
    /// Of this run.
    pub run: Option<RunId>,
    /// For this.
    pub kind: Option<String>,
}

impl NewWait {
    pub(crate) fn check(&self) -> Result<()> {
        for (field, text) in
            [("id", &self.id), ("path", &self.path), ("kind", &self.kind), ("data", &self.data)]
        {
            check_text(field, text)?;
        }
        Ok(())
    }
}

impl Runs<'_> {
    /// The tenant's waits that last and fit the filter, oldest first.
    pub async fn waits(
        self,
        tenant: &TenantId,
        filter: &WaitFilter,
        page: PageRequest,
    ) -> Result<Page<Wait>> {
        const WHERE: &str =
            "tenant = $1 AND closed_at IS NULL AND ($2 IS NULL OR run = $2) AND ($3 IS NULL OR kind = $3)";
        let bound = |sql: String| {
            sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str().to_owned())
                .bind(filter.run.as_ref().map(|run| run.as_str().to_owned()))
                .bind(filter.kind.as_deref().map(row::clean))
        };
        let list = List {
            columns: COLUMNS,
            from: &format!("run_waits WHERE {WHERE}"),
            order: "opened_at, id",
            values: 3,
        };
        let (rows, total) = page.read(self.0, &list, bound).await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// The wait, over or not.
    pub async fn wait(self, tenant: &TenantId, id: &str) -> Result<Wait> {
        let sql = format!("SELECT {COLUMNS} FROM run_waits WHERE tenant = $1 AND id = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(row::clean(id))
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// Answers a wait with a record for its run. Of several answers one wins; the others are a conflict.
    pub async fn answer(self, tenant: &TenantId, id: &str, record: &NewRecord) -> Result<()> {
        record.check()?;
        let run = self.wait(tenant, id).await?.run;
        let mut write = self.0.write().await?;
        claim::lock(&mut write, vec![(tenant, &run)]).await?;
        let is_first = close(&mut write, tenant, id).await?;
        if !is_first || !doors::leave(self.0, &mut write, tenant, &run, record).await? {
            return Err(Error::new(ErrorKind::Conflict, "it was answered already, or is over"));
        }
        write.commit().await?;
        self.0.runs_changed().notify_waiters();
        Ok(())
    }
}

fn missing() -> Error {
    Error::not_found("approval")
}

fn decode(row: &AnyRow) -> Result<Wait> {
    Ok(Wait {
        id: row::text(row, "id")?,
        run: row::parsed(row, "run")?,
        path: row::text(row, "path")?,
        kind: row::text(row, "kind")?,
        until: row::optional_integer(row, "until")?,
        data: row::text(row, "data")?,
        opened_at: row::integer(row, "opened_at")?,
        closed_at: row::optional_integer(row, "closed_at")?,
    })
}

/// Whether it lasted until now.
async fn close(write: &mut Write, tenant: &TenantId, id: &str) -> Result<bool> {
    let now = leases::now(write.backend());
    let sql =
        format!("UPDATE run_waits SET closed_at = {now} WHERE tenant = $1 AND id = $2 AND closed_at IS NULL");
    let done =
        sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(id).execute(write.connection()).await?;
    Ok(done.rows_affected() == 1)
}

/// Ends all waits of a run.
pub(crate) async fn close_all(write: &mut Write, tenant: &TenantId, run: &RunId) -> Result<()> {
    let now = leases::now(write.backend());
    let sql = format!(
        "UPDATE run_waits SET closed_at = {now} WHERE tenant = $1 AND run = $2 AND closed_at IS NULL"
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(run.as_str())
        .execute(write.connection())
        .await?;
    Ok(())
}

/// Ends the waits at some nodes of the run and begins others.
pub(crate) async fn change(
    write: &mut Write,
    claim: &Claim,
    opened: &[NewWait],
    closed: &[String],
) -> Result<()> {
    let now = leases::now(write.backend());
    for path in closed {
        let sql = format!(
            "UPDATE run_waits SET closed_at = {now} WHERE tenant = $1 AND run = $2 AND path = $3 AND closed_at IS NULL"
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(claim.tenant.as_str())
            .bind(claim.run.as_str())
            .bind(path.as_str())
            .execute(write.connection())
            .await?;
    }
    for wait in opened {
        let sql = format!(
            "INSERT INTO run_waits (tenant, id, run, path, kind, until, data, opened_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, {now})"
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(claim.tenant.as_str())
            .bind(wait.id.as_str())
            .bind(claim.run.as_str())
            .bind(wait.path.as_str())
            .bind(wait.kind.as_str())
            .bind(wait.until)
            .bind(wait.data.as_str())
            .execute(write.connection())
            .await?;
    }
    Ok(())
}
