//! What every call to a service is bound by: its breaker, its time, and how many may be under way.

use super::breaker::{Breaker, TimeSetBy};
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::uri::Options;
use tool::{Context, Ended, Error, Reason, Result};

/// The bounds of one service.
#[derive(Debug)]
pub(crate) struct Bounds {
    pub(crate) breaker: Breaker,
    pub(crate) timeout: Duration,
    /// None for any number.
    pub(crate) permits: Option<Semaphore>,
}

impl Bounds {
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
                Some(permits) => Some(permits.acquire().await.map_err(|_| Error::internal("no permits"))?),
                None => None,
            };
            work.await
        };
        let result = cx.within(work).await.unwrap_or_else(|ended| match ended {
            Ended::Cancelled => Err(ended.error("")),
            Ended::TimedOut => Err(ended.error(late).because(Reason::AttemptTimedOut)),
        });
        pass.judge(&result, if is_callers { TimeSetBy::Caller } else { TimeSetBy::Service });
        result
    }
}
