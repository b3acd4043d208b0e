//! One run: think, act, think again, until there is an answer or a limit is reached.

mod act;
mod allow;
mod answer;
mod as_read;
mod frame;
mod handoff;
mod history;
mod masked;
mod metrics;
mod notes;
mod offers;
mod plan;
mod preset;
mod progress;
mod rights;
mod sampled;
mod search;
mod spans;
mod spent;
mod think;
mod work;

use super::Agent;
use super::guardrails::{Guarding, Stage};
use super::model::{Model, Turn};
use answer::Ending;
use frame::framed;
use notes::Notes;
use serde_json::{Map, Value};
use spans::Invocation;
use std::sync::Arc;
use think::Thinking;
use tool::{Context, Error, NewWork, Outcome, Output, Problem, Reason, Result};
use work::AtWork;
pub(super) use work::new_mark;

/// How deep what is asked may be: a run is kept as a value, and waits for people as one.
const MAX_LEVELS: usize = 64;

/// What the agent was asked.
struct Prompt {
    text: String,
    context: Value,
}

impl Prompt {
    fn read(arguments: &Map<String, Value>, limit: usize) -> Result<Self> {
        let text = arguments.get("prompt").and_then(Value::as_str).unwrap_or_default();
        if text.trim().is_empty() {
            let error = Error::invalid_input("parameter 'prompt' is empty; say what is asked");
            return Err(error.of_parameter("prompt"));
        }
        let context = arguments.get("context").cloned().unwrap_or_default();
        let levels = plan::levels(arguments);
        if levels > MAX_LEVELS {
            let message = format!(
                "the context has more than {} levels in one another; send it flatter",
                MAX_LEVELS - 1
            );
            return Err(Error::invalid_input(message).of_parameter("context"));
        }
        let context_bytes = if context.is_null() { 0 } else { context.to_string().len() };
        if text.len() + context_bytes > limit {
            let message =
                format!("'prompt' and 'context' have more than the {limit} bytes that the agent takes");
            return Err(Error::invalid_input(message).of_parameter("prompt"));
        }
        Ok(Self { text: text.to_owned(), context })
    }
}

/// Asks the agent and gives its answer, or what became of the run.
///
/// # Errors
/// Why nothing was sent, or that the caller took the call back.
pub(super) async fn ask(agent: &Agent, cx: &Context, arguments: &Map<String, Value>) -> Result<Outcome> {
    let prompt = Prompt::read(arguments, agent.limits.prompt_bytes)?;
    let (work, cx) = AtWork::begin(agent, cx)?;
    let (invocation, cx) = Invocation::begin(agent, &work, cx);
    let reply = answer_within(agent, cx, work.clone(), prompt, arguments).await;
    invocation.end(&work, &reply);
    reply.map(|reply| match reply {
        Reply::Ended(output) => Outcome::Done(output),
        Reply::GoesOn(outcome) => outcome,
    })
}

/// What a call is answered with.
enum Reply {
    /// The run has ended here.
    Ended(Output),
    /// It goes on by itself from now on, whatever is told of it now.
    GoesOn(Outcome),
}

async fn answer_within(
    agent: &Agent,
    cx: Context,
    work: Arc<AtWork>,
    prompt: Prompt,
    arguments: &Map<String, Value>,
) -> Result<Reply> {
    let prompt = guard_input(agent, &cx, &work, prompt).await?;
    let mut turns = history::told(agent, &cx, &work).await;
    turns.push(Turn::User(first_turn(agent, &cx, &work, &prompt).await));
    let mut thinking = Thinking::new(agent, cx, work, prompt, turns);
    let ended = thinking.think().await;
    match ended {
        Ok(Ending::HandedOver(output)) => Ok(Reply::Ended(output)),
        Ok(Ending::Answered(answered)) => answer::output(&thinking, &answered).map(Reply::Ended),
        Err(error) if error.reason() == Some(Reason::Parked) => {
            wait(&thinking, arguments).await.map(Reply::GoesOn)
        }
        Err(error) => answer::failure(&thinking, error).await.map(Reply::Ended),
    }
}

/// The run goes on later. One that only its caller knew of until now becomes one that waits by itself.
async fn wait(thinking: &Thinking<'_>, arguments: &Map<String, Value>) -> Result<Outcome> {
    let (work, cx) = (&thinking.work, &thinking.cx);
    if work.is_inside || !matches!(work.run.notes, Notes::InMemory(_)) {
        return Ok(Outcome::Started(work.run.id.clone()));
    }
    let new = NewWork {
        run: work.run.id.clone(),
        agent: thinking.agent.id.clone(),
        arguments: arguments.clone(),
        mark: work.run.mark.clone(),
        notes: work.run.notes.taken(),
        conversation: None,
        is_waited_for: false,
        // The work of a flow is kept from its beginning.
        in_place: None,
    };
    super::background::accept(thinking.agent, cx, arguments, new).await
}

/// Refuses what would be refused before anything is sent.
///
/// # Errors
/// Why nothing would be sent.
pub(super) async fn check(
    agent: &Agent,
    cx: &Context,
    arguments: &Map<String, Value>,
    is_async: bool,
) -> Result<()> {
    let prompt = Prompt::read(arguments, agent.limits.prompt_bytes)?;
    let (work, cx) = AtWork::begin(agent, cx)?;
    if work.is_inside {
        return Err(Error::unsupported("an agent inside another one answers while it is waited for"));
    }
    guard_input(agent, &cx, &work, prompt).await?;
    let tools = agent.tools.upgrade();
    let offered = offers::offered(agent, &cx, &work, tools.as_deref())?;
    if let Model::Calling(sampling) = &*agent.model {
        let client = sampling.client(&cx, !offered.offers().is_empty())?;
        if is_async && !client.samples_as_outcome() {
            let message = "the model of the calling program answers while it waits; leave 'async' out, or give the agent \
                           another provider";
            return Err(Error::unsupported(message));
        }
    }
    Ok(())
}

/// The prompt as it may go on. Nothing was sent yet, so what is blocked is a refusal.
async fn guard_input(agent: &Agent, cx: &Context, work: &Arc<AtWork>, prompt: Prompt) -> Result<Prompt> {
    let tools = agent.tools.upgrade();
    let guarding = Guarding { cx, agent: &agent.id, tools: tools.as_deref(), masks: &work.run.masks };
    let Prompt { mut text, mut context } = prompt;
    for guardrails in &work.guards {
        let refused = |blocked: super::guardrails::Blocked, path: &str| {
            let message = format!("'{path}' is refused by a guardrail: {}", blocked.0);
            let problem = Problem::new(path, "Guardrail", message.clone());
            let error = Error::invalid_input(message).because(Reason::Guardrail);
            error.of_parameter(path).with_problems(vec![problem])
        };
        let guarded = guardrails.apply(&guarding, Stage::Input, text).await;
        text = guarded.map_err(|blocked| refused(blocked, "prompt"))?;
        let guarded = guardrails.apply_within(&guarding, Stage::Input, context).await;
        context = guarded.map_err(|blocked| refused(blocked, "context"))?;
    }
    Ok(Prompt { text, context })
}

/// What the model reads first.
async fn first_turn(agent: &Agent, cx: &Context, work: &AtWork, prompt: &Prompt) -> String {
    let mut text = prompt.text.clone();
    if !prompt.context.is_null() {
        let context = framed(&work.run.mark, "context", &prompt.context.to_string());
        text.push_str(&format!("\n\n{context}"));
    }
    if let Some(handover) = &work.handover {
        text.push_str(&handoff::told(agent, cx, work, handover).await);
    }
    text
}
