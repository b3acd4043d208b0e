//! Calls that are made later: kept in order of their time, made by whoever holds the lease.

use crate::database::Write;
use crate::error::{Kind, check_text};
use crate::queues::{totals, whole};
use crate::{Error, Result, Store, leases, row};
use serde_json::value::RawValue;
use sqlx::AssertSqlSafe;
use std::time::Duration;
use tool::TenantId;
use tool::queue::LaterCall;

/// How many are read at once.
const CHUNK: i64 = 100;

/// The calls of all tenants that wait for their time.
#[derive(Debug, Clone, Copy)]
pub struct Later<'a>(pub(super) &'a Store);

/// A call whose time has come.
#[derive(Debug, Clone)]
pub struct DueCall {
    /// Whose it is.
    pub tenant: TenantId,
    /// What it is known by.
    pub id: String,
    /// The address of the tool.
    pub uri: String,
    /// An object.
    pub arguments: Box<RawValue>,
    /// How often it was refused so far.
    pub refusals: u32,
}

impl Later<'_> {
    /// Keeps the call, and says when it is due; nothing when the tenant has too many. The same call that is kept under the
    /// same id stays as it is.
    ///
    /// # Errors
    /// `Conflict` where the id stands for another call, or for one that was given up.
    pub(crate) async fn add(self, tenant: &TenantId, call: &LaterCall) -> Result<Option<i64>> {
        for (field, text) in [("id", call.id.as_str()), ("uri", &call.uri)] {
            check_text(field, text)?;
        }
        let mut write = self.0.write().await?;
        let now = leases::now(write.backend());
        let sql = format!(
            "INSERT INTO later_calls (tenant, id, service, uri, arguments, due_at) VALUES ($1, $2, $3, $4, $5, {now} + $6)
             ON CONFLICT (tenant, id) DO NOTHING RETURNING due_at"
        );
        let kept = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(call.id.as_str())
            .bind(service_of(&call.uri))
            .bind(call.uri.as_str())
            .bind(call.arguments.get())
            .bind(leases::milliseconds(call.delay))
            .fetch_optional(write.connection())
            .await?;
        let Some(kept) = kept else { return due_at(&mut write, tenant, call).await.map(Some) };
        if !totals::add(&mut write, tenant, call.arguments.get()).await?.has_room() {
            return Ok(None);
        }
        write.commit().await?;
        Ok(Some(row::integer(&kept, "due_at")?))
    }

    /// The services that calls are due to, each with its tenant, whose wait the longest first. Platform-wide: nobody is left
    /// out because others wait longer.
    pub async fn due_services(self) -> Result<Vec<(TenantId, String)>> {
        let sql = format!(
            "SELECT tenant, service FROM later_calls WHERE failure IS NULL AND due_at <= {}
             GROUP BY tenant, service ORDER BY MIN(due_at)",
            leases::now(self.0.backend())
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(self.0.pool()).await?;
        rows.iter().map(|found| Ok((row::parsed(found, "tenant")?, row::text(found, "service")?))).collect()
    }

    /// The calls to one service that are due, the earliest first.
    pub async fn due(self, tenant: &TenantId, service: &str) -> Result<Vec<DueCall>> {
        let sql = format!(
            "SELECT id, uri, arguments, refusals FROM later_calls
             WHERE tenant = $1 AND service = $2 AND failure IS NULL AND due_at <= {} ORDER BY due_at, id LIMIT $3",
            leases::now(self.0.backend())
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(service).bind(CHUNK);
        let rows = query.fetch_all(self.0.pool()).await?;
        let decode = |found| {
            let arguments = RawValue::from_string(row::text(found, "arguments")?);
            Ok(DueCall {
                tenant: tenant.clone(),
                id: row::text(found, "id")?,
                uri: row::text(found, "uri")?,
                arguments: arguments.map_err(|_| row::undecodable("arguments"))?,
                refusals: u32::try_from(row::integer(found, "refusals")?)
                    .map_err(|_| row::undecodable("refusals"))?,
            })
        };
        rows.iter().map(decode).collect()
    }

    /// How long it is until the next call is due; nothing where none waits. Platform-wide.
    pub async fn next_in(self) -> Result<Option<Duration>> {
        let now = leases::now(self.0.backend());
        let sql = format!("SELECT MIN(due_at) - {now} AS wait FROM later_calls WHERE failure IS NULL");
        let found = sqlx::query(AssertSqlSafe(sql)).fetch_one(self.0.pool()).await?;
        let wait = row::optional_integer(&found, "wait")?;
        Ok(wait.map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or(0))))
    }

    /// The call was made.
    pub async fn done(self, call: &DueCall) -> Result<()> {
        let mut write = self.0.write().await?;
        let ended = sqlx::query("DELETE FROM later_calls WHERE tenant = $1 AND id = $2 AND failure IS NULL")
            .bind(call.tenant.as_str())
            .bind(call.id.as_str())
            .execute(write.connection())
            .await?;
        end(write, call, ended.rows_affected()).await
    }

    /// The call cannot be made, and is kept with the reason.
    pub async fn give_up(self, call: &DueCall, reason: &str) -> Result<()> {
        let mut write = self.0.write().await?;
        let sql = "UPDATE later_calls SET failure = $3 WHERE tenant = $1 AND id = $2 AND failure IS NULL";
        let ended = sqlx::query(sql)
            .bind(call.tenant.as_str())
            .bind(call.id.as_str())
            .bind(row::clean(reason))
            .execute(write.connection())
            .await?;
        end(write, call, ended.rows_affected()).await
    }

    /// The call was refused, and is made again after the pause. Others are made meanwhile.
    pub async fn put_off(self, call: &DueCall, pause: Duration) -> Result<()> {
        let mut write = self.0.write().await?;
        let now = leases::now(write.backend());
        let sql = format!(
            "UPDATE later_calls SET due_at = {now} + $3, refusals = refusals + 1
             WHERE tenant = $1 AND id = $2 AND failure IS NULL"
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(call.tenant.as_str())
            .bind(call.id.as_str())
            .bind(leases::milliseconds(pause))
            .execute(write.connection())
            .await?;
        write.commit().await
    }
}

/// When a call is due that was kept before; now, where it was made in the meantime.
async fn due_at(write: &mut Write, tenant: &TenantId, call: &LaterCall) -> Result<i64> {
    let now = leases::now(write.backend());
    let sql = format!(
        "SELECT {now} AS now, due_at, uri, arguments, failure FROM (SELECT 1 AS one) AS always
         LEFT JOIN later_calls ON tenant = $1 AND id = $2"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(call.id.as_str());
    let found = query.fetch_one(write.connection()).await?;
    let Some(due_at) = row::optional_integer(&found, "due_at")? else { return row::integer(&found, "now") };
    let is_waiting = row::optional_text(&found, "failure")?.is_none();
    if is_waiting
        && row::text(&found, "uri")? == call.uri
        && row::text(&found, "arguments")? == call.arguments.get()
    {
        return Ok(due_at);
    }
    let why = if is_waiting { "another call waits" } else { "a call was given up" };
    Err(Error::new(Kind::Conflict, format!("{why} under the same id; this one was not kept")))
}

/// Counts a call no more that another process has not ended before.
async fn end(mut write: Write, call: &DueCall, ended: u64) -> Result<()> {
    if ended > 0 {
        totals::remove(&mut write, &call.tenant, 1, whole(call.arguments.get().len())).await?;
    }
    write.commit().await
}

/// The address up to the tool: what is called in order.
fn service_of(uri: &str) -> &str {
    let start = uri.find("://").map_or(0, |at| at + 3);
    uri.get(start..).and_then(|rest| rest.find('/')).and_then(|at| uri.get(..start + at)).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_service_of_an_address() {
        for (uri, service) in [
            ("mq://orders/created", "mq://orders"),
            ("mq://orders/created?x=a/b", "mq://orders"),
            ("mq://orders", "mq://orders"),
            ("orders/x", "orders"),
        ] {
            assert_eq!(service_of(uri), service, "{uri}");
        }
    }
}
