//! Calls that are finished whoever goes away, and that cost no task of their own while somebody waits.

use futures::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How work ended; an error is a panic.
pub(crate) type Ended<T> = Result<T, Box<dyn Any + Send>>;

/// Runs `work` in the task of whoever waits for it. If that one goes away, the rest of it runs in
/// a task of its own. Either way `tracker` waits for its end.
pub(crate) fn finish<T: Send + 'static>(
    tracker: &TaskTracker,
    work: impl Future<Output = T> + Send + 'static,
) -> Finish<T> {
    let work = AssertUnwindSafe(work).catch_unwind();
    Finish { work: Work::Here(Box::pin(work)), _token: tracker.token(), tracker: tracker.clone() }
}

/// Work that is finished whoever goes away.
pub(crate) struct Finish<T: Send + 'static> {
    work: Work<T>,
    tracker: TaskTracker,
    _token: TaskTrackerToken,
}

enum Work<T> {
    /// It goes on when it is waited for.
    Here(Pin<Box<dyn Future<Output = Ended<T>> + Send>>),
    /// It goes on by itself.
    Away(JoinHandle<Ended<T>>),
    Over,
}

impl<T: Send + 'static> Finish<T> {
    /// Lets the work go on in a task of its own, for those who will not wait for it all the time.
    pub(crate) fn detach(&mut self) {
        let runtime = match &self.work {
            Work::Here(_) => Handle::try_current(),
            Work::Away(_) | Work::Over => return,
        };
        // Without a runtime the process is ending.
        if let (Work::Here(work), Ok(runtime)) = (std::mem::replace(&mut self.work, Work::Over), runtime) {
            self.work = Work::Away(self.tracker.spawn_on(work, &runtime));
        }
    }

    /// Nothing is worked on any more.
    pub(crate) fn is_over(&self) -> bool {
        match &self.work {
            Work::Here(_) => false,
            Work::Away(task) => task.is_finished(),
            Work::Over => true,
        }
    }
}

impl<T: Send + 'static> Future for Finish<T> {
    type Output = Ended<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended<T>> {
        let ended = match &mut self.work {
            Work::Here(work) => ready!(work.as_mut().poll(cx)),
            Work::Away(task) => ready!(Pin::new(task).poll(cx)).unwrap_or_else(|error| Err(Box::new(error))),
            Work::Over => return Poll::Pending,
        };
        self.work = Work::Over;
        Poll::Ready(ended)
    }
}

impl<T: Send + 'static> Drop for Finish<T> {
    fn drop(&mut self) {
        self.detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[tokio::test]
    async fn work_goes_on_when_nobody_waits_any_more() {
        let (tracker, ends) = (TaskTracker::new(), Arc::new(AtomicUsize::new(0)));
        let work = |ms| {
            let ends = ends.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                ends.fetch_add(1, Ordering::SeqCst) + 1
            }
        };
        assert_eq!(finish(&tracker, work(1)).await.unwrap(), 1);
        let begun = finish(&tracker, work(50));
        assert!(tokio::time::timeout(Duration::from_millis(5), begun).await.is_err());
        drop(finish(&tracker, work(50)));
        let mut detached = finish(&tracker, work(50));
        detached.detach();
        assert!(!detached.is_over());
        tracker.close();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(detached.is_over());
        detached.await.unwrap();
        tracker.wait().await;
        assert_eq!(ends.load(Ordering::SeqCst), 4);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_work_alone() {
        let tracker = TaskTracker::new();
        assert!(finish(&tracker, async { panic!("on purpose") }).await.is_err());
        tracker.close();
        tracker.wait().await;
    }
}
