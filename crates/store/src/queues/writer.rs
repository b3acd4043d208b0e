//! One writer for the queues of a process: what many callers publish and settle at once is one transaction.

use crate::queues::batch;
use crate::{Error, Result, Store};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tool::TenantId;
use tool::queue::{Claim, NewMessage, OnceKey, Published, Settlement};

/// The most in one transaction.
const MAX_JOBS: usize = 256;
/// And the most bytes of it, so that none takes long.
const MAX_KIB: usize = 8 * 1024;
/// The most bytes that wait to be written; whoever comes then waits with its own.
const WAITING_KIB: usize = 64 * 1024;

/// Hands work to the task that writes. It ends with the last copy, when all is written.
#[derive(Clone)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
    room: Arc<Semaphore>,
}

/// What is to be done with one message of a queue.
pub(super) struct Job {
    pub(super) tenant: TenantId,
    pub(super) queue: String,
    pub(super) work: Work,
    done: oneshot::Sender<Result<Outcome>>,
    room: OwnedSemaphorePermit,
}

pub(super) enum Work {
    /// With the key that ends with it, where there is one.
    Publish(NewMessage, Option<OnceKey>),
    Settle {
        claim: Claim,
        settlement: Settlement,
    },
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Published(Published),
    /// The tenant has no room.
    Full,
    Settled,
    /// Somebody else has the message by now, or has published it.
    Stale,
}

impl Writer {
    pub(super) fn start(store: Store) -> Self {
        let (jobs, waiting) = mpsc::channel(MAX_JOBS);
        tokio::spawn(run(store, waiting));
        Self { jobs, room: Arc::new(Semaphore::new(WAITING_KIB)) }
    }

    /// Returns when the work is durable, or is known not to be.
    pub(super) async fn write(&self, tenant: &TenantId, queue: &str, work: Work) -> Result<Outcome> {
        let room = self.room.clone().acquire_many_owned(kib_of(&work)).await.map_err(|_| gone())?;
        let (done, written) = oneshot::channel();
        let job = Job { tenant: tenant.clone(), queue: queue.to_owned(), work, done, room };
        self.jobs.send(job).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?
    }
}

fn kib_of(work: &Work) -> u32 {
    let bytes = match work {
        Work::Publish(message, _) => message.body.get().len(),
        Work::Settle { .. } => 0,
    };
    u32::try_from((bytes / 1024 + 1).min(WAITING_KIB)).unwrap_or(u32::MAX)
}

fn gone() -> Error {
    Error::unavailable("the writer of the queues has ended")
}

async fn run(store: Store, mut waiting: mpsc::Receiver<Job>) {
    while let Some(first) = waiting.recv().await {
        let mut size_kib = first.room.num_permits();
        let mut jobs = vec![first];
        while jobs.len() < MAX_JOBS && size_kib < MAX_KIB {
            let Ok(job) = waiting.try_recv() else { break };
            size_kib += job.room.num_permits();
            jobs.push(job);
        }
        write_all(&store, jobs).await;
    }
}

/// Writes all together, or each alone where the reason why that fails lies in one of them.
async fn write_all(store: &Store, jobs: Vec<Job>) {
    let together = batch::write(store, &jobs.iter().collect::<Vec<_>>()).await;
    let is_shared = |error: &Error| error.is_retryable() || jobs.len() == 1;
    let results: Vec<Result<Outcome>> = match together {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        Err(error) if is_shared(&error) => jobs.iter().map(|_| Err(error.clone())).collect(),
        Err(_) => {
            let mut results = Vec::with_capacity(jobs.len());
            for job in &jobs {
                let alone = batch::write(store, &[job]).await;
                results.push(alone.and_then(|done| done.first().copied().ok_or_else(gone)));
            }
            results
        }
    };
    for (job, result) in jobs.into_iter().zip(results) {
        // Whoever does not wait any more need not know.
        let _ = job.done.send(result);
    }
}
