//! Threads for work that would hold up everyone else on the async workers.

use crate::{Context, Error, Result};
use std::sync::Arc;
use std::thread::available_parallelism;
use tokio::sync::Semaphore;

/// Runs long computations beside the async workers, as many at once as there are processors: what each may take of
/// memory is bounded, and so is the sum.
#[derive(Debug, Clone)]
pub struct Compute(Arc<Semaphore>);

impl Default for Compute {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from))))
    }
}

impl Compute {
    /// What the work gives. Work that has begun is not interrupted: it ends by its own budget.
    ///
    /// # Errors
    /// When the call ends before it is the work's turn, and when the work panics.
    pub async fn run<T: Send + 'static>(
        &self,
        cx: &Context,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let turn = cx.within(self.0.clone().acquire_owned()).await;
        let turn = turn.map_err(|ended| ended.error("the answer could not be worked on in time"))?;
        let turn = turn.map_err(|_| Error::internal("the threads for computations are gone"))?;
        let working = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        working.await.map_err(|_| Error::internal("a computation failed in a way it should not; see the log"))
    }
}
