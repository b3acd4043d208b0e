//! What the owner of a run writes: records, waits, and whether it goes on, waits or ends. Many runs in one transaction.

use crate::database::Write;
use crate::error::check_text;
use crate::runs::claim::{Claim, claim_of, lock};
use crate::runs::doors::{self, Cancelled};
use crate::runs::journal::{self, Line, NewRecord};
use crate::runs::waits::{self, NewWait};
use crate::runs::{State, row as run_row, slots};
use crate::{Error, ErrorKind, Result, Store, leases, meta, row, values};
use sqlx::AssertSqlSafe;
use std::collections::HashMap;
use tool::{RunId, TenantId};

/// What an owner writes at once, all of it or nothing.
#[derive(Clone)]
pub struct Commit {
    /// What became true.
    pub records: Vec<NewRecord>,
    /// What nodes wait for from now on.
    pub opened: Vec<NewWait>,
    /// Nodes that do not wait any more, by path.
    pub closed: Vec<String>,
    /// Records for other runs of the tenant, e.g. a parent that is to learn how this run ended. Those that have ended
    /// get none.
    pub told: Vec<(RunId, NewRecord)>,
    /// Children that are to end as cancelled, and the record that says so to those that have begun.
    pub cancelled: Vec<(RunId, NewRecord)>,
    /// What becomes of the run.
    pub then: Then,
}

/// What becomes of a run whose owner has written.
#[derive(Clone)]
pub enum Then {
    /// It stays ours.
    GoOn,
    /// It is given back until something happens, unless something has.
    Park(Parking),
    /// It is given back, and is due.
    Release,
    /// It ends.
    End(Ending),
}

/// How a run waits that nobody works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parking {
    /// Waiting or paused.
    pub state: State,
    /// When it must be taken up again at the latest, by the database's clock.
    pub due_at: Option<i64>,
    /// The last record of others that the owner knows.
    pub seen: i64,
}

/// How a run ended.
#[derive(Clone)]
pub struct Ending {
    /// One of those that are an end.
    pub state: State,
    /// What it gave, as JSON.
    pub output: Option<String>,
    /// Why it failed, as JSON.
    pub error: Option<String>,
}

/// What came of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The number of the run's last record.
    pub last_seq: i64,
    /// The run is ours no more; `false` after a park that others were faster than.
    pub is_given_back: bool,
}

impl Commit {
    /// Of records only.
    #[must_use]
    pub fn of(records: Vec<NewRecord>) -> Self {
        Self { records, ..Self::then(Then::GoOn) }
    }

    /// Of nothing but what becomes of the run.
    #[must_use]
    pub fn then(then: Then) -> Self {
        let (records, opened, closed) = (Vec::new(), Vec::new(), Vec::new());
        Self { records, opened, closed, told: Vec::new(), cancelled: Vec::new(), then }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.records.iter().try_for_each(NewRecord::check)?;
        self.others().try_for_each(|(_, record)| record.check())?;
        self.closed.iter().try_for_each(|path| check_text("path", path))?;
        self.opened.iter().try_for_each(NewWait::check)
    }

    /// Others than its owner may have something to do because of it.
    pub(crate) fn concerns_others(&self) -> bool {
        !matches!(self.then, Then::GoOn) || self.others().next().is_some()
    }

    fn others(&self) -> impl Iterator<Item = &(RunId, NewRecord)> {
        self.told.iter().chain(&self.cancelled)
    }
}

/// A run whose owner may write, as it was before.
struct OwnedRun {
    first_seq: i64,
    last_seq: i64,
    group: Option<String>,
    is_secret: bool,
}

/// Writes them all in one transaction, at most one of each run; those whose claim is lost are refused, which
/// hinders no other.
pub(crate) async fn write(store: &Store, commits: &[(&Claim, &Commit)]) -> Result<Vec<Result<Committed>>> {
    let mut write = store.write().await?;
    lock(&mut write, touched(commits)).await?;
    let held = fence(store, &mut write, commits).await?;
    journal::add(store, &mut write, &lines(commits, &held)).await?;
    let (mut done, mut groups) = (Vec::with_capacity(commits.len()), Vec::new());
    for (claim, commit) in commits {
        done.push(match held.get(*claim) {
            Some(run) => Ok(carry_out(store, &mut write, claim, commit, run, &mut groups).await?),
            None => Err(Error::new(ErrorKind::Stale, "somebody else has the run now")),
        });
    }
    groups.sort_unstable();
    for (tenant, group) in &groups {
        slots::release(&mut write, tenant, group).await?;
    }
    write.commit().await?;
    Ok(done)
}

/// Does what the commit of a run that is ours says, and adds the groups of which it frees a slot.
async fn carry_out(
    store: &Store,
    write: &mut Write,
    claim: &Claim,
    commit: &Commit,
    run: &OwnedRun,
    groups: &mut Vec<(TenantId, String)>,
) -> Result<Committed> {
    let tenant = &claim.tenant;
    waits::change(write, claim, &commit.opened, &commit.closed).await?;
    for (other, record) in &commit.told {
        doors::leave(store, write, tenant, other, record).await?;
    }
    for (child, record) in &commit.cancelled {
        if let Cancelled::Ended { group } = doors::cancel(store, write, tenant, child, record).await? {
            groups.extend(group.map(|group| (tenant.clone(), group)));
        }
    }
    let is_given_back = proceed(store, write, claim, &commit.then, run).await?;
    if matches!(commit.then, Then::End(_)) {
        groups.extend(run.group.clone().map(|group| (tenant.clone(), group)));
    }
    Ok(Committed { last_seq: run.last_seq, is_given_back })
}

fn touched<'a>(commits: &[(&'a Claim, &'a Commit)]) -> Vec<(&'a TenantId, &'a RunId)> {
    let of = |(claim, commit): &(&'a Claim, &'a Commit)| {
        let told = commit.others().map(|(run, _)| (&claim.tenant, run));
        told.chain([(&claim.tenant, &claim.run)]).collect::<Vec<_>>()
    };
    commits.iter().flat_map(of).collect()
}

/// Numbers the records of the runs that are still ours.
async fn fence(
    store: &Store,
    write: &mut Write,
    commits: &[(&Claim, &Commit)],
) -> Result<HashMap<Claim, OwnedRun>> {
    let sql = format!(
        "UPDATE runs SET last_seq = last_seq + added.column4 FROM (VALUES {rows}) AS added
         WHERE runs.tenant = added.column1 AND runs.id = added.column2 AND runs.epoch = added.column3 AND runs.owner = {}
         RETURNING runs.tenant, runs.id, runs.epoch, runs.last_seq, runs.group_key, runs.is_secret",
        values::behind(write.backend(), commits.len() * 4),
        rows = values::rows(write.backend(), commits.len(), 4),
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (claim, commit) in commits {
        query = query
            .bind(claim.tenant.as_str())
            .bind(claim.run.as_str())
            .bind(claim.epoch)
            .bind(count(&commit.records));
    }
    let query = query.bind(store.process()).persistent(commits.len() == 1);
    let rows = query.fetch_all(write.connection()).await?;
    let mut held = HashMap::with_capacity(rows.len());
    for row in &rows {
        let last_seq = row::integer(row, "last_seq")?;
        let group = row::optional_text(row, "group_key")?;
        let is_secret = row::integer(row, "is_secret")? == 1;
        held.insert(claim_of(row)?, OwnedRun { first_seq: last_seq, last_seq, group, is_secret });
    }
    for (claim, commit) in commits {
        if let Some(run) = held.get_mut(*claim) {
            run.first_seq = run.last_seq - count(&commit.records) + 1;
        }
    }
    Ok(held)
}

fn count(records: &[NewRecord]) -> i64 {
    i64::try_from(records.len()).unwrap_or(i64::MAX)
}

fn lines<'a>(commits: &[(&'a Claim, &'a Commit)], held: &HashMap<Claim, OwnedRun>) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for (claim, commit) in commits {
        let Some(run) = held.get(*claim) else { continue };
        lines.extend((run.first_seq..).zip(&commit.records).map(|(seq, record)| Line {
            tenant: &claim.tenant,
            run: &claim.run,
            seq,
            is_news: false,
            is_secret: run.is_secret,
            record,
        }));
    }
    lines
}

/// Whether the run was given back.
async fn proceed(
    store: &Store,
    write: &mut Write,
    claim: &Claim,
    then: &Then,
    run: &OwnedRun,
) -> Result<bool> {
    match then {
        Then::GoOn => Ok(false),
        Then::Park(parking) => park(write, claim, parking).await,
        Then::Release => {
            sqlx::query("UPDATE runs SET owner = NULL, leased_until = 0 WHERE tenant = $1 AND id = $2")
                .bind(claim.tenant.as_str())
                .bind(claim.run.as_str())
                .execute(write.connection())
                .await?;
            Ok(true)
        }
        Then::End(ending) => {
            end(write, &claim.tenant, &claim.run, ending.state).await?;
            keep_result(store, write, claim, ending, run.is_secret).await?;
            Ok(true)
        }
    }
}

async fn park(write: &mut Write, claim: &Claim, parking: &Parking) -> Result<bool> {
    let done = sqlx::query(
        "UPDATE runs SET owner = NULL, leased_until = 0, state = $3, due_at = $4
         WHERE tenant = $1 AND id = $2 AND news_seq <= $5",
    )
    .bind(claim.tenant.as_str())
    .bind(claim.run.as_str())
    .bind(parking.state.as_str())
    .bind(parking.due_at)
    .bind(parking.seen)
    .execute(write.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a run whose row is locked; its slot is still to be released.
pub(crate) async fn end(write: &mut Write, tenant: &TenantId, run: &RunId, state: State) -> Result<()> {
    let now = leases::now(write.backend());
    let sql = format!(
        "UPDATE runs SET state = $3, owner = NULL, leased_until = 0, due_at = NULL, is_admitted = 1, ended_at = {now}
         WHERE tenant = $1 AND id = $2"
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(run.as_str())
        .bind(state.as_str())
        .execute(write.connection())
        .await?;
    waits::close_all(write, tenant, run).await
}

async fn keep_result(
    store: &Store,
    write: &mut Write,
    claim: &Claim,
    ending: &Ending,
    is_secret: bool,
) -> Result<()> {
    let key_id = if is_secret { meta::sealing_key(store, write).await? } else { String::new() };
    let kept = |column: &str, text: &Option<String>| match text {
        Some(text) if is_secret => {
            let place = run_row::data_place(claim.tenant.as_str(), claim.run.as_str(), column);
            store.vault().seal(&key_id, &place, text).map(Some)
        }
        text => Ok(text.clone()),
    };
    sqlx::query("UPDATE run_data SET output = $3, error = $4 WHERE tenant = $1 AND run = $2")
        .bind(claim.tenant.as_str())
        .bind(claim.run.as_str())
        .bind(kept("output", &ending.output)?)
        .bind(kept("error", &ending.error)?)
        .execute(write.connection())
        .await?;
    Ok(())
}
