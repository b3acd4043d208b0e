//! The worker: claims indexes that are due, one process at a time each, and tries until they are ready.

use crate::index::Attempt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{ClaimedIndex, Documents, ErrorKind, Store, within};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tool::{Embeddings, Error};

/// How the worker behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How long an index stays with a process that no longer says anything.
    pub lease: Duration,
    /// How often to look for changes that other processes made.
    pub poll: Duration,
    /// The pauses after failed attempts: the first, and the longest.
    pub backoff: (Duration, Duration),
    /// How long the database may take to answer.
    pub store_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            lease: Duration::from_secs(15),
            poll: Duration::from_secs(1),
            backoff: (Duration::from_secs(1), Duration::from_secs(300)),
            store_timeout: Duration::from_secs(10),
        }
    }
}

/// Indexes that one process works on at a time, so that a slow provider of embeddings for one
/// does not hold up the others.
const AT_ONCE: usize = 4;
/// The longest an index is left alone after it was made.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Works until cancelled. A database that is gone only makes it wait.
pub async fn run(
    store: Store,
    documents: Documents,
    embeddings: Option<Arc<dyn Embeddings>>,
    options: Options,
    cancel: CancellationToken,
) {
    let worker = Worker { store, documents, embeddings, options, cancel };
    let worker = Arc::new(worker);
    if let Err(error) = within(worker.options.store_timeout, worker.store.search().sweep()).await {
        tracing::warn!(%error, "old search indexes stay for now: {error}");
    }
    let mut running = JoinSet::new();
    while !worker.cancel.is_cancelled() {
        while running.try_join_next().is_some() {}
        for index in worker.claim(AT_ONCE.saturating_sub(running.len())).await {
            let worker = worker.clone();
            running.spawn(async move { worker.work(index).await });
        }
        tokio::select! {
            () = worker.cancel.cancelled() => {}
            () = worker.store.search().wait_for_work(worker.options.poll) => {}
            Some(_) = running.join_next() => {}
        }
    }
    while running.join_next().await.is_some() {}
}

struct Worker {
    store: Store,
    documents: Documents,
    embeddings: Option<Arc<dyn Embeddings>>,
    options: Options,
    cancel: CancellationToken,
}

/// How an attempt ended.
enum End {
    Ready,
    Failed(Error),
    Stopped,
}

impl Worker {
    fn model(&self) -> &str {
        self.embeddings.as_ref().map_or("", |embeddings| embeddings.model())
    }

    async fn claim(&self, limit: usize) -> Vec<ClaimedIndex> {
        let search = self.store.search();
        let claim = async {
            let mut claimed = Vec::new();
            if limit == 0 {
                return Ok(claimed);
            }
            for index in search.due(self.model(), limit as i64).await? {
                claimed.extend(search.claim(&index, self.options.lease).await?);
            }
            Ok(claimed)
        };
        within(self.options.store_timeout, claim).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot look for search indexes that are due: {error}");
            Vec::new()
        })
    }

    async fn work(&self, claimed: ClaimedIndex) {
        let begun = Instant::now();
        let attempt =
            Attempt { claimed: &claimed, documents: &self.documents, embeddings: self.embeddings.as_ref() };
        let end = tokio::select! {
            () = self.cancel.cancelled() => End::Stopped,
            error = claimed.keep() => End::Failed(error.into()),
            () = tokio::time::sleep(self.options.timeout) => {
                let message = format!("indexing took longer than {} s and goes on later", self.options.timeout.as_secs());
                End::Failed(Error::timeout(message).retryable())
            }
            done = attempt.run() => done.map_or_else(End::Failed, |()| End::Ready),
        };
        // A table that changes all the time must not keep us busy all the time.
        let rest = (begun.elapsed() * 2).min(LONGEST_REST);
        self.close(claimed, end, rest).await;
    }

    async fn close(&self, claimed: ClaimedIndex, end: End, rest: Duration) {
        let index = claimed.index().clone();
        let (tenant, tool) = (&index.tenant, &index.tool);
        let closing = async {
            match end {
                End::Ready => claimed.finish(self.model(), rest).await,
                End::Stopped => claimed.release().await,
                End::Failed(error) if error.kind() == tool::ErrorKind::NotFound => {
                    forget(&claimed).await?;
                    claimed.fail(&format!("the table {} is not there any more", index.table), None).await
                }
                End::Failed(error) => {
                    let pause = self.pause(index.attempts);
                    tracing::warn!(%tenant, %tool, %error, "search index of tool {tool} is tried again in {pause:?}: {error}");
                    claimed.fail(&error.to_string(), Some(pause)).await
                }
            }
        };
        match within(self.options.store_timeout, closing).await {
            // The Tool was changed or deleted meanwhile, or the lease ran out.
            Err(error) if error.kind() == ErrorKind::Stale => {}
            Err(error) => {
                tracing::warn!(%tenant, %tool, %error, "search index of tool {tool} is left as it is: {error}")
            }
            Ok(()) => {}
        }
    }

    fn pause(&self, attempts: i64) -> Duration {
        let (first, longest) = self.options.backoff;
        let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or_default().min(20);
        first.saturating_mul(1 << doublings).min(longest)
    }
}

/// A table that is gone leaves nothing to find.
async fn forget(claimed: &ClaimedIndex) -> store::Result<()> {
    let gone: Vec<String> = claimed.nodes().await?.into_keys().collect();
    claimed.move_nodes(&gone, &[]).await?;
    let hashes: Vec<String> = claimed.hashes().await?.into_keys().collect();
    claimed.remove_texts(&hashes).await?;
    claimed.note_progress(0, 0, 0).await
}
