//! Leases: work that only one process does at a time, taken over by another when it falls silent.
//!
//! They go by the database's clock, so that replicas need not agree on the time, and are fenced: each owner has an
//! epoch, and whoever lost a lease without noticing can write nothing under it.

use crate::database::{Backend, Write};
use crate::{Error, ErrorKind, Result, Store, within};
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use std::time::{Duration, Instant};

/// A lease that ended this long ago is forgotten: nobody can still believe to have it.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// The leases of the whole platform. Names begin with what they are about, e.g. `search/…`.
#[derive(Debug, Clone, Copy)]
pub struct Leases<'a>(pub(crate) &'a Store);

/// The right to do something that nobody else does at the same time.
#[derive(Debug, Clone)]
pub struct Lease {
    store: Store,
    name: String,
    epoch: i64,
    time: Duration,
}

impl Leases<'_> {
    /// Takes the lease for `time`; `None` when somebody has it, be it another task of this process.
    pub async fn claim(self, name: &str, time: Duration) -> Result<Option<Lease>> {
        let mut write = self.0.write().await?;
        let lease = self.claim_in(&mut write, name, time).await?;
        write.commit().await?;
        Ok(lease)
    }

    /// Runs `work` while nobody else does the same; `None` when somebody does. Work that loses its lease is dropped.
    pub async fn run<Work: Future>(
        self,
        name: &str,
        time: Duration,
        work: impl FnOnce(Lease) -> Work,
    ) -> Result<Option<Work::Output>> {
        let Some(lease) = within(time, self.claim(name, time)).await? else { return Ok(None) };
        let done = tokio::select! {
            lost = lease.keep() => Err(lost),
            done = work(lease.clone()) => Ok(Some(done)),
        };
        // What cannot be given back ends by itself.
        let _ = within(time, lease.release()).await;
        done
    }

    /// Gives back what a process has, so that nobody has to wait for it to fall silent.
    pub(crate) async fn release_those_of(self, owner: &str) -> Result<()> {
        let mut write = self.0.write().await?;
        let now = now(self.0.backend());
        let sql = format!("UPDATE leases SET until = {now} WHERE owner = $1 AND until > {now}");
        sqlx::query(AssertSqlSafe(sql)).bind(owner).execute(write.connection()).await?;
        write.commit().await
    }

    /// The processes that have a lease.
    pub(crate) async fn owners(self) -> Result<Vec<String>> {
        let now = now(self.0.backend());
        let sql = format!("SELECT DISTINCT owner FROM leases WHERE until > {now}");
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(self.0.pool()).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Forgets leases that ended long ago.
    pub async fn sweep(self) -> Result<()> {
        let mut write = self.0.write().await?;
        let now = now(self.0.backend());
        sqlx::query(AssertSqlSafe(format!("DELETE FROM leases WHERE until < {now} - $1")))
            .bind(milliseconds(REMEMBERED))
            .execute(write.connection())
            .await?;
        write.commit().await
    }

    /// As `claim`, with what else is written in the same transaction.
    pub(crate) async fn claim_in(
        self,
        write: &mut Write,
        name: &str,
        time: Duration,
    ) -> Result<Option<Lease>> {
        let now = now(self.0.backend());
        let sql = format!(
            "INSERT INTO leases (name, owner, epoch, until) VALUES ($1, $2, 1, {now} + $3)
             ON CONFLICT (name) DO UPDATE
                 SET owner = excluded.owner, epoch = leases.epoch + 1, until = excluded.until
                 WHERE leases.until <= {now}
             RETURNING epoch"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(name)
            .bind(self.0.process())
            .bind(milliseconds(time))
            .fetch_optional(write.connection())
            .await?;
        let Some(row) = row else { return Ok(None) };
        let epoch = row.try_get("epoch")?;
        Ok(Some(Lease { store: self.0.clone(), name: name.to_owned(), epoch, time }))
    }
}

impl Lease {
    /// What it is about.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process that has it.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.store.process()
    }

    /// The how manieth owner of the lease this one is.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Has it for the whole time again. Fails as stale when somebody else has taken it.
    pub async fn renew(&self) -> Result<()> {
        self.begin().await?.commit().await
    }

    /// Gives it back before its time is over.
    pub async fn release(&self) -> Result<()> {
        let mut write = self.store.write().await?;
        self.end_in(&mut write).await?;
        write.commit().await
    }

    /// Renews it again and again; returns only when it is lost, or could not be renewed in time.
    pub async fn keep(&self) -> Error {
        let pause = self.time / 3;
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(pause).await;
            match within(pause, self.renew()).await {
                Ok(()) => renewed = Instant::now(),
                Err(error) if !error.is_retryable() || renewed.elapsed() >= self.time => return error,
                Err(_) => {}
            }
        }
    }

    /// A write under the lease: its row is held until the write ends, so that nobody takes the lease over in between.
    /// Refused as stale when somebody has.
    pub(crate) async fn begin(&self) -> Result<Write> {
        let mut write = self.store.write().await?;
        if self.extend(write.connection(), self.time).await? {
            return Ok(write);
        }
        write.commit().await?;
        Err(Error::new(ErrorKind::Stale, format!("somebody else has the lease '{}' now", self.name)))
    }

    /// Gives it back together with what else is written.
    pub(crate) async fn end_in(&self, write: &mut Write) -> Result<()> {
        self.extend(write.connection(), Duration::ZERO).await?;
        Ok(())
    }

    /// Lets it end `time` from now, if it is still ours.
    async fn extend(&self, connection: &mut AnyConnection, time: Duration) -> Result<bool> {
        let now = now(self.store.backend());
        let sql =
            format!("UPDATE leases SET until = {now} + $4 WHERE name = $1 AND owner = $2 AND epoch = $3");
        let done = sqlx::query(AssertSqlSafe(sql))
            .bind(self.name.as_str())
            .bind(self.owner())
            .bind(self.epoch)
            .bind(milliseconds(time))
            .execute(connection)
            .await?;
        Ok(done.rows_affected() == 1)
    }
}

/// The time of the database in milliseconds since 1970, as SQL.
pub(crate) fn now(backend: Backend) -> &'static str {
    match backend {
        Backend::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
        Backend::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    }
}

pub(crate) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 4)
}
