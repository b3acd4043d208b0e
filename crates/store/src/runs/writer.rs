//! One writer for all runs of a process: what many of them want to write at once is one transaction.

use crate::runs::Runs;
use crate::runs::claim::Claim;
use crate::runs::commit::{self, Commit, Committed};
use crate::{Error, Result, Store, within};
use std::collections::{HashSet, VecDeque};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tool::{RunId, TenantId};

/// The most commits in one transaction.
const BATCH: usize = 128;
/// The most that wait before whoever comes next waits to be taken.
const QUEUE: usize = 1024;
/// How long the database may take to write. Claims last longer, so that a run whose commit may or may not be written is
/// read again by whoever has it then.
const TIME: Duration = Duration::from_secs(10);

/// Hands commits to the task that writes them. Copies share it; it ends with the last of them, when all is written.
#[derive(Debug, Clone)]
pub struct Writer(mpsc::Sender<Job>);

struct Job {
    claim: Claim,
    commit: Commit,
    done: oneshot::Sender<Result<Committed>>,
}

impl Runs<'_> {
    /// Starts a task that writes for runs.
    #[must_use]
    pub fn writer(self) -> Writer {
        let (writer, work) = self.writing();
        tokio::spawn(work);
        writer
    }

    /// The same with the work of the task, for whoever waits for its end: it comes when the last copy of the writer is
    /// gone and all is written.
    pub fn writing(self) -> (Writer, impl Future<Output = ()> + Send + 'static) {
        let (sender, jobs) = mpsc::channel(QUEUE);
        (Writer(sender), work(self.0.clone(), jobs))
    }
}

impl Writer {
    /// Writes under the claim and returns when it is durable. Refused as stale when somebody else has the run by now.
    /// Commits of one run are written in the order in which they were handed over.
    pub async fn commit(&self, claim: &Claim, commit: Commit) -> Result<Committed> {
        commit.check()?;
        let (done, written) = oneshot::channel();
        let job = Job { claim: claim.clone(), commit, done };
        self.0.send(job).await.map_err(|_| gone())?;
        written.await.map_err(|_| gone())?
    }
}

fn gone() -> Error {
    Error::unavailable("the writer of the runs has ended")
}

async fn work(store: Store, mut jobs: mpsc::Receiver<Job>) {
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Some(job) = jobs.recv().await else { return };
            waiting.push_back(job);
        }
        while waiting.len() < BATCH {
            let Ok(job) = jobs.try_recv() else { break };
            waiting.push_back(job);
        }
        write(&store, next_batch(&mut waiting)).await;
    }
}

/// The first of each run; what comes behind it waits, so that it is refused if the run has ended by then.
fn next_batch(waiting: &mut VecDeque<Job>) -> Vec<Job> {
    let mut runs: HashSet<(TenantId, RunId)> = HashSet::new();
    let all = std::mem::take(waiting);
    let (batch, rest): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|job| runs.insert((job.claim.tenant.clone(), job.claim.run.clone())));
    *waiting = rest.into();
    batch
}

/// Writes all in one transaction. If the database takes them not together for a reason that lies in one of them, each
/// gets its own.
async fn write(store: &Store, batch: Vec<Job>) {
    let commits: Vec<_> = batch.iter().map(|job| (&job.claim, &job.commit)).collect();
    let results = match within(TIME, commit::write(store, &commits)).await {
        Ok(results) => results,
        Err(error) if error.is_retryable() || batch.len() == 1 => vec![Err(error); batch.len()],
        Err(_) => {
            let mut results = Vec::with_capacity(batch.len());
            for one in &commits {
                let alone = within(TIME, commit::write(store, std::slice::from_ref(one))).await;
                results.push(alone.and_then(|mut done| done.remove(0)));
            }
            results
        }
    };
    if batch.iter().any(|job| job.commit.concerns_others()) {
        store.runs_changed().notify_waiters();
    }
    for (job, result) in batch.into_iter().zip(results) {
        // Whoever does not wait any more need not know.
        let _ = job.done.send(result);
    }
}
