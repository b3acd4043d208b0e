//! A sink that remembers what it got, and says of each message what a test wants said.

use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tool::{Connector, Context, Delivery, Result, Sink, Subscription, Verdict};

type Judge = Box<dyn Fn(&Delivery) -> Option<Verdict> + Send + Sync>;

/// Remembers every delivery, in the order in which they came.
pub struct Recorder {
    judge: Judge,
    got: Mutex<Vec<Delivery>>,
}

impl Recorder {
    /// Judges by the function; where it gives nothing, the sink never answers.
    #[must_use]
    pub fn judging(judge: impl Fn(&Delivery) -> Option<Verdict> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { judge: Box::new(judge), got: Mutex::default() })
    }

    /// Takes everything.
    #[must_use]
    pub fn taking() -> Arc<Self> {
        Self::judging(|_| Some(Verdict::Taken))
    }

    /// What came so far.
    #[must_use]
    pub fn got(&self) -> Vec<Delivery> {
        self.got.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The ids of what came so far.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.got().into_iter().map(|delivery| delivery.id).collect()
    }

    /// Waits until so many came.
    ///
    /// # Panics
    /// When they do not come within 30 seconds.
    pub async fn wait_for(&self, count: usize) {
        let what = format!("{count} deliveries");
        crate::eventually(&what, Duration::from_secs(30), async || self.got().len() >= count).await;
    }
}

#[async_trait]
impl Sink for Recorder {
    async fn take(&self, delivery: Delivery) -> Verdict {
        let verdict = (self.judge)(&delivery);
        self.got.lock().unwrap_or_else(PoisonError::into_inner).push(delivery);
        match verdict {
            Some(verdict) => verdict,
            None => std::future::pending().await,
        }
    }
}

/// Somebody who listens until stopped or killed.
#[derive(Debug)]
pub struct Listening {
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

impl Listening {
    /// Begins to listen.
    ///
    /// # Panics
    /// When the connector has nothing to listen to.
    #[must_use]
    pub fn start(
        connector: &Arc<dyn Connector>,
        cx: Context,
        wanted: Subscription,
        sink: Arc<dyn Sink>,
    ) -> Self {
        let (connector, stop) = (connector.clone(), cx.cancel.clone());
        let task = tokio::spawn(async move {
            let triggers = connector.triggers().expect("a connector with triggers");
            triggers.listen(&cx, wanted, sink).await
        });
        Self { stop, task }
    }

    /// Asks it to stop, and waits until it has.
    ///
    /// # Errors
    /// Those of listening.
    ///
    /// # Panics
    /// When it does not stop within 20 seconds.
    pub async fn stop(self) -> Result<()> {
        self.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(20), self.task).await;
        ended.expect("it stops when asked to").expect("it does not panic")
    }

    /// Ends it as a kill would: nothing is settled any more.
    pub async fn kill(self) {
        self.task.abort();
        // That it was ended is no news.
        let _ = self.task.await;
    }

    /// It has not ended by itself.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.task.is_finished()
    }
}
