//! Claims: who works on which run, by turns among tenants.

use crate::database::{Backend, Write};
use crate::runs::row::{COLUMNS, decode};
use crate::runs::{Run, Runs, slots};
use crate::{Result, Store, leases, row, values};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;
use tool::{RunId, RunKind, TenantId};

/// How long a claim holds if it is not renewed.
const LEASE: Duration = Duration::from_secs(15);
/// As many claims as one statement renews.
const CHUNK: usize = 200;

/// The right to write to a run, until somebody else has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Whose run it is.
    pub tenant: TenantId,
    /// Which.
    pub run: RunId,
    /// The how manieth claim of the run this one is.
    pub epoch: i64,
}

/// A run that is ours.
#[derive(Debug, Clone)]
pub struct ClaimedRun {
    /// The run as it is now.
    pub run: Run,
    /// What allows to write to it.
    pub claim: Claim,
}

impl Runs<'_> {
    /// Claims up to `limit` runs of a kind that are due, of all tenants by turns, so that nobody waits behind another's
    /// queue. No tenant has more than `tenant_limit` of the kind under way, in all processes together. Platform-wide.
    pub async fn claim(self, kind: RunKind, limit: u32, tenant_limit: u32) -> Result<Vec<ClaimedRun>> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut tenants = self.due_tenants(kind).await?;
        let mut claimed = Vec::new();
        while claimed.len() < limit && !tenants.is_empty() {
            let free = limit - claimed.len();
            let next: Vec<_> = tenants.drain(..free.min(tenants.len())).collect();
            let last = next.last().cloned();
            claimed.extend(self.claim_of(kind, next, free, tenant_limit).await?);
            *self.0.runs_turn(kind).lock().unwrap_or_else(PoisonError::into_inner) = last;
        }
        Ok(claimed)
    }

    /// Claims runs of these tenants, of each about as many. Their rows are locked in one order, whose turn it may be.
    async fn claim_of(
        self,
        kind: RunKind,
        mut tenants: Vec<TenantId>,
        mut free: usize,
        tenant_limit: u32,
    ) -> Result<Vec<ClaimedRun>> {
        tenants.sort_unstable();
        let (mut tenants, mut claimed) = (VecDeque::from(tenants), Vec::new());
        let mut write = self.0.write().await?;
        while let Some(tenant) = tenants.pop_front().filter(|_| free > 0) {
            let share = (free / (tenants.len() + 1)).max(1);
            let which = Which { kind, share, only: None };
            let taken = take(self.0, &mut write, &tenant, which, tenant_limit).await?;
            if taken.len() == share {
                tenants.push_back(tenant);
            }
            free -= taken.len();
            claimed.extend(taken);
        }
        write.commit().await?;
        Ok(claimed)
    }

    /// Renews claims and gives those back that still hold, each with the number of the last record that others left.
    pub async fn renew(self, claims: &[Claim]) -> Result<Vec<(Claim, i64)>> {
        let mut held = Vec::with_capacity(claims.len());
        for chunk in claims.chunks(CHUNK) {
            let mut write = self.0.write().await?;
            lock(&mut write, chunk.iter().map(|claim| (&claim.tenant, &claim.run)).collect()).await?;
            held.extend(extend(self.0, &mut write, chunk).await?);
            write.commit().await?;
        }
        Ok(held)
    }

    /// What this process has claimed, each with the number of the last record that others left. Platform-wide.
    pub async fn held(self) -> Result<Vec<(Claim, i64)>> {
        let rows = sqlx::query("SELECT tenant, id, epoch, news_seq FROM runs WHERE owner = $1")
            .bind(self.0.process())
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(|row| Ok((claim_of(row)?, row::integer(row, "news_seq")?))).collect()
    }

    /// The name under which this process claims runs. Another one begins with another name.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.0.process()
    }

    /// Takes the runs of a process that is known to be gone from it, so that they are due at once, and says how many. If
    /// it is not gone after all, what it writes is refused. Platform-wide: for whoever starts in its place.
    pub async fn disown(self, owner: &str) -> Result<u64> {
        let mut write = self.0.write().await?;
        let done = sqlx::query("UPDATE runs SET owner = NULL, leased_until = 0 WHERE owner = $1")
            .bind(row::clean(owner))
            .execute(write.connection())
            .await?;
        write.commit().await?;
        self.0.runs_changed().notify_waiters();
        Ok(done.rows_affected())
    }

    /// How long until a run of this kind is due, zero for one that is; `None` where none will be. Platform-wide.
    pub async fn next_due(self, kind: RunKind) -> Result<Option<Duration>> {
        let now = leases::now(self.0.backend());
        let (is_due, of_kind) = (is_due(kind, now), of(kind));
        let sql = format!(
            "{tenants}
             SELECT MIN(CASE WHEN {is_due} THEN 0 ELSE (SELECT MIN(r.due_at) FROM runs r
                 WHERE r.tenant = found.tenant AND r.due_at > {now} AND r.{of_kind}) - {now} END) AS due_in
             FROM found WHERE {IS_ACTIVE}",
            tenants = tenants(kind),
        );
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(self.0.pool()).await?;
        let due_in = row::optional_integer(&row, "due_in")?;
        Ok(due_in.map(|due_in| Duration::from_millis(u64::try_from(due_in).unwrap_or(0))))
    }

    /// The tenants that have runs which are due, beginning behind the one that had its turn last.
    async fn due_tenants(self, kind: RunKind) -> Result<VecDeque<TenantId>> {
        let (tenants, is_due) = (tenants(kind), is_due(kind, leases::now(self.0.backend())));
        let sql =
            format!("{tenants} SELECT tenant FROM found WHERE {is_due} AND {IS_ACTIVE} ORDER BY tenant");
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(self.0.pool()).await?;
        let mut tenants =
            rows.iter().map(|row| row::parsed(row, "tenant")).collect::<Result<VecDeque<TenantId>>>()?;
        let last = self.0.runs_turn(kind).lock().unwrap_or_else(PoisonError::into_inner).clone();
        let passed =
            tenants.iter().filter(|tenant| last.as_ref().is_some_and(|last| *tenant <= last)).count();
        tenants.rotate_left(passed);
        Ok(tenants)
    }
}

/// Whether a run is of this kind, in the words of the indexes of what is due.
const fn of(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Flow => "agent IS NULL",
        RunKind::Agent => "agent IS NOT NULL",
    }
}

/// Tenants that have runs which are or will be due: steps from tenant to tenant through the index, whatever the number of
/// runs. The last row is none.
fn tenants(kind: RunKind) -> String {
    let of_kind = of(kind);
    format!(
        "WITH RECURSIVE found (tenant) AS (
             SELECT MIN(tenant) FROM runs WHERE due_at IS NOT NULL AND {of_kind}
             UNION ALL
             SELECT (SELECT MIN(r.tenant) FROM runs r
                 WHERE r.tenant > found.tenant AND r.due_at IS NOT NULL AND r.{of_kind})
             FROM found WHERE found.tenant IS NOT NULL)"
    )
}

/// The runs of a tenant that is switched off wait until it is on again.
const IS_ACTIVE: &str = "EXISTS (SELECT 1 FROM tenants o WHERE o.id = found.tenant AND o.status = 'active')";

/// The tenant that was found has a run that is due and in nobody's hands.
fn is_due(kind: RunKind, now: &str) -> String {
    let of_kind = of(kind);
    format!(
        "EXISTS (SELECT 1 FROM runs r WHERE r.tenant = found.tenant AND r.due_at <= {now} AND r.leased_until <= {now}
             AND r.{of_kind})"
    )
}

/// Which due runs of a tenant are claimed: up to `share` of a kind, the longest due first, or only the one named.
#[derive(Clone, Copy)]
pub(crate) struct Which<'a> {
    pub(crate) kind: RunKind,
    pub(crate) share: usize,
    pub(crate) only: Option<&'a RunId>,
}

/// Claims them, as long as the tenant has fewer of their kind under way than it may.
pub(crate) async fn take(
    store: &Store,
    write: &mut Write,
    tenant: &TenantId,
    which: Which<'_>,
    tenant_limit: u32,
) -> Result<Vec<ClaimedRun>> {
    let Which { kind, share, only } = which;
    // Nobody else counts the tenant's runs meanwhile.
    slots::lock(write, tenant, slots::WHOLE_TENANT, None).await?;
    let free = i64::from(tenant_limit) - count_held(write, tenant, kind).await?;
    let share = i64::try_from(share).unwrap_or(i64::MAX).min(free);
    if share <= 0 {
        return Ok(Vec::new());
    }
    let now = leases::now(write.backend());
    let skip = match write.backend() {
        Backend::Sqlite => "",
        Backend::Postgres => "FOR UPDATE SKIP LOCKED",
    };
    let (lease, of_kind) = (leases::milliseconds(LEASE), of(kind));
    let sql = format!(
        "WITH chosen AS MATERIALIZED (
             SELECT id FROM runs WHERE tenant = $1 AND due_at <= {now} AND leased_until <= {now}
                 AND {of_kind} AND ($4 IS NULL OR id = $4)
             ORDER BY due_at, id LIMIT $3 {skip})
         UPDATE runs SET owner = $2, epoch = epoch + 1, leased_until = {now} + {lease},
             started_at = COALESCE(started_at, {now}),
             state = CASE WHEN state = 'cancelling' THEN state ELSE 'running' END
         WHERE tenant = $1 AND id IN (SELECT id FROM chosen) RETURNING {COLUMNS}"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(store.process())
        .bind(share)
        .bind(only.map(RunId::as_str))
        .fetch_all(write.connection())
        .await?;
    rows.iter().map(|row| Ok(ClaimedRun { run: decode(row)?, claim: claim_of(row)? })).collect()
}

/// How many runs of this kind some process works on for the tenant.
async fn count_held(write: &mut Write, tenant: &TenantId, kind: RunKind) -> Result<i64> {
    let (now, of_kind) = (leases::now(write.backend()), of(kind));
    let sql = format!(
        "SELECT COUNT(*) AS held FROM runs
         WHERE tenant = $1 AND owner IS NOT NULL AND leased_until > {now} AND {of_kind}"
    );
    let row = sqlx::query(AssertSqlSafe(sql)).bind(tenant.as_str()).fetch_one(write.connection()).await?;
    row::integer(&row, "held")
}

/// Holds the rows until the transaction ends, taking them in one order, so that no two writes wait for each other. SQLite
/// has one write at a time anyway.
pub(crate) async fn lock(write: &mut Write, mut runs: Vec<(&TenantId, &RunId)>) -> Result<()> {
    if write.backend() == Backend::Sqlite {
        return Ok(());
    }
    runs.sort_unstable();
    runs.dedup();
    for chunk in runs.chunks(CHUNK) {
        let sql = format!(
            "SELECT 1 FROM runs WHERE (tenant, id) IN (VALUES {}) ORDER BY tenant, id FOR UPDATE",
            values::rows(write.backend(), chunk.len(), 2)
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (tenant, run) in chunk {
            query = query.bind(tenant.as_str()).bind(run.as_str());
        }
        query.persistent(chunk.len() == 1).execute(write.connection()).await?;
    }
    Ok(())
}

/// Lets the claims that still hold end later.
async fn extend(store: &Store, write: &mut Write, claims: &[Claim]) -> Result<Vec<(Claim, i64)>> {
    let (backend, now) = (write.backend(), leases::now(write.backend()));
    let sql = format!(
        "UPDATE runs SET leased_until = {now} + {lease} WHERE (tenant, id, epoch) IN (VALUES {rows}) AND owner = {owner}
         RETURNING tenant, id, epoch, news_seq",
        lease = leases::milliseconds(LEASE),
        rows = values::rows(backend, claims.len(), 3),
        owner = values::behind(backend, claims.len() * 3),
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for claim in claims {
        query = query.bind(claim.tenant.as_str()).bind(claim.run.as_str()).bind(claim.epoch);
    }
    let rows = query.bind(store.process()).persistent(false).fetch_all(write.connection()).await?;
    rows.iter().map(|row| Ok((claim_of(row)?, row::integer(row, "news_seq")?))).collect()
}

pub(crate) fn claim_of(row: &AnyRow) -> Result<Claim> {
    Ok(Claim {
        tenant: row::parsed(row, "tenant")?,
        run: row::parsed(row, "id")?,
        epoch: row::integer(row, "epoch")?,
    })
}
