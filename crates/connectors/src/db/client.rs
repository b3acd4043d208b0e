//! The way of every call to its database: breaker, deadline, session, and once more where that is safe.

use super::engine::Statement;
use super::pool::{Check, Lease, Pool};
use super::rows::{Finished, Limits};
use super::sql::Access;
use crate::shared::attempts::{Backoff, Budget};
use crate::shared::breaker::{Breaker, TimeSetBy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tool::uri::Options;
use tool::{Context, Ended, Error, ErrorKind, Reason, Result};

tokio::task_local! {
    /// Whether the call still waits for its turn, which says nothing about the database.
    static IS_WAITING: Arc<AtomicBool>;
}

/// One database and what its service may use of it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) pool: Arc<Pool>,
    pub(super) breaker: Breaker,
    pub(super) timeout: Duration,
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) permits: Option<Semaphore>,
}

impl Client {
    /// Runs the work of one call until it is done, late, or taken back. Work that is dropped ends its statement on
    /// the server.
    pub(super) async fn within<T>(
        &self,
        cx: &Context,
        options: &Options,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        // A caller may want less than the service allows, never more.
        let wanted = options.timeout.filter(|wanted| *wanted < self.timeout);
        let is_callers = wanted.is_some() || cx.remaining() <= self.timeout;
        let cx = cx.for_at_most(wanted.unwrap_or(self.timeout));
        let pass = self.breaker.admit()?;
        let work = async {
            let _permit = match &self.permits {
                Some(permits) => {
                    let turn = waiting(permits.acquire()).await;
                    Some(turn.map_err(|_| Error::internal("no permits"))?)
                }
                None => None,
            };
            work.await
        };
        let is_waiting = Arc::new(AtomicBool::new(false));
        let result =
            cx.within(IS_WAITING.scope(is_waiting.clone(), work)).await.unwrap_or_else(|ended| match ended {
                Ended::Cancelled => Err(ended.error("")),
                Ended::TimedOut if is_waiting.load(Ordering::Relaxed) => Err(ended
                    .error("no connection became free in time; the service has as many as 'pool_size' says")),
                Ended::TimedOut => {
                    Err(ended.error("the database did not answer in time").because(Reason::AttemptTimedOut))
                }
            });
        pass.judge(&result, if is_callers { TimeSetBy::Caller } else { TimeSetBy::Service });
        result
    }

    /// Reads the rows of one statement of ours. A session that turns out to be dead is replaced.
    pub(super) async fn read(&self, statement: &Statement, limits: Limits) -> Result<Finished> {
        let (mut lease, is_fresh) = self.lease(Access::Read, Check::IfOld).await?;
        let mut result = lease.read(statement, limits).await;
        let is_dead = |error: &Error| error.kind() == ErrorKind::Unavailable;
        if lease.is_spent() && !is_fresh && result.as_ref().is_err_and(is_dead) {
            drop(lease);
            lease = self.lease(Access::Read, Check::Always).await?.0;
            result = lease.read(statement, limits).await;
        }
        lease.release();
        result
    }

    /// A session, when it is our turn, and whether it has just been opened.
    pub(super) async fn lease(&self, access: Access, check: Check) -> Result<(Lease, bool)> {
        let permit = waiting(self.pool.permit()).await?;
        if let Some(session) = self.pool.rested(access, check).await {
            return Ok((self.pool.lease(session, access, permit), false));
        }
        let budget = Budget {
            deadline: Instant::now() + self.timeout,
            attempt: self.timeout,
            attempts: self.max_attempts,
            backoff: self.backoff,
        };
        // Rare and large: calls that find a session need not have room for it.
        let open = || async { Ok(Box::pin(self.pool.opener.open(access)).await?) };
        let session = budget.run(open).await?;
        Ok((self.pool.lease(session, access, permit), true))
    }

    /// A session for writing that is known to answer.
    pub(super) async fn writer(&self) -> Result<Lease> {
        Ok(self.lease(Access::Write, Check::Always).await?.0)
    }
}

/// Waits for a turn, and lets the call know that it is no more than that.
async fn waiting<T>(turn: impl Future<Output = T>) -> T {
    let say = |is_waiting: bool| {
        // Outside of a call nobody asks.
        let _ = IS_WAITING.try_with(|said| said.store(is_waiting, Ordering::Relaxed));
    };
    say(true);
    let turn = turn.await;
    say(false);
    turn
}
