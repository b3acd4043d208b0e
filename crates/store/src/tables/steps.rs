//! What was done to a table, version by version: for those who follow it.

use crate::tables::log::load;
use crate::tables::{Table, TableVersion, Tables};
use crate::{Result, row as column};
use document::{Change, Node};
use sqlx::Row as _;
use sqlx::any::AnyRow;
use tool::{TableId, TenantId};

/// A version of a table with what led to it.
#[derive(Debug, Clone)]
pub struct TableStep {
    /// Which, by whom, and when.
    pub version: TableVersion,
    /// What was done; `None` where the document was kept as a whole.
    pub change: Option<Change>,
    /// The document before.
    pub before: Node,
    /// The document after.
    pub after: Node,
}

impl Tables<'_> {
    /// What was done to the table behind a version, oldest first, at most so many. What is too old to be kept is
    /// passed over.
    pub async fn steps(
        self,
        tenant: &TenantId,
        id: &TableId,
        behind: i64,
        limit: u32,
    ) -> Result<Vec<TableStep>> {
        let table = self.get(tenant, id).await?;
        let mut snapshot = self.0.snapshot().await?;
        let rows = sqlx::query(
            "SELECT version, change, changed_by, at FROM table_versions
             WHERE tenant = $1 AND table_id = $2 AND version >= $3 ORDER BY version LIMIT $4",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(behind)
        .bind(i64::from(limit) + 1)
        .fetch_all(&mut *snapshot)
        .await?;
        let Some((first, rows)) = rows.split_first() else { return Ok(Vec::new()) };
        let first = column::integer(first, "version")?;
        let mut before = load(&mut snapshot, &Table { version: first, ..table.clone() }).await?;
        let mut steps = Vec::new();
        for row in rows {
            let version = TableVersion {
                version: column::integer(row, "version")?,
                changed_by: column::text(row, "changed_by")?,
                at: column::integer(row, "at")?,
            };
            let change = change_of(row)?;
            let mut after = before.clone();
            match &change {
                Some(change) => change.apply(&mut after).map_err(|_| column::undecodable("change"))?,
                None => {
                    after = load(&mut snapshot, &Table { version: version.version, ..table.clone() }).await?
                }
            }
            steps.push(TableStep { version, change, before: before.clone(), after: after.clone() });
            before = after;
        }
        Ok(steps)
    }
}

fn change_of(row: &AnyRow) -> Result<Option<Change>> {
    let text = row.try_get::<Option<String>, _>("change")?;
    let change = text.map(|text| serde_json::from_str(&text).map_err(|_| column::undecodable("change")));
    change.transpose()
}
