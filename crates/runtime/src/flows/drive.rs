//! One run at work in this process: taken up from its journal, driven until it ends, waits or is lost.

use super::agents::KnownWork;
use super::calls::RunCalls;
use super::given::{Given, Origin, Starter, spelled};
use super::journal::{RunJournal, Standing};
use super::progress::Progress;
use super::records::{Unreadable, from_row};
use super::service::Inherited;
use super::versions::{Version, parse};
use super::{Active, Flows};
use flow::engine::{Ending, Fact, Failure, Journal, Machine, Record, Start, Stop, drive};
use std::sync::{Arc, PoisonError};
use store::runs::{Claim, ClaimedRun, Run};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tool::{Context, Error, Events, Result};

/// As many records as are read at once.
const PAGE: u32 = 1000;

/// What became of a run that this process had.
#[derive(Debug)]
pub(super) enum Driven {
    /// It ended so.
    Ended(Ending),
    /// It is not ours any more, and goes on.
    Left,
}

/// What is known of a run without reading it.
pub(super) enum Known {
    Flow(Box<KnownFlow>),
    Agent(Box<KnownWork>),
}

impl Known {
    fn flow(self) -> Option<KnownFlow> {
        if let Self::Flow(known) = self { Some(*known) } else { None }
    }

    fn agent(self) -> Option<KnownWork> {
        if let Self::Agent(known) = self { Some(*known) } else { None }
    }
}

/// What is known of a run of a flow.
pub(super) struct KnownFlow {
    pub(super) version: Arc<Version>,
    pub(super) given: Given,
    /// Who hears how far it has come.
    pub(super) events: Events,
}

/// Keeps the claim renewed and the news coming until it is dropped.
struct Holding {
    flows: Arc<Flows>,
    claim: Claim,
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.flows.active.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.claim);
    }
}

impl Flows {
    /// Works on a run that is ours, in a task of its own.
    pub(super) fn take_up(
        self: &Arc<Self>,
        claimed: ClaimedRun,
        known: Option<Known>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> oneshot::Receiver<Driven> {
        let (done, driven) = oneshot::channel();
        let flows = self.clone();
        let lost = CancellationToken::new();
        let (news, heard) = watch::channel(0);
        let claim = claimed.claim.clone();
        let active = Active { news, lost: lost.clone() };
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(claim.clone(), active);
        let holding = Holding { flows: self.clone(), claim };
        self.tasks.spawn(async move {
            let _permit = permit;
            let gone = CancellationToken::new();
            let _gone = gone.clone().drop_guard();
            let run = claimed.claim.run.clone();
            let work = flows.work_on(claimed, known, heard, gone);
            let result = tokio::select! {
                biased;
                result = work => result,
                () = lost.cancelled() => Err(Error::unavailable("somebody else has it now")),
            };
            drop(holding);
            let result = result.unwrap_or_else(|error| {
                tracing::warn!(%run, %error, "run {run} is left for later: {error}");
                Driven::Left
            });
            // Whoever does not wait any more need not know.
            let _ = done.send(result);
        });
        driven
    }

    async fn work_on(
        self: &Arc<Self>,
        claimed: ClaimedRun,
        known: Option<Known>,
        news: watch::Receiver<i64>,
        gone: CancellationToken,
    ) -> Result<Driven> {
        let Some(writer) = self.writer() else { return Ok(Driven::Left) };
        let run = claimed.run.clone();
        let (records, seen, unreadable) = match self.records(&run).await? {
            Ok((records, seen)) => (records, seen, None),
            Err(unreadable) => (Vec::new(), run.last_seq, Some(unreadable)),
        };
        let mut journal = RunJournal::new(self, writer, claimed, news, &records, seen);
        if let Some(unreadable) = unreadable {
            return self
                .give_up(&journal, Failure::new("INTERNAL", Error::from(unreadable).in_words()))
                .await;
        }
        if run.agent().is_some() {
            return self.work_on_agent(journal, records, known.and_then(Known::agent)).await;
        }
        let known = match known.and_then(Known::flow) {
            Some(known) => known,
            None => match self.known(&run).await {
                Ok(known) => known,
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    return self.give_up(&journal, Failure::new("INTERNAL", error.in_words())).await;
                }
            },
        };
        if let Some(failure) = known.given.refused {
            return self.give_up(&journal, failure).await;
        }
        journal.progress = Progress::to(known.events.clone());
        let retries = Standing::of(&records).retries;
        let (cx, depth) = (self.context(&run), Origin::read(&run.origin).depth);
        let secrets = known.given.secrets_of(&known.version.flow);
        let inherited = Inherited::of(&known.given, &secrets);
        let secrets = spelled(&secrets);
        let flows = self.clone();
        let calls = RunCalls { flows, run: run.id.clone(), cx, gone, retries, depth, inherited, secrets };
        let start = start_of(&run, &known);
        let mut machine = Machine::new(known.version.flow.clone(), start, &records);
        drop(records);
        let stop = drive(&mut machine, &journal, Arc::new(calls), &*self.clock, &self.stopping).await;
        match stop {
            Ok(Stop::Stopped) => {
                journal.release().await.map_err(|lost| Error::unavailable(lost.to_string()))?;
                Ok(Driven::Left)
            }
            Ok(Stop::Ended | Stop::Parked) => {
                Ok(journal.ending.into_inner().map_or(Driven::Left, Driven::Ended))
            }
            Err(lost) => Err(Error::unavailable(lost.to_string())),
        }
    }

    /// A run that nobody can work on ends, rather than being taken up for ever.
    pub(super) async fn give_up(&self, journal: &RunJournal, error: Failure) -> Result<Driven> {
        let ending = Ending::Failed { error };
        let record = Record {
            at: flow::engine::Clock::now(&*self.clock),
            path: String::new(),
            attempt: 1,
            fact: Fact::Ended(ending.clone()),
        };
        journal.append(&[record]).await.map_err(|lost| Error::unavailable(lost.to_string()))?;
        Ok(Driven::Ended(ending))
    }

    /// The whole journal of a run, and the number of its last record; or that it cannot be read, now or later.
    pub(super) async fn records(&self, run: &Run) -> Result<Result<(Vec<Record>, i64), Unreadable>> {
        let (mut records, mut seen) = (Vec::new(), 0);
        while seen < run.last_seq {
            let page = self.answered(self.store.runs().journal(&run.tenant, &run.id, seen, PAGE)).await?;
            let Some(last) = page.last() else { break };
            seen = last.seq;
            for row in &page {
                match from_row(&row.record) {
                    Ok(record) => records.push(record),
                    Err(_) => return Ok(Err(Unreadable { before: records })),
                }
            }
        }
        Ok(Ok((records, seen)))
    }

    /// What a run is a run of, and what it was given.
    async fn known(&self, run: &Run) -> Result<KnownFlow> {
        let data = self.answered(self.store.runs().data(&run.tenant, &run.id)).await?;
        let given = serde_json::from_str(&data.inputs)
            .map_err(|error| Error::internal("the inputs of a run cannot be read").caused_by(error))?;
        let version = self.version_of(run, data.source).await?;
        Ok(KnownFlow { version, given, events: Events::default() })
    }

    /// The version of a run; of a draft what its text says.
    pub async fn version_of(&self, run: &Run, draft: Option<String>) -> Result<Arc<Version>> {
        match (run.version, draft) {
            (Some(number), _) => self.version(&run.tenant, &run.flow, number).await,
            (None, Some(draft)) => {
                let bound = self.bound_of(&run.tenant, &draft).await?;
                Ok(Arc::new(parse(draft, bound)?))
            }
            (None, None) => Err(Error::internal("a run has neither a version nor a text")),
        }
    }

    /// What the contexts of a run's calls begin with.
    fn context(&self, run: &Run) -> Context {
        let origin = Origin::read(&run.origin);
        let caller = Arc::new(Starter::read(&run.caller).acting());
        let door = origin.by_door();
        let trace = origin.trace();
        let request_id = origin.request_id.map_or_else(tool::new_id, |id| id.as_str().into());
        let cx =
            Context::for_request(request_id, run.tenant.clone(), caller, door, self.options.call_timeout);
        Context { trace, around: origin.around.map(Arc::new), is_by_flow: true, ..cx }
    }
}

fn start_of(run: &Run, known: &KnownFlow) -> Start {
    let given = &known.given;
    Start {
        run: run.id.to_string(),
        flow: run.flow.clone(),
        version: run.version.and_then(|version| u32::try_from(version).ok()),
        inputs: given.inputs.clone(),
        trigger: given.trigger.clone(),
        tenant: given.tenant_id.clone().unwrap_or_else(|| run.tenant.to_string()),
        bu_code: given.bu_code.clone(),
        bound: known.version.bound.clone(),
    }
}
