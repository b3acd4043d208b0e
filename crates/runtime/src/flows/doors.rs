//! What people do to a run: cancel, pause, resume, try again, repeat, signal, decide.

use super::Flows;
use super::given::{Given, Origin};
use super::journal::cancelled;
use super::records::{of_others, to_row};
use super::start::{NewStart, StartedRun};
use flow::engine::{Decision, Fact, copied};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::runs::{Run, Wait};
use tool::{Caller, Error, Result, RunId, TenantId};

/// How a run is repeated.
#[derive(Debug, Default)]
pub struct Replay {
    /// The node to begin with; all that ended before it is copied. From the start where it is none.
    pub from: Option<String>,
    /// Another version than the run's own.
    pub version: Option<i64>,
    /// Other inputs than the run's own.
    pub inputs: Option<Map<String, Value>>,
}

impl Flows {
    /// Has the run end as cancelled, with its calls and children.
    ///
    /// # Errors
    /// A conflict where it has ended.
    pub async fn cancel(&self, tenant: &TenantId, run: &RunId) -> store::Result<Run> {
        let now = self.clock.now_ms();
        let to_parent = of_others(now, "", Fact::ChildEnded(Err(cancelled())));
        self.store.runs().cancel(tenant, run, &of_others(now, "", Fact::Cancel), &to_parent).await
    }

    /// Lets nothing new start in the run.
    ///
    /// # Errors
    /// A conflict where it has ended.
    pub async fn pause(&self, tenant: &TenantId, run: &RunId) -> store::Result<()> {
        self.tell(tenant, run, Fact::Pause).await
    }

    /// Lets the run go on.
    ///
    /// # Errors
    /// A conflict where it has ended.
    pub async fn resume(&self, tenant: &TenantId, run: &RunId) -> store::Result<()> {
        self.tell(tenant, run, Fact::Resume).await
    }

    /// Sends the run a signal; one that nobody waits for yet is kept.
    ///
    /// # Errors
    /// A conflict where it has ended.
    pub async fn signal(
        &self,
        tenant: &TenantId,
        run: &RunId,
        name: &str,
        key: Option<Value>,
        data: Value,
    ) -> store::Result<()> {
        self.tell(tenant, run, Fact::Signal { name: name.to_owned(), key, data }).await
    }

    /// Queues a failed run again: what failed in it is done again.
    ///
    /// # Errors
    /// A conflict where it has not failed.
    pub async fn retry(&self, tenant: &TenantId, run: &RunId) -> store::Result<Run> {
        let record = of_others(self.clock.now_ms(), "", Fact::Retry);
        self.store.runs().retry(tenant, run, &record).await
    }

    /// The first decision counts; any other is a conflict.
    pub(super) async fn record_decision(
        &self,
        tenant: &TenantId,
        wait: &Wait,
        decision: Decision,
    ) -> store::Result<()> {
        let record = of_others(self.clock.now_ms(), &wait.path, Fact::Decided(decision));
        self.store.runs().answer(tenant, &wait.id, &record).await
    }

    /// Starts a run that repeats another one, or the part of it behind a node.
    ///
    /// # Errors
    /// `InvalidInput` where there is no such node, and those of a start.
    pub async fn replay(
        self: &Arc<Self>,
        tenant: &TenantId,
        run: &RunId,
        replay: Replay,
        caller: &Caller,
        mut origin: Origin,
    ) -> Result<StartedRun> {
        let old = self.store.runs().get(tenant, run).await?;
        let data = self.store.runs().data(tenant, run).await?;
        let mut given: Given = serde_json::from_str(&data.inputs)
            .map_err(|error| Error::internal("the inputs of a run cannot be read").caused_by(error))?;
        if let Some(inputs) = replay.inputs {
            given.inputs = inputs;
            given.refused = None;
        }
        // Whoever works for one unit repeats nothing as another.
        if caller.bu_code.is_some() {
            given.bu_code.clone_from(&caller.bu_code);
        }
        let version = match replay.version {
            Some(number) => self.version(tenant, &old.flow, number).await?,
            None => self.version_of(&old, data.source).await?,
        };
        let records = match &replay.from {
            Some(from) => {
                let (records, _) = self.records(&old).await?;
                let copied = copied(&version.flow, &records, from).ok_or_else(|| {
                    Error::invalid_input(format!("the flow has no node '{from}' at its top"))
                })?;
                copied.iter().map(to_row).collect()
            }
            None => Vec::new(),
        };
        origin.replay_of = Some(old.id);
        let start = NewStart { records, ..NewStart::new(&old.flow, version, given, origin, caller) };
        self.start(tenant, start).await
    }

    async fn tell(&self, tenant: &TenantId, run: &RunId, fact: Fact) -> store::Result<()> {
        self.store.runs().tell(tenant, run, &of_others(self.clock.now_ms(), "", fact)).await
    }
}
