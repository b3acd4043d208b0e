//! What is to happen once: the first result of a key is kept for a day.

use crate::error::check_text;
use crate::{Error, Result, Store, leases, row, within};
use async_trait::async_trait;
use serde_json::value::RawValue;
use sqlx::AssertSqlSafe;
use std::time::Duration;
use tool::{KeyState, TenantId};

/// How long a key is remembered.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The results of all tenants.
#[derive(Debug, Clone)]
pub struct OnceResults {
    store: Store,
    timeout: Duration,
}

impl OnceResults {
    /// The database may take `timeout` to answer.
    #[must_use]
    pub fn new(store: Store, timeout: Duration) -> Self {
        Self { store, timeout }
    }

    /// The key was begun, and is remembered still.
    pub async fn is_known(&self, tenant: &TenantId, scope: &str, key: &str) -> Result<bool> {
        let sql = format!(
            "SELECT key FROM once_results WHERE tenant = $1 AND scope = $2 AND key = $3 AND until > {}",
            leases::now(self.store.backend())
        );
        let found = async {
            let query = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).bind(scope).bind(key);
            Ok(query.fetch_optional(self.store.pool()).await?)
        };
        Ok(within(self.timeout, found).await?.is_some())
    }

    /// Whoever comes with the same key at the same time waits here until it is decided who is the first.
    async fn try_begin(&self, tenant: &TenantId, scope: &str, key: &str, digest: &str) -> Result<KeyState> {
        check_text("scope", scope)?;
        check_text("key", key)?;
        let mut write = self.store.write().await?;
        let now = leases::now(write.backend());
        let sql = format!(
            "INSERT INTO once_results (tenant, scope, key, until, digest) VALUES ($1, $2, $3, {now} + $4, $5)
             ON CONFLICT (tenant, scope, key)
                 DO UPDATE SET result = NULL, until = excluded.until, digest = excluded.digest
                 WHERE once_results.until <= {now}
             RETURNING key"
        );
        let first = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(scope)
            .bind(key)
            .bind(leases::milliseconds(KEPT))
            .bind(digest)
            .fetch_optional(write.connection())
            .await?;
        if first.is_some() {
            write.commit().await?;
            return Ok(KeyState::First);
        }
        let sql = "SELECT result, digest FROM once_results WHERE tenant = $1 AND scope = $2 AND key = $3";
        let found = sqlx::query(sql)
            .bind(tenant.as_str())
            .bind(scope)
            .bind(key)
            .fetch_optional(write.connection())
            .await?;
        write.commit().await?;
        let Some(found) = found else { return Ok(KeyState::Unknown) };
        let first = row::text(&found, "digest")?;
        if ![first.as_str(), digest].contains(&"") && first != digest {
            return Ok(KeyState::Other);
        }
        let Some(result) = row::optional_text(&found, "result")? else { return Ok(KeyState::Unknown) };
        RawValue::from_string(result).map(KeyState::Done).map_err(|_| row::undecodable("result"))
    }

    async fn end(&self, sql: &'static str, key: (&TenantId, &str, &str), result: Option<&str>) -> Result<()> {
        let mut write = self.store.write().await?;
        let (tenant, scope, key) = key;
        let mut query = sqlx::query(sql).bind(tenant.as_str()).bind(scope).bind(key);
        if let Some(result) = result {
            query = query.bind(result);
        }
        let done = query.execute(write.connection()).await?;
        write.commit().await?;
        match done.rows_affected() {
            0 => Err(Error::not_found("key")),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl tool::Once for OnceResults {
    async fn begin(&self, tenant: &TenantId, scope: &str, key: &str, digest: &str) -> tool::Result<KeyState> {
        Ok(within(self.timeout, self.try_begin(tenant, scope, key, digest)).await?)
    }

    async fn finish(&self, tenant: &TenantId, scope: &str, key: &str, result: &RawValue) -> tool::Result<()> {
        let sql = "UPDATE once_results SET result = $4 WHERE tenant = $1 AND scope = $2 AND key = $3";
        Ok(within(self.timeout, self.end(sql, (tenant, scope, key), Some(result.get()))).await?)
    }

    async fn forget(&self, tenant: &TenantId, scope: &str, key: &str) -> tool::Result<()> {
        let sql = "DELETE FROM once_results WHERE tenant = $1 AND scope = $2 AND key = $3 AND result IS NULL";
        Ok(within(self.timeout, self.end(sql, (tenant, scope, key), None)).await?)
    }
}
