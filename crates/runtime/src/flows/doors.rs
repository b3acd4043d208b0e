//! What people do to a run: cancel, pause, resume, try again, repeat, signal, decide.

use super::Flows;
use super::agents;
use super::given::{Given, Origin};
use super::journal::cancelled;
use super::records::{of_others, to_row};
use super::start::{MAX_DEPTH, NewStart, StartedRun};
use super::versions::{Version, check_draft};
use flow::difference_before;
use flow::engine::{Decision, Fact, Record, copied, decided};
use serde_json::{Map, Value};
use std::sync::Arc;
use store::runs::{AtMost, Cancellation, Run, State, Wait};
use tool::{Caller, Error, ErrorKind, Result, RunId, TenantId};

/// Signals that one run takes: all of them stay in its journal.
pub const SIGNALS: i64 = 10_000;

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
        let run = self.store.runs().cancel(tenant, run, &self.cancellation()).await?;
        // Nobody had begun it, so that nobody else leaves the record of what was asked.
        if run.agent().is_some() && run.state == State::Cancelled {
            self.record_unworked(&run, agents::cancelled()).await;
        }
        Ok(run)
    }

    /// What a run gets that is to end, or the run that waits for it.
    pub(super) fn cancellation(&self) -> Cancellation {
        let now = self.clock.now_ms();
        Cancellation {
            record: of_others(now, "", Fact::Cancel),
            to_parent: of_others(now, "", Fact::ChildEnded(Err(cancelled()))),
        }
    }

    /// Lets nothing new start in the run, nor in the runs that it waits for.
    ///
    /// # Errors
    /// A conflict where it has ended.
    pub async fn pause(&self, tenant: &TenantId, run: &RunId) -> store::Result<()> {
        self.tell_all(tenant, run, &Fact::Pause).await
    }

    /// Lets the run go on.
    ///
    /// # Errors
    /// A conflict where it has ended.
    pub async fn resume(&self, tenant: &TenantId, run: &RunId) -> store::Result<()> {
        self.tell_all(tenant, run, &Fact::Resume).await
    }

    /// Sends the run a signal; one that nobody waits for yet is kept. `false` if it has had as many as it takes.
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
    ) -> store::Result<bool> {
        let fact = Fact::Signal { name: name.to_owned(), key, data };
        let record = of_others(self.clock.now_ms(), "", fact);
        let bytes = i64::try_from(flow::limits::RUN_BYTES).unwrap_or(i64::MAX);
        self.store.runs().tell_at_most(tenant, run, &record, AtMost { count: SIGNALS, bytes }).await
    }

    /// Queues a failed run again: what failed in it is done again.
    ///
    /// # Errors
    /// A conflict where it has not failed.
    pub async fn retry(&self, tenant: &TenantId, run: &RunId) -> store::Result<Run> {
        let record = of_others(self.clock.now_ms(), "", Fact::Retry);
        self.store.runs().retry(tenant, run, &record).await
    }

    /// Decides on an approval; the first decision counts.
    ///
    /// # Errors
    /// A conflict where somebody has decided, or it is over.
    pub async fn decide(&self, tenant: &TenantId, wait: &Wait, decision: Decision) -> store::Result<()> {
        let record = of_others(self.clock.now_ms(), &wait.path, Fact::Decided(decision));
        self.store.runs().answer(tenant, &wait.id, &record).await
    }

    /// Starts a run that repeats another one, or the part of it behind a node.
    ///
    /// # Errors
    /// `InvalidInput` where there is no such node, or where a part of it is to be repeated with other inputs; and those
    /// of a start.
    pub async fn replay(
        self: &Arc<Self>,
        tenant: &TenantId,
        run: &RunId,
        replay: Replay,
        caller: &Caller,
        mut origin: Origin,
    ) -> Result<StartedRun> {
        let old = self.store.runs().get(tenant, run).await?;
        if old.agent().is_some() {
            return Err(Error::unsupported("runs of agents are not repeated; ask the agent again"));
        }
        let data = self.store.runs().data(tenant, run).await?;
        let mut given: Given = serde_json::from_str(&data.inputs)
            .map_err(|error| Error::internal("the inputs of a run cannot be read").caused_by(error))?;
        if let Some(inputs) = replay.inputs {
            // What is copied was decided about other inputs: approvals, guards, branches and results alike.
            if replay.from.is_some() && inputs != given.inputs {
                let message = "a run with other inputs begins at the start, so that nothing is passed by that was \
                               decided about the old ones: leave out 'from', or 'inputs'";
                return Err(Error::invalid_input(message).of_parameter("inputs"));
            }
            given.inputs = inputs;
            given.refused = None;
        }
        // Whoever works for one unit repeats nothing as another.
        if caller.bu_code.is_some() {
            given.bu_code.clone_from(&caller.bu_code);
        }
        if let (None, Some(draft)) = (replay.version, &data.source) {
            check_draft(draft)?;
        }
        let own = self.version_of(&old, data.source).await.map_err(|error| gone(error, &old));
        // What was secret stays so, whatever the other version says of its inputs.
        let secrets = match &own {
            Ok(own) => given.secrets_of(&own.flow),
            Err(_) => given.secrets(|_| old.is_secret),
        };
        given.inherited_secrets = secrets.expose().to_vec();
        let (version, own) = match replay.version {
            Some(number) => (self.version(tenant, &old.flow, number).await?, own),
            None => own.map(|own| (own.clone(), Ok(own)))?,
        };
        let records = match &replay.from {
            Some(from) => {
                let (records, _) = self.records(&old).await??;
                let copied = copied(&version.flow, &records, from).ok_or_else(|| {
                    Error::invalid_input(format!("the flow has no node '{from}' at its top"))
                })?;
                let own = own?;
                check_carried(&own, &version, from, &copied)?;
                copied.iter().map(to_row).collect()
            }
            None => Vec::new(),
        };
        origin.replay_of = Some(old.id);
        let start = NewStart { records, ..NewStart::new(&old.flow, version, given, origin, caller) };
        self.start(tenant, start).await
    }

    /// Tells a run and, level by level, the sub-flows that it waits for; those that end meanwhile need not know.
    async fn tell_all(&self, tenant: &TenantId, run: &RunId, fact: &Fact) -> store::Result<()> {
        let record = of_others(self.clock.now_ms(), "", fact.clone());
        self.store.runs().tell(tenant, run, &record).await?;
        let mut level = vec![run.clone()];
        for _ in 0..MAX_DEPTH {
            let mut below = Vec::new();
            for run in level {
                let children = self.live_children(tenant, run).await?;
                for child in children {
                    match self.store.runs().tell(tenant, &child, &record).await {
                        Ok(()) => below.push(child),
                        Err(error) if error.kind() == store::ErrorKind::Conflict => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            level = below;
        }
        Ok(())
    }
}

/// A flow that was made again under its id has other versions.
fn gone(error: Error, run: &Run) -> Error {
    match (error.kind(), run.version) {
        (ErrorKind::NotFound, Some(number)) => Error::missing(format!(
            "the flow '{}' has no version {number} any more, which this run ran; give 'version', without 'from', or start a \
             new run",
            run.flow
        )),
        _ => error,
    }
}

/// What ended in one version counts in another only where everything before `from` is the same in both, and nobody and no
/// guard has decided there: whoever may run a flow could pass by what its new version asks.
fn check_carried(own: &Version, version: &Version, from: &str, copied: &[Record]) -> Result<()> {
    if own.number == version.number && own.source() == version.source() {
        return Ok(());
    }
    let refused = |message| Err(Error::invalid_input(message).of_parameter("from"));
    if let Some(path) = difference_before(from, &own.text(), &version.text()) {
        return refused(format!(
            "'{path}' is not the same in both versions, so that what ended before '{from}' cannot be copied: leave out \
             'from', or 'version'"
        ));
    }
    match decided(&version.flow, copied) {
        Some(node) => refused(format!(
            "the node '{node}' is an approval or a guard, or has one inside, and what was decided there counts for the \
             version of the run alone: begin with it or before it, or leave out 'version'"
        )),
        None => Ok(()),
    }
}
