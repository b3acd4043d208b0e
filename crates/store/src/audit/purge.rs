//! Deleting what is old, in steps.

use super::block::{SPAN_MS, blocks, read};
use super::walk::{Found, Order, Walk, Wanted};
use super::write::insert_block;
use super::{Audit, AuditRow, Filter, Kind};
use crate::Result;
use crate::database::Write;
use sqlx::{AssertSqlSafe, Row as _};

/// Blocks per step, so that no lock is held for long.
const PURGE_STEP: i64 = 20;

impl Audit<'_> {
    /// Deletes the records of what began before `time`, and says how many there were. Platform-wide: for the retention
    /// period.
    pub async fn purge_before(self, time: i64) -> Result<u64> {
        let mut count = 0;
        for kind in [Kind::Call, Kind::Management] {
            let mut tenant = self.tenant_after(kind, "").await?;
            while let Some(name) = tenant {
                count += self.purge_blocks(kind, &name, time).await?;
                count += self.cut_blocks(kind, &name, time).await?;
                tenant = self.tenant_after(kind, &name).await?;
            }
        }
        Ok(count)
    }

    /// The next tenant that has records, by name: a step through the key, whatever their number.
    async fn tenant_after(self, kind: Kind, tenant: &str) -> Result<Option<String>> {
        let sql = format!("SELECT MIN(tenant) FROM {} WHERE tenant > $1", kind.table());
        let row = sqlx::query(AssertSqlSafe(sql)).bind(tenant).fetch_one(self.0.pool()).await?;
        Ok(row.try_get(0)?)
    }

    /// Deletes the blocks of which everything is old.
    async fn purge_blocks(self, kind: Kind, tenant: &str, time: i64) -> Result<u64> {
        let table = kind.table();
        let sql = format!(
            "DELETE FROM {table} WHERE (tenant, last_at, id) IN
                 (SELECT tenant, last_at, id FROM {table} WHERE tenant = $1 AND last_at < $2
                  ORDER BY last_at, id LIMIT {PURGE_STEP})
             RETURNING calls"
        );
        let mut count = 0;
        loop {
            let mut write = self.0.write().await?;
            let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(tenant.to_owned()).bind(time);
            let gone = query.fetch_all(write.connection()).await?;
            write.commit().await?;
            if gone.is_empty() {
                return Ok(count);
            }
            for row in gone {
                count += u64::try_from(row.try_get::<i64, _>("calls")?).unwrap_or_default();
            }
        }
    }

    /// Takes what is old out of the blocks in which other calls are not.
    async fn cut_blocks(self, kind: Kind, tenant: &str, time: i64) -> Result<u64> {
        let filter = Filter { kind, to: Some(time), ..Filter::default() };
        let part = (time, time.saturating_add(SPAN_MS));
        let walk = Walk::new(self.0.backend(), Wanted::new(tenant, filter), Order::OldestFirst);
        let (mut walk, mut count) = (walk.among(part), 0);
        loop {
            let found = walk.next(&mut *self.0.pool().acquire().await?).await?;
            if found.is_empty() {
                return Ok(count);
            }
            let mut write = self.0.write().await?;
            for block in found {
                count += cut(&mut write, kind, tenant, time, &block).await?;
            }
            write.commit().await?;
        }
    }
}

async fn cut(write: &mut Write, kind: Kind, tenant: &str, time: i64, block: &Found) -> Result<u64> {
    let rows = block.records.lines().map(|line| read(tenant, line)).collect::<Result<Vec<_>>>()?;
    let (left, old): (Vec<AuditRow<'_>>, Vec<_>) = rows.into_iter().partition(|row| row.at >= time);
    let sql = format!("DELETE FROM {} WHERE tenant = $1 AND last_at = $2 AND id = $3", kind.table());
    let query = sqlx::query(AssertSqlSafe(sql)).bind(tenant.to_owned()).bind(block.last_at);
    query.bind(block.id.clone()).execute(write.connection()).await?;
    for block in blocks(&left)? {
        insert_block(kind, block).execute(write.connection()).await?;
    }
    Ok(old.len().try_into().unwrap_or(u64::MAX))
}
