//! What others than its owner do to a run: leave it a record, cancel it, have it tried again.

use crate::database::{Backend, Write};
use crate::runs::journal::{self, Line, NewRecord};
use crate::runs::replace::Cancellation;
use crate::runs::{Parent, Run, Runs, State, claim, commit, missing, slots};
use crate::{Error, ErrorKind, Result, Store, leases, row};
use sqlx::AssertSqlSafe;
use tool::{RunId, TenantId};

/// How many records of a kind others may leave a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtMost {
    /// So many.
    pub count: i64,
    /// So many bytes together, as they are kept.
    pub bytes: i64,
}

impl Runs<'_> {
    /// Leaves the run a record, e.g. a signal. If nobody works on it, it is due from now on. A run that has ended is a
    /// conflict.
    pub async fn tell(self, tenant: &TenantId, run: &RunId, record: &NewRecord) -> Result<()> {
        record.check()?;
        let mut write = self.0.write().await?;
        if !leave(self.0, &mut write, tenant, run, record).await? {
            self.read(write.connection(), tenant, run).await?;
            return Err(ended());
        }
        write.commit().await?;
        self.0.runs_changed().notify_waiters();
        Ok(())
    }

    /// The same for a record of which a run takes only so many; `false` if it has had them.
    pub async fn tell_at_most(
        self,
        tenant: &TenantId,
        run: &RunId,
        record: &NewRecord,
        most: AtMost,
    ) -> Result<bool> {
        let row = sqlx::query(
            "SELECT COUNT(*) AS found, COALESCE(SUM(LENGTH(data)), 0) AS bytes FROM run_journal
             WHERE tenant = $1 AND run = $2 AND is_news = 1 AND kind = $3",
        )
        .bind(tenant.as_str())
        .bind(run.as_str())
        .bind(record.kind.as_str())
        .fetch_one(self.0.pool())
        .await?;
        let bytes =
            row::integer(&row, "bytes")?.saturating_add(i64::try_from(record.data.len()).unwrap_or(i64::MAX));
        if row::integer(&row, "found")? >= most.count || bytes > most.bytes {
            return Ok(false);
        }
        self.tell(tenant, run, record).await?;
        Ok(true)
    }

    /// Has the run end as cancelled. One that has not begun does so at once, and its parent is told; another is told
    /// itself, for its owner to end it.
    pub async fn cancel(self, tenant: &TenantId, run: &RunId, cancellation: &Cancellation) -> Result<Run> {
        cancellation.record.check()?;
        cancellation.to_parent.check()?;
        let parent = self.get(tenant, run).await?.parent;
        let mut write = self.0.write().await?;
        let both = [Some(run), parent.as_ref().map(|parent| &parent.run)];
        claim::lock(&mut write, both.into_iter().flatten().map(|run| (tenant, run)).collect()).await?;
        if !cancel_and_tell(self.0, &mut write, tenant, run, parent, cancellation).await? {
            return Err(ended());
        }
        let run = self.read(write.connection(), tenant, run).await?;
        write.commit().await?;
        self.0.runs_changed().notify_waiters();
        Ok(run)
    }

    /// Queues a failed run again, with a record that says so. Any other run is a conflict; one whose flow or version has
    /// gone stays as it is.
    pub async fn retry(self, tenant: &TenantId, run: &RunId, record: &NewRecord) -> Result<Run> {
        record.check()?;
        let mut write = self.0.write().await?;
        let old = self.read(write.connection(), tenant, run).await?;
        if old.agent.is_none() {
            check_text(&mut write, &old).await?;
        }
        let now = leases::now(write.backend());
        let sql = format!(
            "UPDATE runs SET state = 'queued', ended_at = NULL,
                 is_admitted = CASE WHEN group_key IS NULL THEN 1 ELSE 0 END,
                 due_at = CASE WHEN group_key IS NULL THEN {now} ELSE NULL END
             WHERE tenant = $1 AND id = $2 AND state = 'failed' RETURNING group_key"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(run.as_str())
            .fetch_optional(write.connection())
            .await?;
        let Some(row) = row else {
            self.read(write.connection(), tenant, run).await?;
            return Err(Error::new(ErrorKind::Conflict, "only a failed run can be tried again"));
        };
        leave(self.0, &mut write, tenant, run, record).await?;
        if let Some(group) = row::optional_text(&row, "group_key")? {
            let free = slots::lock(&mut write, tenant, &group, None).await?;
            slots::admit(&mut write, tenant, &group, free).await?;
        }
        let run = self.read(write.connection(), tenant, run).await?;
        write.commit().await?;
        self.0.runs_changed().notify_waiters();
        Ok(run)
    }
}

/// The flow is there with what the run runs of it, and stays so until the transaction ends.
async fn check_text(write: &mut Write, run: &Run) -> Result<()> {
    let lock = match write.backend() {
        Backend::Sqlite => "",
        Backend::Postgres => "FOR SHARE OF f",
    };
    // The text of a draft is kept with its run.
    let sql = format!(
        "SELECT 1 FROM flows f WHERE f.tenant = $1 AND f.id = $2 AND ($3 IS NULL OR EXISTS
             (SELECT 1 FROM flow_versions v WHERE v.tenant = $1 AND v.flow = $2 AND v.version = $3)) {lock}"
    );
    let found = sqlx::query(AssertSqlSafe(sql))
        .bind(run.tenant.as_str())
        .bind(run.flow.as_str())
        .bind(run.version)
        .fetch_optional(write.connection())
        .await?;
    if found.is_some() {
        return Ok(());
    }
    let message = format!(
        "the flow '{}' was deleted with what this run runs of it, so that it cannot be tried again; start a new run",
        run.flow
    );
    Err(Error::new(ErrorKind::NotFound, message))
}

fn ended() -> Error {
    Error::new(ErrorKind::Conflict, "the run has ended")
}

/// Adds a record of somebody else than the owner, who learns of it; a run without one is due. `false` if there is no
/// such run, or it has ended.
pub(crate) async fn leave(
    store: &Store,
    write: &mut Write,
    tenant: &TenantId,
    run: &RunId,
    record: &NewRecord,
) -> Result<bool> {
    let now = leases::now(write.backend());
    let sql = format!(
        "UPDATE runs SET last_seq = last_seq + 1, news_seq = last_seq + 1,
             due_at = CASE WHEN owner IS NULL AND is_admitted = 1 THEN {now} ELSE due_at END
         WHERE tenant = $1 AND id = $2 AND ended_at IS NULL RETURNING last_seq, is_secret"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(run.as_str())
        .fetch_optional(write.connection())
        .await?;
    let Some(row) = row else { return Ok(false) };
    let seq = row::integer(&row, "last_seq")?;
    let is_secret = row::integer(&row, "is_secret")? == 1;
    journal::add(store, write, &[Line { tenant, run, seq, is_news: true, is_secret, record }]).await?;
    Ok(true)
}

/// Cancels a run whose row is locked, as its parent's is; `false` if it has ended.
pub(crate) async fn cancel_and_tell(
    store: &Store,
    write: &mut Write,
    tenant: &TenantId,
    run: &RunId,
    parent: Option<Parent>,
    cancellation: &Cancellation,
) -> Result<bool> {
    let group = match cancel(store, write, tenant, run, &cancellation.record).await? {
        Cancelled::Over => return Ok(false),
        Cancelled::Asked => return Ok(true),
        Cancelled::Ended { group } => group,
    };
    if let Some(parent) = parent {
        let record = NewRecord { path: parent.path, ..cancellation.to_parent.clone() };
        leave(store, write, tenant, &parent.run, &record).await?;
    }
    if let Some(group) = group {
        slots::release(write, tenant, &group).await?;
    }
    Ok(true)
}

/// What came of a cancel.
pub(crate) enum Cancelled {
    /// There is no such run, or it has ended.
    Over,
    /// Its owner is to end it.
    Asked,
    /// It had not begun and has ended; the slot of this group is to be released.
    Ended { group: Option<String> },
}

/// Cancels a run whose row is locked.
pub(crate) async fn cancel(
    store: &Store,
    write: &mut Write,
    tenant: &TenantId,
    run: &RunId,
    record: &NewRecord,
) -> Result<Cancelled> {
    if !leave(store, write, tenant, run, record).await? {
        return Ok(Cancelled::Over);
    }
    let row = sqlx::query("SELECT state, group_key, is_admitted FROM runs WHERE tenant = $1 AND id = $2")
        .bind(tenant.as_str())
        .bind(run.as_str())
        .fetch_optional(write.connection())
        .await?
        .ok_or_else(missing)?;
    if State::parse(&row::text(&row, "state")?)? == State::Queued {
        commit::end(write, tenant, run, State::Cancelled).await?;
        let has_slot = row::integer(&row, "is_admitted")? == 1;
        let group = row::optional_text(&row, "group_key")?.filter(|_| has_slot);
        return Ok(Cancelled::Ended { group });
    }
    sqlx::query("UPDATE runs SET state = 'cancelling' WHERE tenant = $1 AND id = $2")
        .bind(tenant.as_str())
        .bind(run.as_str())
        .execute(write.connection())
        .await?;
    Ok(Cancelled::Asked)
}
