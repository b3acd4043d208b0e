//! New runs: committed means accepted.

use crate::conversations::{self, NewConversation};
use crate::database::{Backend, Write};
use crate::error::check_text;
use crate::runs::claim::Which;
use crate::runs::journal::{self, Line, NewRecord};
use crate::runs::replace::{Cancellation, make_room};
use crate::runs::{ClaimedRun, Parent, Run, Runs, State, claim, row as run_row, slots};
use crate::{Error, ErrorKind, Result, Status, leases, meta, row};
use sqlx::AssertSqlSafe;
use std::time::Duration;
use tool::{RunId, RunKind, TenantId};

/// A run to be. The caller has checked its inputs.
#[derive(Clone)]
pub struct NewRun {
    /// Its id, where that is known already.
    pub id: Option<RunId>,
    /// Of which flow; of an agent its address.
    pub flow: String,
    /// Of which agent, if it is one of an agent.
    pub agent: Option<String>,
    /// Of which version; `None` for a draft.
    pub version: Option<i64>,
    /// The text of the draft.
    pub source: Option<String>,
    /// What it is given, as JSON.
    pub inputs: String,
    /// What it is given, what it writes and what it gives is sealed.
    pub is_secret: bool,
    /// What starts it, as JSON.
    pub origin: String,
    /// On whose behalf, as JSON.
    pub caller: String,
    /// The node that waits for it.
    pub parent: Option<Parent>,
    /// How many of its kind may be under way at once.
    pub slots: Option<Slots>,
    /// What tells it from other runs of the flow, and for how long.
    pub dedupe: Option<(String, Duration)>,
    /// The conversation that begins with it, and is not there without it.
    pub conversation: Option<NewConversation>,
    /// What has happened already, of a run that repeats a part of another one.
    pub records: Vec<NewRecord>,
}

/// How many runs of a group may be under way at once.
#[derive(Clone, PartialEq, Eq)]
pub struct Slots {
    /// Distinguishes groups of the same flow.
    pub key: String,
    /// The most at once, at least 1.
    pub limit: u32,
    /// What if there are as many.
    pub overflow: Overflow,
}

/// What becomes of a run for which there is no slot.
#[derive(Clone, PartialEq, Eq)]
pub enum Overflow {
    /// It waits for one.
    Queue,
    /// It is not accepted.
    Refuse,
    /// The oldest of the group are cancelled, so that it begins as soon as they have ended.
    Replace(Box<Cancellation>),
}

/// What came of a start.
#[derive(Debug)]
pub enum Inserted {
    /// It is accepted.
    Created(Run),
    /// It is accepted and ours.
    Claimed(ClaimedRun),
    /// There has been a run with this key, which is this one.
    Known(Run),
    /// It is not accepted, and leaves nothing behind.
    Refused(Refusal),
}

/// Why a run is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The tenant has too many runs that have not begun.
    QueueFull,
    /// As many of its group as may be are under way.
    NoSlot,
}

impl Runs<'_> {
    /// Accepts a run, unless nobody waits for it and the tenant has `queue_limit` runs that have not begun.
    pub async fn insert(self, tenant: &TenantId, new: &NewRun, queue_limit: u32) -> Result<Inserted> {
        self.accept(tenant, new, queue_limit, 0).await
    }

    /// Accepts a run and claims it at once, if it may begin and the tenant has fewer than `tenant_limit` under way.
    pub async fn insert_and_claim(
        self,
        tenant: &TenantId,
        new: &NewRun,
        queue_limit: u32,
        tenant_limit: u32,
    ) -> Result<Inserted> {
        self.accept(tenant, new, queue_limit, tenant_limit).await
    }

    async fn accept(
        self,
        tenant: &TenantId,
        new: &NewRun,
        queue_limit: u32,
        tenant_limit: u32,
    ) -> Result<Inserted> {
        check(new)?;
        let id = new.id.clone().unwrap_or_else(RunId::generate);
        let mut write = self.0.write().await?;
        if let Some(run) = self.known(&mut write, tenant, new, &id).await? {
            write.commit().await?;
            return Ok(Inserted::Known(run));
        }
        if new.agent.is_none() {
            check_flow(&mut write, tenant, new).await?;
        }
        // Whoever is accepted comes to its end, with the runs that it waits for.
        if new.parent.is_none() && is_queue_full(&mut write, tenant, queue_limit).await? {
            return Ok(Inserted::Refused(Refusal::QueueFull));
        }
        let within;
        let new = match has_slot_around(&mut write, tenant, new).await? {
            true => {
                within = NewRun { slots: None, ..new.clone() };
                &within
            }
            false => new,
        };
        make_room(self.0, &mut write, tenant, new).await?;
        self.insert_rows(&mut write, tenant, &id, new).await?;
        if !enter_group(&mut write, tenant, new).await? {
            return Ok(Inserted::Refused(Refusal::NoSlot));
        }
        if let Some(conversation) = &new.conversation {
            conversations::begin(&mut write, tenant, conversation).await?;
        }
        let claimed = match tenant_limit {
            0 => None,
            limit => {
                let kind = if new.agent.is_some() { RunKind::Agent } else { RunKind::Flow };
                let which = Which { kind, share: 1, only: Some(&id) };
                claim::take(self.0, &mut write, tenant, which, limit).await?.pop()
            }
        };
        let run = self.read(write.connection(), tenant, &id).await?;
        write.commit().await?;
        self.0.runs_changed().notify_waiters();
        Ok(claimed.map_or(Inserted::Created(run), Inserted::Claimed))
    }

    /// The run that has the new one's key; without one the key is the new one's from now on.
    async fn known(
        self,
        write: &mut Write,
        tenant: &TenantId,
        new: &NewRun,
        id: &RunId,
    ) -> Result<Option<Run>> {
        let Some(known) = remember(write, tenant, new, id).await? else { return Ok(None) };
        match self.read(write.connection(), tenant, &known).await {
            Ok(run) => Ok(Some(run)),
            // It was deleted before its key was forgotten.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                forget(write, tenant, new).await?;
                remember(write, tenant, new, id).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn insert_rows(self, write: &mut Write, tenant: &TenantId, id: &RunId, new: &NewRun) -> Result<()> {
        let now = leases::now(write.backend());
        let last_seq = i64::try_from(new.records.len()).unwrap_or(i64::MAX);
        let sql = format!(
            "INSERT INTO runs (tenant, id, flow, version, state, due_at, epoch, leased_until, last_seq, news_seq,
                 group_key, is_admitted, is_secret, parent, parent_path, origin, caller, agent, created_at)
             VALUES ($1, $2, $3, $4, $5, {due}, 0, 0, $6, 0, $7, $8, $9, $10, $11, $12, $13, $14, {now})",
            due = if new.slots.is_some() { "NULL" } else { now },
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(new.flow.as_str())
            .bind(new.version)
            .bind(State::Queued.as_str())
            .bind(last_seq)
            .bind(new.slots.as_ref().map(|slots| group_key(&new.flow, slots)))
            .bind(i64::from(new.slots.is_none()))
            .bind(i64::from(new.is_secret))
            .bind(new.parent.as_ref().map(|parent| parent.run.as_str()))
            .bind(new.parent.as_ref().map(|parent| parent.path.as_str()))
            .bind(new.origin.as_str())
            .bind(new.caller.as_str())
            .bind(new.agent.as_deref())
            .execute(write.connection())
            .await?;
        self.insert_data(write, tenant, id, new).await?;
        let lines = (1..).zip(&new.records).map(|(seq, record)| Line {
            tenant,
            run: id,
            seq,
            is_news: false,
            is_secret: new.is_secret,
            record,
        });
        journal::add(self.0, write, &lines.collect::<Vec<_>>()).await
    }

    async fn insert_data(self, write: &mut Write, tenant: &TenantId, id: &RunId, new: &NewRun) -> Result<()> {
        let inputs = match new.is_secret {
            true => {
                let key_id = meta::sealing_key(self.0, write).await?;
                let place = run_row::data_place(tenant.as_str(), id.as_str(), "inputs");
                self.0.vault().seal(&key_id, &place, &new.inputs)?
            }
            false => new.inputs.clone(),
        };
        sqlx::query("INSERT INTO run_data (tenant, run, source, inputs) VALUES ($1, $2, $3, $4)")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(new.source.as_deref())
            .bind(inputs)
            .execute(write.connection())
            .await?;
        Ok(())
    }
}

fn check(new: &NewRun) -> Result<()> {
    check_text("flow", &new.flow)?;
    check_text("agent", new.agent.as_deref().unwrap_or_default())?;
    check_text("source", new.source.as_deref().unwrap_or_default())?;
    for (field, text) in [("inputs", &new.inputs), ("origin", &new.origin), ("caller", &new.caller)] {
        check_text(field, text)?;
    }
    check_text("parent", new.parent.as_ref().map_or("", |parent| &parent.path))?;
    check_text("key", new.slots.as_ref().map_or("", |slots| &slots.key))?;
    check_text("dedupe_key", new.dedupe.as_ref().map_or("", |(key, _)| key))?;
    new.records.iter().try_for_each(NewRecord::check)
}

/// Ids of flows hold no `/`, so that no key makes a group of another flow.
pub(super) fn group_key(flow: &str, slots: &Slots) -> String {
    format!("{flow}/{}", slots.key)
}

/// Keeps the key for this run; the run that it has been kept for, if there is one. Whoever comes with the same key at
/// the same time waits here until it is decided.
async fn remember(write: &mut Write, tenant: &TenantId, new: &NewRun, id: &RunId) -> Result<Option<RunId>> {
    let Some((key, time)) = &new.dedupe else { return Ok(None) };
    let now = leases::now(write.backend());
    let sql = format!(
        "INSERT INTO run_dedupe (tenant, flow, key, run, until) VALUES ($1, $2, $3, $4, {now} + $5)
         ON CONFLICT (tenant, flow, key) DO UPDATE SET
             run = CASE WHEN run_dedupe.until <= {now} THEN excluded.run ELSE run_dedupe.run END,
             until = CASE WHEN run_dedupe.until <= {now} THEN excluded.until ELSE run_dedupe.until END
         RETURNING run"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(new.flow.as_str())
        .bind(key.as_str())
        .bind(id.as_str())
        .bind(leases::milliseconds(*time))
        .fetch_one(write.connection())
        .await?;
    let kept: RunId = row::parsed(&row, "run")?;
    Ok((kept != *id).then_some(kept))
}

async fn forget(write: &mut Write, tenant: &TenantId, new: &NewRun) -> Result<()> {
    let key = new.dedupe.as_ref().map(|(key, _)| key.as_str());
    sqlx::query("DELETE FROM run_dedupe WHERE tenant = $1 AND flow = $2 AND key = $3")
        .bind(tenant.as_str())
        .bind(new.flow.as_str())
        .bind(key)
        .execute(write.connection())
        .await?;
    Ok(())
}

/// The flow is there and on, and stays so until the run is committed.
async fn check_flow(write: &mut Write, tenant: &TenantId, new: &NewRun) -> Result<()> {
    let lock = match write.backend() {
        Backend::Sqlite => "",
        Backend::Postgres => "FOR SHARE OF f",
    };
    let sql = format!(
        "SELECT f.status, o.status AS tenant_status FROM flows f JOIN tenants o ON o.id = f.tenant
         WHERE f.tenant = $1 AND f.id = $2 {lock}"
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(new.flow.as_str())
        .fetch_optional(write.connection())
        .await?
        .ok_or_else(|| Error::not_found("flow"))?;
    // The runs of its runs begin when the tenant is on again, as they themselves go on.
    let is_off = Status::parse(&row::text(&row, "tenant_status")?)? == Status::Disabled;
    if is_off && new.parent.is_none() {
        return Err(Error::new(ErrorKind::Unavailable, "the tenant is disabled; nothing of it begins now"));
    }
    let status = row::text(&row, "status")?;
    match Status::parse(&status)? {
        Status::Active => Ok(()),
        Status::Disabled => Err(Error::new(ErrorKind::Conflict, "the flow is disabled").at("status")),
    }
}

async fn is_queue_full(write: &mut Write, tenant: &TenantId, limit: u32) -> Result<bool> {
    let row = sqlx::query(
        "SELECT COUNT(*) AS found FROM
             (SELECT 1 FROM runs WHERE tenant = $1 AND state = 'queued' LIMIT $2) AS queued",
    )
    .bind(tenant.as_str())
    .bind(i64::from(limit))
    .fetch_one(write.connection())
    .await?;
    Ok(row::integer(&row, "found")? >= i64::from(limit))
}

/// A run around the new one has a slot of its group, and waits for it: it would wait for ever. The slot is for both.
async fn has_slot_around(write: &mut Write, tenant: &TenantId, new: &NewRun) -> Result<bool> {
    let (Some(slots), Some(parent)) = (&new.slots, &new.parent) else { return Ok(false) };
    let row = sqlx::query(
        "WITH RECURSIVE around (id, parent, group_key) AS (
             SELECT id, parent, group_key FROM runs WHERE tenant = $1 AND id = $2
             UNION SELECT r.id, r.parent, r.group_key FROM runs r JOIN around a ON r.id = a.parent
             WHERE r.tenant = $1)
         SELECT COUNT(*) AS found FROM around WHERE group_key = $3",
    )
    .bind(tenant.as_str())
    .bind(parent.run.as_str())
    .bind(group_key(&new.flow, slots))
    .fetch_one(write.connection())
    .await?;
    Ok(row::integer(&row, "found")? > 0)
}

/// Lets the group's next runs begin, this one among them if it is its turn; `false` if it is not to wait for that.
async fn enter_group(write: &mut Write, tenant: &TenantId, new: &NewRun) -> Result<bool> {
    let Some(slots) = &new.slots else { return Ok(true) };
    let group = group_key(&new.flow, slots);
    let free = slots::lock(write, tenant, &group, Some(i64::from(slots.limit))).await?;
    if free <= 0 && slots.overflow == Overflow::Refuse {
        return Ok(false);
    }
    slots::admit(write, tenant, &group, free).await?;
    Ok(true)
}
