//! One run: think, act, think again, until there is an answer or a limit is reached.

mod act;
mod answer;
mod frame;
mod handoff;
mod metrics;
mod offers;
mod plan;
mod progress;
mod search;
mod spans;
mod spent;
mod think;
mod work;

use super::Agent;
use super::guardrails::{Guarding, Stage};
use answer::Ending;
use frame::framed;
use serde_json::{Map, Value};
use spans::Invocation;
use std::sync::Arc;
use think::Thinking;
use tool::{Context, Error, Output, Problem, Result};
use work::AtWork;

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
/// Why nothing was sent, why the first model call failed, or that the caller took the call back.
pub(super) async fn ask(agent: &Agent, cx: &Context, arguments: &Map<String, Value>) -> Result<Output> {
    let prompt = Prompt::read(arguments, agent.limits.prompt_bytes)?;
    let (work, cx) = AtWork::begin(agent, cx)?;
    let (invocation, cx) = Invocation::begin(agent, &work, cx);
    let result = answer_within(agent, cx, work.clone(), prompt).await;
    invocation.end(&work, &result);
    result
}

async fn answer_within(agent: &Agent, cx: Context, work: Arc<AtWork>, prompt: Prompt) -> Result<Output> {
    let prompt = guard_input(agent, &cx, &work, prompt).await?;
    let mut thinking = Thinking::new(agent, cx, work, prompt);
    let ended = thinking.think().await;
    match ended {
        Ok(Ending::HandedOver(output)) => Ok(output),
        Ok(Ending::Answered(answered)) => answer::output(&thinking, &answered),
        Err(error) => answer::failure(&thinking, error),
    }
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
            Error::invalid_input(message).of_parameter(path).with_problems(vec![problem])
        };
        let guarded = guardrails.apply(&guarding, Stage::Input, text).await;
        text = guarded.map_err(|blocked| refused(blocked, "prompt"))?;
        let guarded = guardrails.apply_within(&guarding, Stage::Input, context).await;
        context = guarded.map_err(|blocked| refused(blocked, "context"))?;
    }
    Ok(Prompt { text, context })
}

/// What the model reads first.
fn first_turn(work: &AtWork, prompt: &Prompt) -> String {
    if prompt.context.is_null() {
        return prompt.text.clone();
    }
    let context = framed(&work.run.mark, "context", &prompt.context.to_string());
    format!("{}\n\n{context}", prompt.text)
}
