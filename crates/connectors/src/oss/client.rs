//! The way of every call to its store: breaker, turn, deadline, and once more where that is safe.

use super::store::Store;
use crate::shared::attempts::{Backoff, Budget};
use crate::shared::breaker::{Breaker, TimeSetBy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::Error;
use tool::{Context, Ended, Result};

/// One store and what its service may use of it.
pub(super) struct Client {
    pub(super) store: Arc<dyn Store>,
    pub(super) breaker: Breaker,
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) permits: Option<Semaphore>,
}

impl Client {
    /// Runs work that is not to be repeated.
    pub(super) async fn once<T>(&self, cx: &Context, work: impl Future<Output = Result<T>>) -> Result<T> {
        let pass = self.breaker.admit()?;
        let is_begun = AtomicBool::new(false);
        let work = async {
            let _permit = match &self.permits {
                Some(permits) => Some(permits.acquire().await.map_err(|_| Error::internal("no permits"))?),
                None => None,
            };
            is_begun.store(true, Ordering::Relaxed);
            work.await
        };
        let result = cx.within(work).await.unwrap_or_else(|ended| match ended {
            Ended::Cancelled => Err(ended.error("")),
            Ended::TimedOut => {
                let late = ended.error("the store did not answer in time");
                Err(if is_begun.load(Ordering::Relaxed) { late.in_doubt() } else { late })
            }
        });
        if self.store.is_remote() {
            // Whoever had no time left says nothing about the store, which has its own limit for each request.
            let is_callers = cx.remaining().is_zero();
            pass.judge(&result, if is_callers { TimeSetBy::Caller } else { TimeSetBy::Service });
        }
        result
    }

    /// Runs work that may be repeated where it failed in a way that may pass.
    pub(super) async fn again<T, F>(
        &self,
        cx: &Context,
        max_attempts: Option<u32>,
        work: impl Fn() -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let attempts = if self.store.is_remote() { self.max_attempts } else { 1 };
        let budget = Budget {
            deadline: cx.deadline,
            // The store limits each of its requests itself; a large object takes as long as it takes.
            attempt: Duration::MAX,
            attempts: max_attempts.map_or(attempts, |wanted| attempts.min(wanted)),
            backoff: self.backoff,
        };
        self.once(
            cx,
            budget.run_seen(cx, |_| async {
                work().await.map_err(|error| {
                    let retry_after = error.retry_after();
                    crate::shared::attempts::Failure { error, retry_after }
                })
            }),
        )
        .await
    }
}
