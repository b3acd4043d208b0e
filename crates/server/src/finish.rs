//! Calls that are finished whoever goes away, and that cost no task of their own while somebody waits.

use futures::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

type Ended<T> = Result<T, Box<dyn Any + Send>>;

/// Runs `work` in the task of whoever waits for it. If that one goes away, the rest of it runs in
/// a task of its own. Either way `tracker` waits for its end. An error is a panic.
pub(crate) fn finish<T: Send + 'static>(
    tracker: &TaskTracker,
    work: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = Ended<T>> + Send {
    let work = AssertUnwindSafe(work).catch_unwind();
    Finish { work: Some(Box::pin(work)), _token: tracker.token(), tracker: tracker.clone() }
}

struct Finish<F: Future<Output: Send> + Send + 'static> {
    /// Until it has ended.
    work: Option<Pin<Box<F>>>,
    tracker: TaskTracker,
    _token: TaskTrackerToken,
}

impl<F: Future<Output: Send> + Send + 'static> Future for Finish<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let ended = std::task::ready!(work.as_mut().poll(cx));
        self.work = None;
        Poll::Ready(ended)
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Finish<F> {
    fn drop(&mut self) {
        // Without a runtime the process is ending.
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            self.tracker.spawn_on(work, &runtime);
        }
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
        tracker.close();
        tracker.wait().await;
        assert_eq!(ends.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_work_alone() {
        let tracker = TaskTracker::new();
        assert!(finish(&tracker, async { panic!("on purpose") }).await.is_err());
        tracker.close();
        tracker.wait().await;
    }
}
