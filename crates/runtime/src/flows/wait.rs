//! Waiting for runs: of a caller until its time is up, of whoever asks until they have ended.

use super::Flows;
use super::agents::{self, RunTold};
use super::drive::Driven;
use super::given::{Given, Starter};
use super::journal::cancelled;
use super::start::StartedRun;
use async_trait::async_trait;
use flow::engine::{Ending, Fact, Failure, Record, Waiting};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::runs::{Run, RunData, State, Wait, WaitFilter};
use store::{ErrorKind, PageRequest};
use tool::secret::SecretValues;
use tool::{
    Context, Door, Ended, Error, NewWork, Outcome, Output, Reason, Result, RunAnswer, RunId, RunKind,
    RunQuestion, RunStanding, TenantId,
};

/// How often it is looked for what other processes do.
const LOOK: Duration = Duration::from_millis(500);
/// What happens in this process is looked at together with what happens right behind it.
const TOGETHER: Duration = Duration::from_millis(10);
/// The answer leaves before the time is up.
const MARGIN: Duration = Duration::from_millis(100);
/// The most waits that are shown of a run.
const MAX_WAITS: u32 = 1000;

impl Flows {
    /// What comes of a run until the time of `cx` is up or people are asked; then it goes on without its caller.
    pub(super) async fn follow(self: &Arc<Self>, cx: &Context, started: StartedRun) -> Result<Outcome> {
        let StartedRun { run, driven, .. } = started;
        let until = cx.deadline.checked_sub(MARGIN).unwrap_or_else(Instant::now);
        let waiting = Context { deadline: until, ..cx.clone() };
        let ended = waiting.within(self.ended_or_asking(&run, driven));
        let ended = tokio::select! {
            ended = ended => ended,
            () = self.stopping.cancelled() => Err(Ended::TimedOut),
        };
        match ended {
            Ok(Ok(Some(ending))) => outcome_of(&ending),
            Ok(Ok(None)) | Err(Ended::TimedOut) => Ok(Outcome::Started(run.id)),
            Ok(Err(error)) => Err(error),
            Err(ended @ Ended::Cancelled) => {
                // A REST client that goes away leaves its runs alone.
                if cx.door != Door::Rest || cx.nested.is_some() {
                    self.cancel(&cx.tenant, &run.id).await.ok();
                }
                Err(ended.error(""))
            }
        }
    }

    /// How the run ended; `None` once somebody has to decide something first.
    async fn ended_or_asking(
        &self,
        run: &Run,
        driven: Option<tokio::sync::oneshot::Receiver<Driven>>,
    ) -> Result<Option<Ending>> {
        if let Some(driven) = driven
            && let Ok(Driven::Ended(ending)) = driven.await
        {
            return Ok(Some(ending));
        }
        loop {
            let changed = self.store.runs().changed();
            match self.store.runs().get(&run.tenant, &run.id).await {
                Ok(now) if now.state.is_ended() => return self.ending(&now).await.map(Some),
                Ok(now) if self.is_asking(&now).await? => return Ok(None),
                // Whoever stops waiting takes the work back that is under way.
                Err(error) if !error.is_retryable() => return Err(error.into()),
                Ok(_) | Err(_) => {}
            }
            self.pause_until(changed).await;
        }
    }

    async fn pause_until(&self, changed: impl Future<Output = ()>) {
        tokio::select! {
            () = changed => tokio::time::sleep(TOGETHER).await,
            () = tokio::time::sleep(LOOK) => {}
        }
    }

    /// What nodes of the run wait for now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn waits(&self, tenant: &TenantId, run: &RunId) -> store::Result<Vec<Wait>> {
        let filter = WaitFilter { run: Some(run.clone()), kind: None };
        let page = PageRequest { page: 1, limit: MAX_WAITS };
        Ok(self.store.runs().waits(tenant, &filter, page).await?.items)
    }

    /// Nothing is kept with the wait itself, as its run is secret.
    #[must_use]
    pub fn is_sealed(wait: &Wait) -> bool {
        wait.data == "null"
    }

    /// What a wait is for. Of a secret run only its journal says.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn asked(&self, tenant: &TenantId, wait: &Wait) -> Result<Option<Waiting>> {
        if let Ok(asked) = serde_json::from_str(&wait.data) {
            return Ok(Some(asked));
        }
        let run = self.store.runs().get(tenant, &wait.run).await?;
        let records = self.journal(&run).await?;
        let found = records.into_iter().rev().find_map(|record| match record.fact {
            Fact::Waiting(asked) if record.path == wait.path => Some(asked),
            _ => None,
        });
        Ok(found)
    }

    /// Everything that has become true of a run, in that order; what stands before the first record that cannot be
    /// read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn journal(&self, run: &Run) -> Result<Vec<Record>> {
        Ok(match self.records(run).await? {
            Ok((records, _)) => records,
            Err(unreadable) => unreadable.before,
        })
    }

    /// Waits until the run has ended or is gone, `time` at most.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(&self, tenant: &TenantId, run: &RunId, time: Duration) -> store::Result<()> {
        tokio::time::timeout(time, self.until_ended(tenant, run)).await.unwrap_or(Ok(()))
    }

    async fn until_ended(&self, tenant: &TenantId, run: &RunId) -> store::Result<()> {
        loop {
            let changed = self.store.runs().changed();
            match self.store.runs().get(tenant, run).await {
                Ok(run) if run.state.is_ended() => return Ok(()),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                Err(error) if !error.is_retryable() => return Err(error),
                Ok(_) | Err(_) => {}
            }
            self.pause_until(changed).await;
        }
    }

    async fn ending(&self, run: &Run) -> Result<Ending> {
        let data = self.store.runs().data(&run.tenant, &run.id).await?;
        Ok(ending_of(run.state, &data))
    }

    /// What an ended run gave, or why it failed, as a tool says it to whoever asks later: without what the flow calls
    /// secret, as whoever asks need not have started it, and the answer is in records that know none of its secrets.
    async fn result(&self, run: &Run) -> Result<Result<Output>> {
        let data = self.store.runs().data(&run.tenant, &run.id).await?;
        let ending = masked(ending_of(run.state, &data), &self.secrets_of(run, &data).await);
        Ok(match run.agent() {
            Some(_) => {
                let told = data.output.as_deref().and_then(|told| serde_json::from_str(told).ok());
                let given: Given = serde_json::from_str(&data.inputs).unwrap_or_default();
                let conversation = given.work.and_then(|work| work.conversation).map(|talk| talk.id);
                agents::result_of(
                    &ending,
                    told,
                    &RunTold { run, conversation, code_of: self.options.code_of },
                )
            }
            None => result_of(&ending),
        })
    }

    /// Waits until the run has ended or is gone, or asks people something.
    async fn until_settled(&self, tenant: &TenantId, id: &RunId) -> Result<()> {
        match self.store.runs().get(tenant, id).await {
            Ok(run) => self.ended_or_asking(&run, None).await.map(drop),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Where a run stands that has not ended, for those who ask.
    pub(super) async fn standing(&self, tenant: &TenantId, run: &RunId) -> Result<Value> {
        let state = self.store.runs().get(tenant, run).await?.state;
        let waits = self.waits(tenant, run).await?;
        let waiting: Vec<_> =
            waits.iter().map(|wait| json!({ "path": wait.path, "kind": wait.kind })).collect();
        Ok(json!({ "run_id": run, "state": state, "waiting_for": waiting }))
    }
}

/// Where what runs can be called.
#[must_use]
pub fn address_of(run: &Run) -> String {
    match run.agent() {
        Some(_) => run.flow.clone(),
        None => RunKind::Flow.uri(&run.flow).to_string(),
    }
}

/// The name of its tool.
#[must_use]
pub fn tool_of(run: &Run) -> String {
    run.agent().map_or_else(|| run.flow.clone(), tool_of_agent)
}

/// The same for the runs of an agent.
#[must_use]
pub fn tool_of_agent(agent: &str) -> String {
    format!("{agent}__ask")
}

fn ending_of(state: State, data: &RunData) -> Ending {
    let read = |text: &Option<String>| text.as_deref().and_then(|text| serde_json::from_str(text).ok());
    match state {
        State::Succeeded => Ending::Succeeded { output: read(&data.output).unwrap_or_default() },
        State::Cancelled => Ending::Cancelled,
        _ => Ending::Failed {
            error: read(&data.error)
                .and_then(|error| serde_json::from_value(error).ok())
                .unwrap_or_else(|| Failure::new("INTERNAL", "the run failed")),
        },
    }
}

fn masked(ending: Ending, secrets: &SecretValues) -> Ending {
    let text = |text: String| match secrets.masked(Value::String(text)) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    match ending {
        Ending::Succeeded { output } => Ending::Succeeded { output: secrets.masked(output) },
        Ending::Failed { mut error } => {
            error.code = text(error.code);
            error.message = text(error.message);
            Ending::Failed { error }
        }
        Ending::Cancelled => Ending::Cancelled,
    }
}

fn outcome_of(ending: &Ending) -> Result<Outcome> {
    result_of(ending).map(Outcome::Done)
}

/// What a run gave, or why it failed, as a tool says it.
fn result_of(ending: &Ending) -> Result<Output> {
    match ending {
        Ending::Succeeded { output } => {
            let raw = RawValue::from_string(output.to_string())
                .map_err(|error| Error::internal("an output is no JSON").caused_by(error))?;
            Ok(Output::json(raw))
        }
        Ending::Failed { error } => Err(error_of(error)),
        Ending::Cancelled => Err(Error::cancelled(cancelled().message)),
    }
}

fn error_of(failure: &Failure) -> Error {
    let at = failure.node.as_ref().map(|node| format!(" (at node '{node}')")).unwrap_or_default();
    let message = format!("{}: {}{at}", failure.code, failure.message);
    let error = match failure.code.as_str() {
        "TIMEOUT" => Error::timeout(message),
        _ => Error::upstream(message).with_service_code(&failure.code),
    };
    let error = match failure.reason.as_deref().and_then(Reason::of_code) {
        Some(reason) => error.because(reason),
        None => error,
    };
    match failure.status {
        Some(status) => error.with_status(status),
        None => error,
    }
}

#[async_trait]
impl tool::Runs for Flows {
    async fn find(&self, tenant: &TenantId, id: &RunId) -> Result<Option<tool::Run>> {
        let run = match self.store.runs().get(tenant, id).await {
            Ok(run) => run,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let result = match run.state.is_ended() {
            true => Some(self.result(&run).await?),
            false => None,
        };
        let address = address_of(&run);
        let caller = Starter::read(&run.caller).identity();
        let changed_at_ms = run.ended_at.or(run.started_at).unwrap_or(run.created_at);
        let started_at_ms = run.created_at;
        let tool = tool_of(&run);
        Ok(Some(tool::Run { tool, address, caller, result, started_at_ms, changed_at_ms }))
    }

    async fn ended(&self, tenant: &TenantId, id: &RunId) -> Result<()> {
        Ok(self.until_ended(tenant, id).await?)
    }

    async fn cancel(&self, tenant: &TenantId, id: &RunId) -> Result<()> {
        match Flows::cancel(self, tenant, id).await {
            // It has ended already.
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
            result => Ok(result.map(drop)?),
        }
    }

    async fn questions(&self, cx: &Context, id: &RunId) -> Result<Vec<RunQuestion>> {
        self.questions_of(cx, id).await
    }

    async fn answer(&self, cx: &Context, id: &RunId, question: &str, answer: RunAnswer) -> Result<()> {
        self.answer_question(cx, id, question, answer).await
    }

    fn seal(&self, text: &str) -> Result<String> {
        Ok(self.states.seal(text)?)
    }

    fn open(&self, sealed: &str) -> Option<String> {
        self.states.open(sealed).map(|text| text.as_str().to_owned())
    }

    async fn accept(&self, cx: &Context, work: NewWork) -> Result<RunId> {
        let flows = self.me.upgrade().ok_or_else(|| Error::unavailable("the program is stopping"))?;
        flows.accept_work(cx, work).await
    }

    async fn settled(&self, tenant: &TenantId, id: &RunId) -> Result<()> {
        self.until_settled(tenant, id).await
    }

    async fn standing(&self, tenant: &TenantId, id: &RunId) -> Result<RunStanding> {
        let state = self.store.runs().get(tenant, id).await?.state.as_str();
        let given: Given =
            serde_json::from_str(&self.store.runs().data(tenant, id).await?.inputs).unwrap_or_default();
        let asked = self.approvals_of(tenant, id.clone(), 0).await?;
        let approvals = asked.iter().map(super::approvals::Approval::told).collect();
        let conversation = given.work.and_then(|work| work.conversation).map(|talk| talk.id);
        Ok(RunStanding { state, approvals, conversation })
    }
}
