//! Handing over: the same run goes on with another agent.

use super::super::Agent;
use super::super::binding::History;
use super::super::guardrails::{Guarding, Stage};
use super::super::model::{ToolResult, Turn};
use super::frame::framed;
use super::offers::{Lookup, Offered};
use super::progress::{self, Message};
use super::spent::HandoffDone;
use super::think::Thinking;
use super::work::{AtWork, Handover};
use serde_json::{Map, Value, json};
use tool::journal::parked;
use tool::{Arguments, Context, Error, ErrorKind, Outcome, Output, Reason, Request, Result, Shared};

/// What handoffs are called in a journal.
const HANDOFF: &str = "handoff";
/// The most of a reason or message.
const MAX_CHARACTERS: usize = 4_000;

/// What became of a handoff.
pub(super) enum Handed {
    /// The other agent has answered.
    Over(Output),
    /// It cannot be, and the model is told why.
    Told(String),
}

impl Thinking<'_> {
    /// Lets another agent go on, and gives what that one answers. What was called beside the handoff goes along.
    ///
    /// # Errors
    /// When the limit of handoffs is reached, or the other agent fails before it has begun.
    pub(super) async fn hand_over(
        &self,
        offered: &Offered<'_>,
        at: usize,
        (name, arguments): (&str, &Map<String, Value>),
        beside: &[ToolResult],
    ) -> Result<Handed> {
        let found = offered.handoffs.iter().find(|(known, _)| known == name);
        let (Some((_, handoff)), Some(tools)) = (found, &self.tools) else {
            return Ok(Handed::Told("there is no such agent to hand over to".to_owned()));
        };
        let text = |name: &str| {
            let text = arguments.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            text.map(|text| self.unmasked(&text.chars().take(MAX_CHARACTERS).collect::<String>()))
        };
        let Some(reason) = text("reason") else {
            return Ok(Handed::Told("a handoff needs a 'reason'".to_owned()));
        };
        let to = handoff.to.service().to_owned();
        self.count(&to, &reason).await?;
        self.note_handoff(&to).await?;
        let handover = Handover {
            from: self.agent.id.clone(),
            to: to.clone(),
            message: text("message"),
            reason,
            transcript: (handoff.history == History::Full).then(|| self.transcript(beside)),
        };
        let event = progress::event("handoff", &self.agent.id, self.work.run.spent().model_calls, &to);
        progress::step(&self.cx, &self.work.run, Message::Words(format!("hands over to {to}")), &event);
        let cx = Context {
            instance: self.cx.instance.clone(),
            events: self.cx.events.clone(),
            shared: Some(Shared::new(self.work.handed_over(handover, &self.path()))),
            ..self.cx.nested(self.step(at))
        };
        let target = Lookup::new(cx.clone(), &**tools).find(&handoff.to);
        let Some((_, target)) = target else {
            return Ok(Handed::Told(format!("the agent '{to}' is not there for this caller")));
        };
        let request = Request::new(target, Arguments::from(self.asked(handoff.history)));
        match Box::pin(tools.call(&cx, request)).await.map_err(not_taken)? {
            Outcome::Done(output) => Ok(Handed::Over(output)),
            Outcome::Started(run) if run == self.work.run.id => Err(parked()),
            Outcome::NeedsInput(_) | Outcome::Started(_) => {
                Err(Error::internal("an agent that was handed over to has not answered"))
            }
        }
    }

    /// Writes down once that the run is handed over, for those who follow it.
    async fn note_handoff(&self, to: &str) -> Result<()> {
        let (path, notes) = (format!("{}.handoff", self.path()), &self.work.run.notes);
        if notes.known(&path).came.is_some() {
            return Ok(());
        }
        let arguments = Map::from_iter([("to".to_owned(), Value::from(to))]);
        notes.called(&path, HANDOFF, arguments).await?;
        notes.came(&path, &json!({ "is_error": false })).await
    }

    /// Counts the handoff. Its reason is told to the caller, as an answer is.
    async fn count(&self, to: &str, reason: &str) -> Result<()> {
        let reason = self.guard_output(reason).await.unwrap_or_default();
        let mut spent = self.work.run.spent();
        let limit = self.work.run.limits.handoffs;
        if spent.handoffs.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
            let message = format!("the run has ended: it may be handed over {limit} times");
            return Err(Error::upstream(message).because(Reason::HandoffLimit));
        }
        let (from, to) = (self.agent.id.clone(), to.to_owned());
        spent.handoffs.push(HandoffDone { from, to, reason });
        Ok(())
    }

    /// What the next agent is asked: its own rules say what its model sees of it.
    fn asked(&self, history: History) -> Map<String, Value> {
        let prompt = match history {
            History::Full | History::Prompt => self.unmasked(&self.prompt.text),
            History::None => "Go on as the handoff says.".to_owned(),
        };
        let mut asked = Map::from_iter([("prompt".to_owned(), Value::from(prompt))]);
        if history != History::None && !self.prompt.context.is_null() {
            asked.insert("context".to_owned(), self.unmasked_within(&self.prompt.context));
        }
        asked
    }

    /// What was said, line by line, each with where it is to be looked at.
    fn transcript(&self, beside: &[ToolResult]) -> Vec<(Stage, String)> {
        let mut lines = Vec::new();
        let beside = Turn::Results(beside.to_vec());
        let mut add = |stage, line: String| lines.push((stage, self.unmasked(&line)));
        for turn in self.turns.iter().chain([&beside]) {
            match turn {
                Turn::User(said) => add(Stage::Input, format!("user: {said}\n")),
                Turn::Model { text, calls, .. } => {
                    add(Stage::Input, format!("assistant: {text}\n"));
                    for call in calls {
                        add(Stage::Input, format!("assistant calls {} {}\n", call.name, call.arguments));
                    }
                }
                Turn::Results(results) => {
                    for result in results {
                        add(Stage::ToolOutput, format!("{} answers: {}\n", result.name, result.text));
                    }
                }
            }
        }
        lines
    }
}

/// What the rules of the next agent do not let in ends the run: something was sent before.
fn not_taken(error: Error) -> Error {
    match (error.kind(), error.reason()) {
        (ErrorKind::InvalidInput, Some(reason @ Reason::Guardrail)) => {
            Error::upstream(error.message()).because(reason)
        }
        _ => error,
    }
}

/// What the next agent reads of the handoff, as far as the rules let it.
pub(super) async fn told(agent: &Agent, cx: &Context, work: &AtWork, handover: &Handover) -> String {
    let tools = agent.tools.upgrade();
    let guarding = Guarding { cx, agent: &agent.id, tools: tools.as_deref(), masks: &work.run.masks };
    let Handover { from, reason, message, transcript, .. } = handover;
    let reason = guarded(&guarding, work, Stage::Input, reason.clone()).await;
    let mut text = format!("\n\nThe agent '{from}' has handed this over to you. Its reason:\n");
    text.push_str(&framed(&work.run.mark, from, &reason));
    if let Some(message) = message {
        let message = guarded(&guarding, work, Stage::Input, message.clone()).await;
        text.push_str(&format!("\nIts message:\n{}", framed(&work.run.mark, from, &message)));
    }
    if let Some(lines) = transcript {
        let mut said = String::new();
        for (stage, line) in lines {
            said.push_str(&guarded(&guarding, work, *stage, line.clone()).await);
        }
        text.push_str(&format!("\nWhat was said before:\n{}", framed(&work.run.mark, from, &said)));
    }
    text
}

async fn guarded(guarding: &Guarding<'_>, work: &AtWork, stage: Stage, text: String) -> String {
    let mut text = text;
    for guards in &work.guards {
        match guards.apply(guarding, stage, text).await {
            Ok(guarded) => text = guarded,
            Err(blocked) => return format!("[withheld by a guardrail: {}]\n", blocked.0),
        }
    }
    text
}
