//! What every call to a service is bound by: its breaker, its time, and how many may be under way.

use super::breaker::{Breaker, TimeSetBy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::uri::Options;
use tool::{Context, Ended, Error, Reason, Result};

tokio::task_local! {
    /// Whether the call still waits for its turn, which says nothing about the service.
    static IS_WAITING: Arc<AtomicBool>;
}

/// Waits for a turn, and lets the call know that it is no more than that.
pub(crate) async fn waiting<T>(turn: impl Future<Output = T>) -> T {
    let say = |is_waiting: bool| {
        // Outside of a call nobody asks.
        let _ = IS_WAITING.try_with(|said| said.store(is_waiting, Ordering::Relaxed));
    };
    say(true);
    let turn = turn.await;
    say(false);
    turn
}

/// The bounds of one service.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) breaker: Breaker,
    pub(crate) timeout: Duration,
    /// None for any number.
    pub(crate) permits: Option<Semaphore>,
}

impl Bounds {
    /// The context of a call with no more time than the call may take, for work that ends by itself before.
    pub(crate) fn limited(&self, cx: &Context, options: &Options) -> Context {
        cx.for_at_most(options.timeout.map_or(self.timeout, |wanted| wanted.min(self.timeout)))
    }

    /// Runs the work of one call until it is done, late, or taken back; then it is dropped. `late` says what did not come
    /// in time.
    pub(crate) async fn within<T>(
        &self,
        cx: &Context,
        options: &Options,
        late: &str,
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
        let work = IS_WAITING.scope(is_waiting.clone(), work);
        let result = cx.within(work).await.unwrap_or_else(|ended| match ended {
            Ended::Cancelled => Err(ended.error("")),
            Ended::TimedOut if is_waiting.load(Ordering::Relaxed) => {
                let why = "no connection became free in time; the service has as many as 'pool_size' and \
                           'max_concurrent_calls' say";
                Err(ended.error(why))
            }
            Ended::TimedOut => Err(ended.error(late).because(Reason::AttemptTimedOut).in_doubt()),
        });
        pass.judge(&result, if is_callers { TimeSetBy::Caller } else { TimeSetBy::Service });
        result
    }
}
