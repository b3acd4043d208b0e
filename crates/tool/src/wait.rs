//! The one way to wait for something on behalf of a call.

use crate::{Context, Error};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Why a call's wait was over before what it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The caller went away or took the call back.
    Cancelled,
    /// The deadline passed.
    TimedOut,
}

impl Context {
    /// What `work` gives, unless the call ends before. Work that is ready at once costs nothing extra.
    ///
    /// # Errors
    /// Why the call ended.
    pub async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        let mut work = pin!(work);
        if let Poll::Ready(done) = poll_fn(|task| Poll::Ready(work.as_mut().poll(task))).await {
            return Ok(done);
        }
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.cancel.cancelled() => Err(Ended::Cancelled),
            () = tokio::time::sleep_until(self.deadline.into()) => Err(Ended::TimedOut),
        }
    }

    /// The same call with no more than `time` to spend from now on.
    #[must_use]
    pub fn for_at_most(&self, time: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + time), ..self.clone() }
    }
}

impl Ended {
    /// The error of a call that ended so; `late` says what did not come in time.
    #[must_use]
    pub fn error(self, late: &str) -> Error {
        match self {
            Self::Cancelled => Error::cancelled("the caller cancelled the call"),
            Self::TimedOut => Error::timeout(late).retryable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caller, Door, ErrorKind, TenantId};
    use std::future::{pending, ready};
    use std::sync::Arc;

    fn context(time: Duration) -> Context {
        Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, time)
    }

    #[tokio::test]
    async fn gives_what_is_ready_even_when_the_call_has_ended() {
        let cx = context(Duration::ZERO);
        cx.cancel.cancel();
        assert_eq!(cx.within(ready(7)).await, Ok(7));
        assert_eq!(cx.within(pending::<()>()).await, Err(Ended::Cancelled));
    }

    #[tokio::test]
    async fn ends_with_the_call_and_says_why() {
        let cx = context(Duration::from_secs(60));
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            cx.cancel.cancel();
        };
        let (ended, ()) = tokio::join!(cx.within(pending::<()>()), cancel);
        assert_eq!(ended, Err(Ended::Cancelled));
        let cx = context(Duration::from_secs(60)).for_at_most(Duration::from_millis(10));
        let ended = cx.within(pending::<()>()).await.unwrap_err();
        let error = ended.error("it did not come");
        assert_eq!((error.kind(), error.message()), (ErrorKind::Timeout, "it did not come"));
        assert!(error.is_retryable());
        assert!(cx.for_at_most(Duration::from_secs(60)).deadline == cx.deadline, "never longer");
    }
}
