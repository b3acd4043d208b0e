//! One run of an agent at work in this process: the agent is called with its journal, and reads from it what was done.

use super::super::Flows;
use super::super::calls::{failure_of, value_of};
use super::super::drive::Driven;
use super::super::given::{Given, Origin, Starter};
use super::super::journal::RunJournal;
use super::journal::AgentJournal;
use super::{Work, results, rights};
use flow::engine::{Ending, Fact, Failure, Journal as _, Lost, Parking, Record};
use gateway::{Gateway, Unrecorded};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::runs::Run;
use tokio_util::sync::CancellationToken;
use tool::journal::Journaled;
use tool::{
    Arguments, Caller, Context, Error, ErrorKind, Outcome, Reason, Request, Result, RunKind, Shared, Step,
    Target,
};

/// No agent may work longer at a time.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// What is known of a run without reading it.
pub(in super::super) struct KnownWork {
    pub(in super::super) given: Given,
    /// Of whoever waits for it.
    pub(in super::super) cx: Option<Context>,
}

/// How an attempt at the work came to its end.
enum Worked {
    Ended(Ended),
    /// It does not go on now.
    Parked,
}

/// What came of calling the agent once.
struct Attempt {
    worked: Worked,
    /// Of an attempt that is the end of the run.
    record: Option<Unrecorded>,
    /// Others had something to say meanwhile.
    has_heard: bool,
}

/// What is written of a run that has ended.
struct Ended {
    ending: Ending,
    /// All that is told of one that failed.
    told: Option<Value>,
}

impl Flows {
    /// Works on a run of an agent until it ends, waits, or is given back.
    pub(in super::super) async fn work_on_agent(
        self: &Arc<Self>,
        journal: RunJournal,
        records: Vec<Record>,
        known: Option<KnownWork>,
    ) -> Result<Driven> {
        let is_new = known.is_some();
        let KnownWork { given, cx } = match known {
            Some(known) => known,
            None => match self.given_of(&journal.run).await {
                Ok(given) => KnownWork { given, cx: None },
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    return self.give_up_work(&journal, Failure::new("INTERNAL", error.in_words())).await;
                }
            },
        };
        let work = given.work.clone().unwrap_or_default();
        if !is_new && is_interrupted(&work, &records) {
            return self.give_up_work(&journal, interrupted()).await;
        }
        let cx = match cx {
            Some(cx) => Context { deadline: Instant::now() + LONGEST, ..cx },
            None => match self.context_of_work(&journal.run).await? {
                Ok(cx) => cx,
                Err(denied) => {
                    return self.give_up_work(&journal, failure_of(&denied, self.options.code_of)).await;
                }
            },
        };
        let is_begun = !records.is_empty();
        let kept = Arc::new(AgentJournal::new(journal, records, cx.events.clone()));
        if !is_begun {
            let begun = Fact::Begun { inputs: Map::new(), vars: Map::new() };
            kept.append("", begun).await.map_err(lost)?;
        }
        self.until_given_back(&kept, &cx, &given, &work).await
    }

    /// Works until nothing new has come up while the run was about to be given back.
    async fn until_given_back(
        self: &Arc<Self>,
        kept: &Arc<AgentJournal>,
        cx: &Context,
        given: &Given,
        work: &Work,
    ) -> Result<Driven> {
        loop {
            let Attempt { worked, record, has_heard } = self.work_once(kept, cx, given, work).await?;
            match worked {
                _ if kept.is_cancelled() => {
                    let ended = Ended { ending: Ending::Cancelled, told: None };
                    return self.end_work(kept, ended, record).await;
                }
                Worked::Ended(ended) => {
                    let (talk, prompt) = (work.conversation.as_ref(), given.inputs.get("prompt"));
                    self.add_turn(kept, talk, prompt, &ended.ending).await?;
                    return self.end_work(kept, ended, record).await;
                }
                Worked::Parked if kept.is_stopping() => {
                    kept.journal.release().await.map_err(lost)?;
                    return Ok(Driven::Left);
                }
                // It may have come behind the agent's last look.
                Worked::Parked if has_heard => continue,
                Worked::Parked => {}
            }
            if kept
                .journal
                .park(&Parking { due_at: kept.due_at(), waiting: Vec::new() })
                .await
                .map_err(lost)?
            {
                return Ok(Driven::Left);
            }
            kept.hear(kept.journal.news().await.map_err(lost)?);
        }
    }

    /// Calls the agent once, and listens meanwhile to what others have to say.
    async fn work_once(
        self: &Arc<Self>,
        kept: &Arc<AgentJournal>,
        cx: &Context,
        given: &Given,
        work: &Work,
    ) -> Result<Attempt> {
        if kept.is_cancelled() {
            return Ok(Attempt { worked: Worked::Parked, record: None, has_heard: false });
        }
        let gateway = self.gateway().ok_or_else(|| Error::unavailable("the program is stopping"))?;
        let cancel = cx.cancel.child_token();
        let _gone = cancel.clone().drop_guard();
        let (history, left_out) = self.history(&kept.journal.run, work.conversation.as_ref()).await?;
        let journaled = Journaled {
            journal: kept.clone(),
            mark: work.mark.clone(),
            instance: work.instance.clone(),
            can_sample: work.can_sample,
            conversation: work.conversation.as_ref().map(|talk| talk.id.clone()),
            history,
            left_out,
            in_place: work.in_place.clone(),
        };
        let (cx, request) = asked(&kept.journal.run, cx, &cancel, given, journaled);
        // A task of its own: what is begun is audited, whoever goes away.
        let mut task = self.tasks.spawn(async move { Gateway::work(&gateway, &cx, request).await });
        let grace = self.options.grace();
        let mut has_heard = false;
        let ended = loop {
            tokio::select! {
                ended = &mut task => break ended,
                news = kept.journal.news() => {
                    kept.hear(news.map_err(lost)?);
                    has_heard = true;
                    if kept.is_cancelled() {
                        cancel.cancel();
                    }
                }
                () = self.stopping.cancelled(), if !kept.is_stopping() => {
                    kept.stop();
                    let cancel = cancel.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(grace).await;
                        cancel.cancel();
                    });
                }
            }
        };
        let (ended, record) = ended.map_err(|_| Error::internal("the call ended in a mistake of ours"))?;
        let worked = worked(ended, kept.is_stopping(), self.options.code_of)?;
        let record = matches!(worked, Worked::Ended(_)).then_some(record);
        Ok(Attempt { worked, record, has_heard })
    }

    /// The run ends, and leaves the record of what was asked.
    async fn end_work(
        &self,
        kept: &AgentJournal,
        ended: Ended,
        record: Option<Unrecorded>,
    ) -> Result<Driven> {
        let Ended { ending, told } = ended;
        kept.journal.finish(kept.now(), ending.clone(), told).await.map_err(lost)?;
        match (record, self.gateway()) {
            (Some(record), Some(gateway)) => gateway.record(record).await,
            (_, None) => {}
            (None, Some(_)) => self.record_unworked(&kept.journal.run, results::cancelled()).await,
        }
        Ok(Driven::Ended(ending))
    }

    /// The same for a run that is not worked on here any more.
    async fn give_up_work(&self, journal: &RunJournal, failure: Failure) -> Result<Driven> {
        let error = results::error_of(&failure);
        let driven = self.give_up(journal, failure).await?;
        self.record_unworked(&journal.run, error).await;
        Ok(driven)
    }

    /// Leaves the record of a run that ended while nobody worked on it.
    pub(in super::super) async fn record_unworked(&self, run: &Run, error: Error) {
        let Some(gateway) = self.gateway() else { return };
        let given = self.given_of(run).await.unwrap_or_default();
        let cx = context_as(run, Starter::read(&run.caller).acting());
        let (cx, request) = inside(run, &cx, &given);
        gateway.record_end(&cx, &request, error).await;
    }

    async fn given_of(&self, run: &Run) -> Result<Given> {
        let data = self.answered(self.store.runs().data(&run.tenant, &run.id)).await?;
        serde_json::from_str(&data.inputs)
            .map_err(|error| Error::internal("the inputs of a run cannot be read").caused_by(error))
    }

    /// The context of a run that nobody waits for: of whoever asked, with what they may do now. Inside a flow the flow's
    /// rights stand for theirs.
    async fn context_of_work(&self, run: &Run) -> Result<Result<Context>> {
        let caller = match &run.parent {
            Some(_) => Starter::read(&run.caller).acting(),
            None => match rights::now(self, run).await? {
                Ok(caller) => caller,
                Err(denied) => return Ok(Err(denied)),
            },
        };
        Ok(Ok(context_as(run, caller)))
    }
}

/// The context of a run that this caller asked for: under the name of the request that did.
fn context_as(run: &Run, caller: Caller) -> Context {
    let origin = Origin::read(&run.origin);
    let request = origin.request_id.as_deref().map_or_else(tool::new_id, Into::into);
    let cx = Context::for_request(request, run.tenant.clone(), Arc::new(caller), origin.by_door(), LONGEST);
    let (trace, around) = (origin.trace(), origin.around.map(Arc::new));
    Context { trace, around, is_by_flow: run.parent.is_some(), ..cx }
}

/// The call of the agent: inside the run, and with its journal. An instance knows no addresses; its door is the journal's.
fn asked(
    run: &Run,
    cx: &Context,
    cancel: &CancellationToken,
    given: &Given,
    journaled: Journaled,
) -> (Context, Request) {
    let (inner, request) = inside(run, cx, given);
    let (cancel, events) = (cancel.clone(), cx.events.clone());
    (Context { cancel, events, shared: Some(Shared::new(Arc::new(journaled))), ..inner }, request)
}

/// The call of the agent as a part of the run: it is the request that was made.
fn inside(run: &Run, cx: &Context, given: &Given) -> (Context, Request) {
    let is_through = given.work.as_ref().is_some_and(|work| work.is_through_call_tool);
    let via = is_through.then_some(gateway::CALL_TOOL);
    let secrets = given.inherited_secrets.iter().cloned().collect();
    let step = Step { run: Some(run.id.clone()), secrets, is_let_in: true, via, ..Step::default() };
    let cx = Context { request_id: cx.request_id.clone(), ..cx.nested(step) };
    let uri = RunKind::Agent.uri(run.agent().unwrap_or_default());
    (cx, Request::new(Target::Uri(uri), Arguments::from(given.inputs.clone())))
}

/// What the end of a call means for its run.
fn worked(
    ended: Result<Outcome>,
    is_stopping: bool,
    code_of: fn(ErrorKind) -> &'static str,
) -> Result<Worked> {
    let failed = |error: &Error, told| {
        Worked::Ended(Ended { ending: Ending::Failed { error: failure_of(error, code_of) }, told })
    };
    Ok(match ended {
        Ok(Outcome::Done(output)) => match output.failure() {
            Some(error) => failed(error, Some(value_of(&output))),
            None => Worked::Ended(Ended { ending: succeeded(value_of(&output)), told: None }),
        },
        Ok(Outcome::Started(_) | Outcome::NeedsInput(_)) => Worked::Parked,
        Err(error) if error.reason() == Some(Reason::Parked) => Worked::Parked,
        Err(error) if error.kind() == ErrorKind::Cancelled && is_stopping => Worked::Parked,
        Err(error) if error.kind() == ErrorKind::Cancelled => {
            Worked::Ended(Ended { ending: Ending::Cancelled, told: None })
        }
        Err(error) => failed(&error, None),
    })
}

/// What is written down can be read again.
fn succeeded(output: Value) -> Ending {
    match flow::engine::check_value(&output) {
        Ok(()) => Ending::Succeeded { output },
        Err(error) => Ending::Failed { error },
    }
}

/// Whoever waited for it has heard nothing, and nobody has said that it is to go on.
fn is_interrupted(work: &Work, records: &[Record]) -> bool {
    let goes_on = |record: &Record| matches!(record.fact, Fact::Waiting(_) | Fact::Retry | Fact::Pause);
    work.is_waited_for && !records.is_empty() && !records.iter().any(goes_on)
}

fn interrupted() -> Failure {
    Failure {
        reason: Reason::Interrupted.code().map(Into::into),
        ..Failure::new(
            "UNAVAILABLE",
            "the process that worked on the run has ended; try the run again, and it goes on",
        )
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the argument of map_err")]
fn lost(lost: Lost) -> Error {
    Error::unavailable(lost.to_string())
}
