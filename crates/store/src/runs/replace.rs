//! Runs that take the place of others: where a group is full, its oldest make room.

use crate::database::{Backend, Write};
use crate::runs::doors::cancel_and_tell;
use crate::runs::insert::group_key;
use crate::runs::journal::NewRecord;
use crate::runs::{NewRun, Overflow, Parent, Slots, claim};
use crate::{Result, Store, row};
use tool::{RunId, TenantId};

/// What tells a run that it is to end.
#[derive(Clone, PartialEq, Eq)]
pub struct Cancellation {
    /// For the run, if it has begun.
    pub record: NewRecord,
    /// For the run that waits for it, if it has not.
    pub to_parent: NewRecord,
}

/// Cancels as many runs of the new one's group, oldest first, as are too many with it. Those that are being cancelled
/// already count no more.
pub(super) async fn make_room(
    store: &Store,
    write: &mut Write,
    tenant: &TenantId,
    new: &NewRun,
) -> Result<()> {
    let Some(Slots { limit, overflow: Overflow::Replace(cancellation), .. }) = &new.slots else {
        return Ok(());
    };
    let group = new.slots.as_ref().map(|slots| group_key(&new.flow, slots)).unwrap_or_default();
    one_after_another(write, tenant, &group).await?;
    let surplus = surplus(write, tenant, &group, *limit).await?;
    // Before the group's row, as everybody does.
    let parents = surplus.iter().filter_map(|(_, parent)| parent.as_ref()).map(|parent| &parent.run);
    let both = surplus.iter().map(|(run, _)| run).chain(parents);
    claim::lock(write, both.map(|run| (tenant, run)).collect()).await?;
    for (run, parent) in surplus {
        cancel_and_tell(store, write, tenant, &run, parent, cancellation).await?;
    }
    Ok(())
}

/// Two new runs of a group at the same time would both count without the other. SQLite has one write at a time anyway.
async fn one_after_another(write: &mut Write, tenant: &TenantId, group: &str) -> Result<()> {
    if write.backend() == Backend::Postgres {
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended(CAST($1 AS TEXT), 7236412953))")
            .bind(format!("{tenant}/{group}"))
            .execute(write.connection())
            .await?;
    }
    Ok(())
}

/// All but the newest that have room beside another one.
async fn surplus(
    write: &mut Write,
    tenant: &TenantId,
    group: &str,
    limit: u32,
) -> Result<Vec<(RunId, Option<Parent>)>> {
    let rows = sqlx::query(
        "SELECT id, parent, parent_path FROM runs
         WHERE tenant = $1 AND group_key = $2 AND ended_at IS NULL AND state <> 'cancelling'
         ORDER BY created_at DESC, id DESC LIMIT 1000000 OFFSET $3",
    )
    .bind(tenant.as_str())
    .bind(group)
    .bind(i64::from(limit) - 1)
    .fetch_all(write.connection())
    .await?;
    rows.iter()
        .rev()
        .map(|found| {
            let parent = match row::optional_text(found, "parent")? {
                Some(_) => Some(Parent {
                    run: row::parsed(found, "parent")?,
                    path: row::optional_text(found, "parent_path")?.unwrap_or_default(),
                }),
                None => None,
            };
            Ok((row::parsed(found, "id")?, parent))
        })
        .collect()
}
