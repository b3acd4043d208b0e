//! Starts: from what somebody wants to run to a run that is accepted.

use super::Flows;
use super::drive::{Driven, Known, KnownFlow};
use super::given::{Given, Origin, Starter};
use super::versions::{Version, parse_draft};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use expression::Setting;
use flow::engine::{Clock as _, Failure};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use store::runs::{ClaimedRun, Inserted, NewRecord, NewRun, Parent, Refusal, Run, Slots};
use tokio::sync::oneshot;
use tool::{Caller, Error, Events, Problem, Result, RunKind, TenantId};

/// How long a key is known.
pub(super) const DEDUPE: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs inside one another.
pub const MAX_DEPTH: u32 = 10;

pub(super) fn too_deep() -> String {
    format!("sub-flows stand more than {MAX_DEPTH} deep in one another; see that none runs itself")
}

/// As long may a key be that whoever starts a run gives it.
pub const MAX_KEY_BYTES: usize = 512;

/// A run to be.
pub struct NewStart {
    /// Of which flow.
    pub flow: String,
    /// What its text says.
    pub version: Arc<Version>,
    /// What it is given.
    pub given: Given,
    /// What starts it.
    pub origin: Origin,
    /// On whose behalf.
    pub starter: Starter,
    /// The node that waits for it.
    pub parent: Option<Parent>,
    /// Starts of the flow with an equal one are one. It begins with whose it is: what one caller or trigger chose leads
    /// to no run of another.
    pub(super) dedupe_key: Option<String>,
    /// How many at once, where the flow itself does not say.
    pub(super) slots: Option<Slots>,
    /// Nobody can be told that the inputs do not fit: the run is to fail instead.
    pub(super) is_unattended: bool,
    /// Who hears how far it has come, as long as this process works on it.
    pub(super) events: Events,
    /// What has happened already, of a run that repeats a part of another.
    pub(super) records: Vec<NewRecord>,
}

impl NewStart {
    /// A run that nothing waits for, on behalf of a caller.
    #[must_use]
    pub fn new(flow: &str, version: Arc<Version>, given: Given, origin: Origin, caller: &Caller) -> Self {
        let starter = Starter::running(&version, caller);
        Self {
            flow: flow.to_owned(),
            version,
            given,
            origin,
            starter,
            parent: None,
            dedupe_key: None,
            slots: None,
            is_unattended: false,
            events: Events::default(),
            records: Vec::new(),
        }
    }

    /// The same, if there is no run of this caller with that key.
    #[must_use]
    pub fn once(self, key: Option<&str>, caller: &Caller) -> Self {
        let own = |key: &str| format!("{}/{}/{key}", caller.identity.kind(), caller.identity.id());
        Self { dedupe_key: key.map(own), ..self }
    }
}

/// Who works on a new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worker {
    /// This process, at once, if it may begin and there is room.
    Us,
    /// Whoever claims it first.
    Anybody,
}

/// A run that was accepted.
#[derive(Debug)]
pub struct StartedRun {
    /// The run.
    pub run: Run,
    /// It is that of an earlier start with the same key.
    pub is_known: bool,
    pub(super) driven: Option<oneshot::Receiver<Driven>>,
}

impl Flows {
    /// Accepts a run; somebody works on it soon.
    ///
    /// # Errors
    /// `InvalidInput` for inputs that do not fit, `RateLimited` where there is no room, and what the store refuses.
    pub async fn start(self: &Arc<Self>, tenant: &TenantId, start: NewStart) -> Result<StartedRun> {
        self.accept(tenant, start, Worker::Anybody).await
    }

    pub(super) async fn accept(
        self: &Arc<Self>,
        tenant: &TenantId,
        start: NewStart,
        worker: Worker,
    ) -> Result<StartedRun> {
        if start.origin.depth > MAX_DEPTH {
            return Err(Error::unsupported(too_deep()));
        }
        let new = self.new_run(&start)?;
        let permit = match worker {
            Worker::Us if !self.stopping.is_cancelled() => {
                self.permits(RunKind::Flow).clone().try_acquire_owned().ok()
            }
            Worker::Us | Worker::Anybody => None,
        };
        let (queue, at_once) = (self.options.queue_limit, self.options.runs_per_tenant);
        let runs = self.store.runs();
        let inserted = match permit {
            Some(_) => runs.insert_and_claim(tenant, &new, queue, at_once).await,
            None => runs.insert(tenant, &new, queue).await,
        };
        let inserted = inserted.map_err(|error| not_accepted(error, &start.flow))?;
        let started = |run, is_known| StartedRun { run, is_known, driven: None };
        Ok(match (inserted, permit) {
            (Inserted::Known(run), _) => started(run, true),
            (Inserted::Refused(refusal), _) => return Err(refused(refusal, &start.flow)),
            (Inserted::Claimed(claimed), Some(permit)) => {
                let run = claimed.run.clone();
                let known = KnownFlow { version: start.version, given: start.given, events: start.events };
                let driven = self.take_up(claimed, Some(Known::Flow(Box::new(known))), Some(permit));
                StartedRun { run, is_known: false, driven: Some(driven) }
            }
            (Inserted::Created(run) | Inserted::Claimed(ClaimedRun { run, .. }), _) => started(run, false),
        })
    }

    fn new_run(&self, start: &NewStart) -> Result<NewRun> {
        let flow = &start.version.flow;
        let setting = Setting { now: self.clock.now(), ..Setting::default() };
        let inputs = match flow.accept(start.given.inputs.clone(), &setting) {
            Err(failure) if !start.is_unattended => return Err(invalid(&failure)),
            accepted => accepted.unwrap_or_else(|_| start.given.inputs.clone()),
        };
        let key = match flow.concurrency_key(&inputs, &setting) {
            Err(failure) if !start.is_unattended => return Err(invalid(&failure)),
            key => key.ok().flatten().unwrap_or_default(),
        };
        let slots = match &flow.concurrency {
            Some(concurrency) => Some(Slots {
                key: digest(&key),
                limit: u32::try_from(concurrency.limit).unwrap_or(u32::MAX).max(1),
                overflow: match concurrency.overflow {
                    flow::Overflow::Queue => store::runs::Overflow::Queue,
                    flow::Overflow::Refuse => store::runs::Overflow::Refuse,
                    flow::Overflow::Replace => store::runs::Overflow::Replace(Box::new(self.cancellation())),
                },
            }),
            None => start.slots.clone(),
        };
        Ok(NewRun {
            id: None,
            flow: start.flow.clone(),
            agent: None,
            version: start.version.number,
            source: start.version.number.is_none().then(|| start.version.source().to_owned()),
            inputs: json(&start.given)?,
            is_secret: flow.inputs.iter().any(|input| input.is_secret)
                || !start.given.inherited_secrets.is_empty(),
            origin: json(&start.origin)?,
            caller: json(&start.starter)?,
            parent: start.parent.clone(),
            slots,
            dedupe: start.dedupe_key.clone().map(|key| (key, DEDUPE)),
            conversation: None,
            records: start.records.clone(),
        })
    }

    /// The version that is published now.
    ///
    /// # Errors
    /// `NotFound` where there is none.
    pub async fn current(&self, tenant: &TenantId, flow: &str) -> Result<Arc<Version>> {
        let current = self.store.flows().get(tenant, flow).await?.current;
        let missing =
            || Error::not_found(format!("the flow '{flow}' has no published version; publish it first"));
        self.version(tenant, flow, current.ok_or_else(missing)?).await
    }

    /// A published version.
    ///
    /// # Errors
    /// `NotFound` where there is none.
    pub async fn version(&self, tenant: &TenantId, flow: &str, number: i64) -> Result<Arc<Version>> {
        self.versions.read(&self.store, tenant, flow, number, self.options.store_timeout).await
    }

    /// The draft as it is now.
    ///
    /// # Errors
    /// `NotFound` where there is none, and what keeps it from being run.
    pub async fn draft(&self, tenant: &TenantId, flow: &str) -> Result<Arc<Version>> {
        let draft = self.store.flows().get(tenant, flow).await?.draft;
        let bound = self.bound_of(tenant, &draft).await?;
        Ok(Arc::new(parse_draft(draft, bound)?))
    }
}

/// What tells keys apart that are kept where everybody may look, and says nothing of the inputs in them.
pub(super) fn digest(key: &str) -> String {
    if key.is_empty() {
        return String::new();
    }
    BASE64.encode(Sha256::digest(key))
}

/// The one conflict that there is: the flow was disabled.
fn not_accepted(error: store::Error, flow: &str) -> Error {
    match error.kind() {
        store::ErrorKind::Conflict => {
            Error::service_disabled(format!("the flow '{flow}' is disabled; enable it to run it"))
        }
        _ => error.into(),
    }
}

fn refused(refusal: Refusal, flow: &str) -> Error {
    match refusal {
        Refusal::QueueFull => {
            Error::rate_limited("too many runs of this tenant wait to begin; try again when some have ended")
                .retryable()
        }
        Refusal::NoSlot => Error::rate_limited(format!(
            "as many runs of '{flow}' as its 'concurrency' allows are under way; try again when one has ended"
        )),
    }
}

/// What does not fit, as an error of the one who starts.
pub(super) fn invalid(failure: &Failure) -> Error {
    let problem = Problem::new("inputs", "Invalid", &failure.message);
    Error::invalid_input(format!("the inputs do not fit: {}", failure.message)).with_problems(vec![problem])
}

pub(super) fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal("a run cannot be written").caused_by(error))
}
