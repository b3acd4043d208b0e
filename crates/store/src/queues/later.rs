//! Calls that are made later: kept in order of their time, made by whoever holds the lease.

use crate::error::check_text;
use crate::{Result, Store, leases, row};
use serde_json::value::RawValue;
use sqlx::AssertSqlSafe;
use std::time::Duration;
use tool::TenantId;
use tool::queue::LaterCall;

/// The most that one tenant may have waiting.
const MAX_CALLS: i64 = 100_000;
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
}

impl Later<'_> {
    /// Keeps the call, and says when it is due; nothing when the tenant has too many. One that is kept under the same id
    /// stays as it is.
    pub(crate) async fn add(self, tenant: &TenantId, call: &LaterCall) -> Result<Option<i64>> {
        for (field, text) in [("id", call.id.as_str()), ("uri", &call.uri)] {
            check_text(field, text)?;
        }
        let mut write = self.0.write().await?;
        let sql = "SELECT COUNT(*) AS found FROM
             (SELECT 1 FROM later_calls WHERE tenant = $1 AND failure IS NULL LIMIT $2) AS waiting";
        let found =
            sqlx::query(sql).bind(tenant.as_str()).bind(MAX_CALLS).fetch_one(write.connection()).await?;
        if row::integer(&found, "found")? >= MAX_CALLS {
            return Ok(None);
        }
        let now = leases::now(write.backend());
        let sql = format!(
            "INSERT INTO later_calls (tenant, id, service, uri, arguments, due_at) VALUES ($1, $2, $3, $4, $5, {now} + $6)
             ON CONFLICT (tenant, id) DO UPDATE SET id = excluded.id RETURNING due_at"
        );
        let kept = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(call.id.as_str())
            .bind(service_of(&call.uri))
            .bind(call.uri.as_str())
            .bind(call.arguments.get())
            .bind(leases::milliseconds(call.delay))
            .fetch_one(write.connection())
            .await?;
        write.commit().await?;
        Ok(Some(row::integer(&kept, "due_at")?))
    }

    /// The services that calls are due to, each with its tenant. Platform-wide.
    pub async fn due_services(self) -> Result<Vec<(TenantId, String)>> {
        let sql = format!(
            "SELECT tenant, service FROM later_calls WHERE failure IS NULL AND due_at <= {}
             GROUP BY tenant, service ORDER BY MIN(due_at) LIMIT 1000",
            leases::now(self.0.backend())
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(self.0.pool()).await?;
        rows.iter().map(|found| Ok((row::parsed(found, "tenant")?, row::text(found, "service")?))).collect()
    }

    /// The calls to one service that are due, the earliest first.
    pub async fn due(self, tenant: &TenantId, service: &str) -> Result<Vec<DueCall>> {
        let sql = format!(
            "SELECT id, uri, arguments FROM later_calls
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
        sqlx::query("DELETE FROM later_calls WHERE tenant = $1 AND id = $2")
            .bind(call.tenant.as_str())
            .bind(call.id.as_str())
            .execute(write.connection())
            .await?;
        write.commit().await
    }

    /// The call cannot be made, and is kept with the reason.
    pub async fn give_up(self, call: &DueCall, reason: &str) -> Result<()> {
        let mut write = self.0.write().await?;
        sqlx::query("UPDATE later_calls SET failure = $3 WHERE tenant = $1 AND id = $2")
            .bind(call.tenant.as_str())
            .bind(call.id.as_str())
            .bind(row::clean(reason))
            .execute(write.connection())
            .await?;
        write.commit().await
    }
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
