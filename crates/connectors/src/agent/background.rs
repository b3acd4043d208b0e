//! Runs that go on by themselves: how one is begun, and how it is waited for.

use super::model::written;
use super::{Agent, asking, in_place, run};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::journal::Journaled;
use tool::{
    Context, Ended, Error, ErrorKind, Extras, InConversation, NewWork, Outcome, Output, Result, RunId,
    RunKind, Runs, Scope,
};

/// The answer leaves before the time is up.
const MARGIN: Duration = Duration::from_millis(100);

/// The context is that of a run which has a journal.
pub(super) fn is_kept(cx: &Context) -> bool {
    cx.shared.as_ref().is_some_and(|shared| shared.get::<Journaled>().is_some())
}

/// Begins a run that goes on by itself, or is a part of a conversation, and answers with its id or with what comes of it.
///
/// # Errors
/// Why it is not accepted, or what came of it.
pub(super) async fn start(
    agent: &Agent,
    cx: &Context,
    arguments: &Map<String, Value>,
    is_async: bool,
) -> Result<Outcome> {
    let runs = port(agent)?;
    run::check(agent, cx, arguments, is_async).await?;
    let is_of_flow = is_of_flow(cx);
    let new = NewWork {
        run: RunId::generate(),
        agent: agent.id.clone(),
        arguments: arguments.clone(),
        mark: run::new_mark(),
        notes: Vec::new(),
        conversation: conversation(agent, arguments),
        is_waited_for: !is_async && !is_of_flow,
        in_place: in_place::given(cx),
    };
    if !is_async {
        return accept(agent, cx, arguments, new).await;
    }
    let run = runs.accept(cx, new).await?;
    cx.leave_record_to_run();
    match cx.patience {
        Some(patience) => settled(agent, &cx.for_at_most(patience), arguments, &run).await,
        None => told(agent, cx, &**runs, &run).await,
    }
}

fn conversation(agent: &Agent, arguments: &Map<String, Value>) -> Option<InConversation> {
    let wanted = arguments.get("conversation").and_then(Value::as_str)?;
    Some(InConversation {
        id: (wanted != "new").then(|| wanted.to_owned()),
        time: agent.conversations.time(),
        turns: agent.conversations.max_turns,
    })
}

/// A node of a flow waits for the run itself.
pub(super) fn is_of_flow(cx: &Context) -> bool {
    cx.nested.as_ref().is_some_and(|nested| nested.step.is_journaled)
}

/// Has the run kept, and gives what comes of it while there is time.
///
/// # Errors
/// Why it is not kept, or what came of it.
pub(super) async fn accept(
    agent: &Agent,
    cx: &Context,
    arguments: &Map<String, Value>,
    new: NewWork,
) -> Result<Outcome> {
    let runs = port(agent)?;
    let run = runs.accept(cx, new).await?;
    if is_of_flow(cx) {
        return Ok(Outcome::Started(run));
    }
    cx.leave_record_to_run();
    let settled = settled(agent, cx, arguments, &run).await;
    if cx.cancel.is_cancelled() && settled.is_err() {
        // Where nobody has begun it yet, nobody would hear that its caller has gone.
        runs.cancel(&cx.tenant, &run).await.ok();
    }
    match settled {
        Err(error) if error.kind() == ErrorKind::Unavailable => out_of_sight(agent, &run, error),
        settled => settled,
    }
}

/// What is told of a run that nobody can look at now, to a caller who does not know its id yet.
fn out_of_sight(agent: &Agent, run: &RunId, error: Error) -> Result<Outcome> {
    let error = error.of_service_alone(&agent.id);
    let why = error.in_words();
    let text =
        format!("What has become of the run {run} is not known: {why}. Ask for it with the argument 'run'.");
    let told = json!({
        "answer": null, "output": null, "agent": agent.id, "run": run, "state": "running", "conversation": null,
        "stop": null, "handoffs": [], "warnings": [], "usage": null,
        "error": { "code": "UNAVAILABLE", "reason": null, "service": agent.id, "message": error.message() },
    });
    let result =
        json!({ "content": [{ "type": "text", "text": text }], "structuredContent": told, "isError": true });
    let output = Output::relayed(written(&result)?)?;
    Ok(Outcome::Done(output.failed_because(error)))
}

/// Goes on with a run whose questions the calling program answers.
///
/// # Errors
/// `InvalidInput` for what was not asked of it so, and what came of the run.
pub(super) async fn go_on(
    agent: &Agent,
    cx: &Context,
    arguments: &Map<String, Value>,
    state: &RawValue,
    extras: &Extras,
) -> Result<Outcome> {
    let runs = port(agent)?;
    let run = asking::answered(agent, cx, &**runs, arguments, state, extras).await?;
    if runs.find(&cx.tenant, &run).await?.is_some_and(|found| found.result.is_none()) {
        cx.leave_record_to_run();
    }
    settled(agent, cx, arguments, &run).await
}

/// Waits for a run that the caller knows by its id.
///
/// # Errors
/// `NotFound` where there is none for this caller, and what came of it.
pub(super) async fn wait_for(agent: &Agent, cx: &Context, arguments: &Map<String, Value>) -> Result<Outcome> {
    if let Some(other) = arguments.keys().find(|name| *name != "run") {
        let message = format!("'run' waits for a run that has begun; leave '{other}' out");
        return Err(Error::invalid_input(message).of_parameter(other));
    }
    let given = arguments.get("run").and_then(Value::as_str).unwrap_or_default();
    let missing =
        || Error::not_found(format!("the agent '{}' has no run '{given}'", agent.id)).of_parameter("run");
    let run: RunId = given.parse().map_err(|_| missing())?;
    let found = port(agent)?.find(&cx.tenant, &run).await?.ok_or_else(missing)?;
    let is_own = found.caller == cx.caller.identity || cx.caller.may(Scope::Manage);
    if !is_own || found.address != RunKind::Agent.uri(&agent.id).to_string() {
        return Err(missing());
    }
    settled(agent, cx, arguments, &run).await
}

/// What has come of a run when it has ended, asks somebody, or the time is up.
async fn settled(
    agent: &Agent,
    cx: &Context,
    arguments: &Map<String, Value>,
    run: &RunId,
) -> Result<Outcome> {
    let runs = port(agent)?;
    let until = cx.deadline.checked_sub(MARGIN).unwrap_or_else(Instant::now);
    let waiting = Context { deadline: until, ..cx.clone() };
    match waiting.within(runs.settled(&cx.tenant, run)).await {
        Ok(settled) => settled?,
        Err(ended @ Ended::Cancelled) => return Err(ended.error("")),
        Err(Ended::TimedOut) => {}
    }
    let found = runs.find(&cx.tenant, run).await?;
    if let Some(result) = found.and_then(|found| found.result) {
        return result.map(Outcome::Done);
    }
    match asking::questions(agent, cx, &**runs, run, arguments).await? {
        Some(questions) => Ok(Outcome::NeedsInput(questions)),
        None => told(agent, cx, &**runs, run).await,
    }
}

fn port(agent: &Agent) -> Result<&Arc<dyn Runs>> {
    let message = "runs that go on by themselves need a server that keeps them";
    agent.runs.as_ref().ok_or_else(|| Error::unsupported(message))
}

/// What is told of a run that goes on.
async fn told(agent: &Agent, cx: &Context, runs: &dyn Runs, run: &RunId) -> Result<Outcome> {
    let standing = runs.standing(&cx.tenant, run).await?;
    let raw = RawValue::from_string(standing.to_result(&agent.id, run))
        .map_err(|error| Error::internal("an agent's answer cannot be written").caused_by(error))?;
    Output::relayed(raw).map(Outcome::Done)
}
