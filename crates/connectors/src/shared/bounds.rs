//! What every call to a service is bound by: its breaker, its time, and how many may be under way.

use super::breaker::{Breaker, TimeSetBy};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tool::uri::Options;
use tool::{Context, Ended, Error, Reason, Result};

tokio::task_local! {
    /// How long the call has waited for its turn, which says nothing about the service.
    static WAITED: Arc<Mutex<Waited>>;
}

#[derive(Debug, Default)]
struct Waited {
    before: Duration,
    /// Set while it waits.
    since: Option<Instant>,
}

impl Waited {
    fn time(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Waits for a turn, and lets the call know that it is no more than that.
pub(crate) async fn waiting<T>(turn: impl Future<Output = T>) -> T {
    let say = |since: Option<Instant>| {
        // Outside of a call nobody asks.
        let _ = WAITED.try_with(|waited| {
            let mut waited = waited.lock().unwrap_or_else(PoisonError::into_inner);
            *waited = Waited { before: waited.time(), since };
        });
    };
    say(Some(Instant::now()));
    let turn = turn.await;
    say(None);
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
        let waited = Arc::new(Mutex::<Waited>::default());
        let time = cx.remaining();
        let result =
            cx.within(WAITED.scope(waited.clone(), work)).await.unwrap_or_else(|ended| match ended {
                Ended::Cancelled => Err(ended.error("")),
                Ended::TimedOut => {
                    Err(out_of_time(&waited.lock().unwrap_or_else(PoisonError::into_inner), time, late))
                }
            });
        pass.judge(&result, if is_callers { TimeSetBy::Caller } else { TimeSetBy::Service });
        result
    }
}

/// Only who had nearly all of the time to answer is to blame that there was no answer: the rest was spent in our own queue,
/// and has no reason that a breaker counts.
fn out_of_time(waited: &Waited, time: Duration, late: &str) -> Error {
    const ROOM: &str = "the service has as many connections as 'pool_size' and 'max_concurrent_calls' say";
    let before = waited.time();
    let seconds = before.as_secs_f64();
    if waited.since.is_some() {
        return Ended::TimedOut.error(&format!("no connection became free in time; {ROOM}"));
    }
    if before > time / 10 {
        let message = format!("{late}, after {seconds:.1} seconds until a connection became free; {ROOM}");
        return Ended::TimedOut.error(&message).in_doubt();
    }
    Ended::TimedOut.error(late).because(Reason::AttemptTimedOut).in_doubt()
}
