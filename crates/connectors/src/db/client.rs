//! The way of every call to its database: breaker, deadline, session, and once more where that is safe.

use super::engine::Statement;
use super::pool::{Check, Lease, Pool};
use super::rows::{Finished, Limits};
use super::sql::Access;
use crate::shared::attempts::{Backoff, Budget};
use crate::shared::bounds::{Bounds, waiting};
use std::sync::Arc;
use std::time::Instant;
use tool::uri::Options;
use tool::{Context, Error, ErrorKind, Result};

/// One database and what its service may use of it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) pool: Arc<Pool>,
    pub(super) bounds: Bounds,
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,
}

impl Client {
    /// Runs the work of one call. Work that is dropped ends its statement on the server.
    pub(super) async fn within<T>(
        &self,
        cx: &Context,
        options: &Options,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.bounds.within(cx, options, "the database did not answer in time", work).await
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
            deadline: Instant::now() + self.bounds.timeout,
            attempt: self.bounds.timeout,
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
