//! Appending to the audit: many calls in few rows.

use super::block::{Block, Glance, blocks};
use super::walk::{Order, Walk, Wanted};
use super::{Audit, AuditRow, Filter, Kind, Query};
use crate::database::Write;
use crate::{Result, row};
use sqlx::AssertSqlSafe;
use std::collections::{BTreeMap, HashSet};

impl Audit<'_> {
    /// Appends the rows, all or none. Each row carries its tenant: one batch serves all. The same rows may be offered
    /// again, if they are the same ones and all of them.
    pub async fn append(self, rows: &[AuditRow<'_>]) -> Result<()> {
        self.put(blocks(rows)?).await
    }

    /// Appends those of the rows that are not there: of which nobody knows how many were kept, in whose company.
    pub async fn append_missing(self, rows: &[AuditRow<'_>]) -> Result<()> {
        let mut by_tenant: BTreeMap<&str, Vec<&AuditRow<'_>>> = BTreeMap::new();
        for row in rows {
            by_tenant.entry(&row.tenant).or_default().push(row);
        }
        let mut missing = Vec::new();
        for (tenant, rows) in by_tenant {
            let there = self.those_of(tenant, &rows).await?;
            missing.extend(rows.into_iter().filter(|row| !there.contains(&*row.id)));
        }
        self.put(blocks(missing)?).await
    }

    async fn put(self, blocks: Vec<Block<'_>>) -> Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut write = self.0.write().await?;
        for block in blocks {
            insert_block(Kind::Call, block).execute(write.connection()).await?;
        }
        write.commit().await
    }

    /// Which of a tenant's rows are there.
    async fn those_of(self, tenant: &str, rows: &[&AuditRow<'_>]) -> Result<HashSet<String>> {
        let wanted: HashSet<&str> = rows.iter().map(|row| &*row.id).collect();
        let (Some(from), Some(last)) =
            (rows.iter().map(|row| row.at).min(), rows.iter().map(|row| row.at).max())
        else {
            return Ok(HashSet::new());
        };
        let filter = Filter { from: Some(from), to: last.checked_add(1), ..Filter::default() };
        let mut walk =
            Walk::new(self.0.backend(), Wanted::new(&row::clean(tenant), filter), Order::OldestFirst);
        let (mut connection, mut there) = (self.0.pool().acquire().await?, HashSet::new());
        loop {
            let found = walk.next(&mut connection).await?;
            if found.is_empty() {
                return Ok(there);
            }
            for line in found.iter().flat_map(|block| block.records.lines()) {
                let id = Glance::of(line)?.id;
                if wanted.contains(&*id) {
                    there.insert(id.into_owned());
                }
            }
        }
    }
}

/// Puts one row into a transaction.
pub(crate) async fn insert(write: &mut Write, kind: Kind, row: &AuditRow<'_>) -> Result<()> {
    insert_block(kind, Block::of(row)?).execute(write.connection()).await?;
    Ok(())
}

/// Writes a row that stands alone anew.
pub(crate) async fn replace(write: &mut Write, kind: Kind, row: &AuditRow<'_>) -> Result<()> {
    let block = Block::of(row)?;
    let sql =
        format!("UPDATE {} SET records = $4 WHERE tenant = $1 AND last_at = $2 AND id = $3", kind.table());
    let query = sqlx::query(AssertSqlSafe(sql)).bind(row::clean(block.tenant)).bind(block.last_at);
    query.bind(row::clean(block.id)).bind(block.records).execute(write.connection()).await?;
    Ok(())
}

pub(super) fn insert_block(kind: Kind, block: Block<'_>) -> Query<'static> {
    let sql = format!(
        "INSERT INTO {} (tenant, last_at, id, first_at, calls, failed, records)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        kind.table()
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(row::clean(block.tenant))
        .bind(block.last_at)
        .bind(row::clean(block.id))
        .bind(block.first_at)
        .bind(block.calls)
        .bind(block.failed)
        .bind(block.records)
}
