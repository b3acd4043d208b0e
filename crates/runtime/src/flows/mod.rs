//! Flows at work: the engine's ports on our tables and on the gateway, and the processes that drive runs.

mod agents;
mod alone;
mod approvals;
mod callable;
mod calls;
mod clock;
mod doors;
mod drive;
mod given;
mod journal;
mod polling;
mod predecessors;
mod progress;
mod records;
mod service;
mod start;
mod triggers;
mod versions;
mod wait;
mod worker;

pub use alone::{Alone, Watcher};
pub use approvals::Approval;
pub use callable::Callable;
pub use doors::{Replay, SIGNALS};
pub use given::{Given, Origin, Rights, Starter};
pub use polling::POLLING_TOOL;
pub use service::{check_unit, not_waiting};
pub use start::{MAX_DEPTH, MAX_KEY_BYTES, NewStart, StartedRun};
pub use triggers::Delivery;
pub use versions::Version;
pub use wait::{address_of, tool_of, tool_of_agent};

use clock::DatabaseClock;
use futures::future::BoxFuture;
use gateway::Gateway;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;
use store::runs::{Claim, Writer};
use store::{Store, Tokens};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::{ErrorKind, RunKind};
use versions::Versions;

/// Whoever stops gives its runs back within ten seconds; what is left of these is for the database.
const MAX_GRACE: Duration = Duration::from_secs(8);

/// How runs are worked on.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// Runs of flows that this process works on at once, and as many of agents; those that wait do not count.
    pub runs_at_once: usize,
    /// Runs of a tenant's flows that all processes together work on at once, and as many of its agents.
    pub runs_per_tenant: u32,
    /// Runs of a tenant that may wait to begin.
    pub queue_limit: u32,
    /// How long a call of a run may take, unless its node says otherwise.
    pub call_timeout: Duration,
    /// How long the database may take to answer what is asked in the background.
    pub store_timeout: Duration,
    /// How long calls may take to end when the process stops.
    pub shutdown_timeout: Duration,
    /// Where processes on the same data know of each other.
    pub data_dir: Option<PathBuf>,
    /// What programs call a kind of failure.
    pub code_of: fn(ErrorKind) -> &'static str,
}

impl FlowOptions {
    /// The defaults, with the words of a door for failures.
    #[must_use]
    pub fn new(code_of: fn(ErrorKind) -> &'static str) -> Self {
        Self {
            runs_at_once: 256,
            runs_per_tenant: 128,
            queue_limit: 10_000,
            call_timeout: calls::CALL_TIMEOUT,
            store_timeout: Duration::from_secs(10),
            shutdown_timeout: MAX_GRACE,
            data_dir: None,
            code_of,
        }
    }

    /// How long the calls of runs may take to end when the process stops.
    fn grace(&self) -> Duration {
        self.shutdown_timeout.min(MAX_GRACE)
    }
}

/// The runs of this process, and the way to all others.
pub struct Flows {
    store: Store,
    options: FlowOptions,
    clock: Arc<DatabaseClock>,
    versions: Versions,
    gateway: OnceLock<Weak<Gateway>>,
    /// Until the process stops.
    writer: Mutex<Option<Writer>>,
    /// What the writer does, until somebody does it.
    writing: Mutex<Option<BoxFuture<'static, ()>>>,
    /// A run that was given back may be ours again before its task has ended: each claim counts by itself.
    active: Mutex<HashMap<Claim, Active>>,
    /// Those of flows and those of agents: an agent keeps its own while its model thinks and while a flow works for it.
    permits: [Arc<Semaphore>; 2],
    /// Runs at work, and their calls.
    tasks: TaskTracker,
    stopping: CancellationToken,
    /// Seals what goes out with a question of a run.
    states: Tokens,
    /// Itself, for runs that it takes up by a port.
    me: Weak<Self>,
}

/// A run at work in this process.
struct Active {
    /// The number of the last record that others left it.
    news: watch::Sender<i64>,
    /// Fires when somebody else has it.
    lost: CancellationToken,
}

impl std::fmt::Debug for Flows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flows").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Flows {
    /// Flows that nobody works on before [`Flows::run`].
    ///
    /// # Errors
    /// When the store does not say what time it is.
    pub async fn new(store: Store, options: FlowOptions) -> store::Result<Arc<Self>> {
        let clock = Arc::new(DatabaseClock::new(&store).await?);
        let states = Tokens::new(&store.meta().jwt_key().await?, "request state")?;
        let (writer, writing) = store.runs().writing();
        Ok(Arc::new_cyclic(|me| Self {
            permits: [options.runs_at_once; 2].map(|most| Arc::new(Semaphore::new(most))),
            store,
            options,
            clock,
            versions: Versions::default(),
            gateway: OnceLock::new(),
            writer: Mutex::new(Some(writer)),
            writing: Mutex::new(Some(Box::pin(writing))),
            active: Mutex::default(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
            states,
            me: me.clone(),
        }))
    }

    /// The gateway that calls go through; it has these flows itself, so it comes later.
    pub fn attach(&self, gateway: &Arc<Gateway>) {
        let _ = self.gateway.set(Arc::downgrade(gateway));
    }

    fn gateway(&self) -> Option<Arc<Gateway>> {
        self.gateway.get().and_then(Weak::upgrade)
    }

    /// What the store says, in the time that it may take: a database that is gone without a word never answers.
    async fn answered<T>(&self, answer: impl Future<Output = store::Result<T>>) -> store::Result<T> {
        store::within(self.options.store_timeout, answer).await
    }

    fn permits(&self, kind: RunKind) -> &Arc<Semaphore> {
        let [flows, agents] = &self.permits;
        match kind {
            RunKind::Flow => flows,
            RunKind::Agent => agents,
        }
    }

    fn writer(&self) -> Option<Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
