//! The loop: a model call, what it asks for, and the next one.

use super::super::Agent;
use super::super::guardrails::{Guarding, Stage};
use super::super::model::{Answer, Model, ModelRequest, Stop, Turn};
use super::answer::{Answered, Ending};
use super::offers::{Offered, offered};
use super::progress::{self, Message, Writing};
use super::work::{AtWork, MODEL};
use super::{Prompt, frame};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use tool::sanitize::clean;
use tool::{CallTools, Content, Context, Ended, Error, Event, Reason, Result};

/// An answer of the model as it is written down.
#[derive(Serialize)]
struct Thought<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    /// Nobody may read it before it is checked.
    is_held_back: bool,
}

/// The most bytes of everything that was said in the run of one agent.
const MAX_TURNS_BYTES: usize = 16 * 1024 * 1024;

/// An agent that thinks.
pub(super) struct Thinking<'a> {
    pub(super) agent: &'a Agent,
    pub(super) cx: Context,
    pub(super) work: Arc<AtWork>,
    pub(super) tools: Option<Arc<dyn CallTools>>,
    pub(super) prompt: Prompt,
    pub(super) turns: Vec<Turn>,
    /// How many questions with their answers stand before the one that is asked now.
    older: usize,
    /// What the model has said last.
    pub(super) last_text: String,
    /// This agent's own model has answered.
    pub(super) has_thought: bool,
    /// How often it was asked.
    steps: u32,
    /// What it has said last is told once it is checked.
    is_unchecked: bool,
}

impl<'a> Thinking<'a> {
    /// One that begins with what was said until now.
    pub(super) fn new(
        agent: &'a Agent,
        cx: Context,
        work: Arc<AtWork>,
        prompt: Prompt,
        turns: Vec<Turn>,
    ) -> Self {
        Self {
            tools: agent.tools.upgrade(),
            older: turns.len() / 2,
            agent,
            cx,
            work,
            prompt,
            turns,
            last_text: String::new(),
            has_thought: false,
            steps: 0,
            is_unchecked: false,
        }
    }

    /// Where in the run the model call stands that it is at.
    pub(super) fn path(&self) -> String {
        format!("{}{}[{}]", self.work.path, self.agent.id, self.steps)
    }

    /// Thinks until there is an answer.
    ///
    /// # Errors
    /// Which limit was reached, or why the model does not answer.
    pub(super) async fn think(&mut self) -> Result<Ending> {
        let mut corrections = 0;
        loop {
            self.may_go_on()?;
            let now = self.now()?;
            self.cx = now.cx.clone();
            let mut offered = offered(self.agent, &self.cx, &self.work, self.tools.as_deref())?;
            now.narrow(&mut offered, &self.agent.id)?;
            let answer = self.answered(&offered).await?;
            self.last_text.clone_from(&answer.text);
            if answer.calls.is_empty() || answer.stop == Stop::Length {
                match self.check(&answer, &mut corrections).await? {
                    Some(answered) => {
                        self.tell_checked(&answered.text);
                        return Ok(Ending::Answered(answered));
                    }
                    None => continue,
                }
            }
            self.add(Turn::Model {
                text: answer.text,
                calls: answer.calls.clone(),
                thoughts: answer.thoughts,
            })?;
            if let Some(output) = self.act(&offered, answer.calls).await? {
                return Ok(Ending::HandedOver(output));
            }
        }
    }

    /// There is time, somebody waits, and no limit is reached.
    fn may_go_on(&self) -> Result<()> {
        if self.cx.cancel.is_cancelled() {
            return Err(Ended::Cancelled.error(""));
        }
        if self.cx.remaining().is_zero() {
            return Err(self.late());
        }
        self.work.run.spent().may_think(&self.work.run.limits)
    }

    /// What the model has answered at this step, or answers now. It is asked once for each step of a run.
    async fn answered(&mut self, offered: &Offered<'_>) -> Result<Answer> {
        self.steps += 1;
        let (path, work) = (self.path(), self.work.clone());
        let known = work.run.notes.known(&path);
        // A question to the caller's own model stays open until it is answered.
        let is_asked = known.called.is_some() && matches!(*self.agent.model, Model::Calling(_));
        let answer: Answer = match known.came.and_then(|value| serde_json::from_value(value).ok()) {
            Some(answer) => {
                let answer: Answer = answer;
                work.run.spent().recall(answer.usage, self.agent.price);
                answer
            }
            None => {
                let masks = work.run.masks.lock().unwrap_or_else(PoisonError::into_inner).listed();
                if !is_asked {
                    work.run.notes.called(&path, MODEL, masks).await?;
                }
                let answer = self.fitting_answer(offered).await?;
                self.has_thought = true;
                if let Err(useless) = answer.check() {
                    // It costs what it costs; nobody goes on from there.
                    work.run.spent().thought(answer.usage, self.agent.price);
                    return Err(useless);
                }
                let is_held_back = self.is_held_back();
                self.is_unchecked = is_held_back;
                work.run.notes.came(&path, &Thought { answer: &answer, is_held_back }).await?;
                work.run.spent().thought(answer.usage, self.agent.price);
                answer
            }
        };
        self.has_thought = true;
        Ok(answer)
    }

    /// What the model answers to as much of what was said before as it can read: where that is too long, the older half is
    /// left out.
    async fn fitting_answer(&mut self, offered: &Offered<'_>) -> Result<Answer> {
        loop {
            let answer = self.ask_model(offered).await;
            let is_too_long =
                answer.as_ref().is_err_and(|error| error.reason() == Some(Reason::ContextTooLong));
            if !is_too_long || self.older == 0 {
                return answer;
            }
            let gone = self.older.div_ceil(2);
            self.turns.drain(..gone * 2);
            self.older -= gone;
            self.work.run.spent().left_out += gone;
        }
    }

    async fn ask_model(&self, offered: &Offered<'_>) -> Result<Answer> {
        let (agent, cx, work) = (self.agent, &self.cx, &self.work);
        let system = agent.system(cx, work, offered, &self.prompt)?;
        let step = work.run.spent().model_calls + 1;
        if step == 1 {
            progress::begun(cx, &work.run, &agent.id);
        }
        let event = progress::event("model", &agent.id, step, "");
        progress::step(cx, &work.run, Message::Words("thinks".to_owned()), &event);
        let sent = self.masked(system, offered.offers());
        let asked = ModelRequest {
            system: &sent.system,
            turns: &sent.turns,
            tools: &sent.tools,
            schema: agent.output.as_ref().map(|output| &*output.written),
            parameters: &agent.parameters,
        };
        if let Model::Calling(sampling) = &*agent.model
            && let Some(answer) = self.sampled(sampling, &asked).await?
        {
            return Ok(answer);
        }
        let writing = Writing::new(cx, &work.run);
        let told = |text: &str| writing.add(text);
        let heard = (cx.events.is_heard() && !self.is_held_back()).then_some(&told as _);
        let answer = cx.within(agent.model.ask(cx, &asked, heard));
        let answer = progress::meanwhile(cx, &work.run, answer).await;
        answer.unwrap_or_else(|ended| Err(self.ended(ended))).map_err(|error| self.in_time(error))
    }

    /// What is written must be checked before anybody reads it.
    fn is_held_back(&self) -> bool {
        let masks = self.work.run.masks.lock().unwrap_or_else(PoisonError::into_inner);
        self.agent.output.is_some()
            || !masks.is_empty()
            || self.work.guards.iter().any(|guards| guards.has(Stage::Output))
    }

    /// What was held back until now may be read.
    fn tell_checked(&mut self, text: &str) {
        if std::mem::take(&mut self.is_unchecked) {
            self.cx.events.emit(Event::Content(Content::text(text)));
        }
    }

    fn ended(&self, ended: Ended) -> Error {
        match ended {
            Ended::Cancelled => ended.error(""),
            Ended::TimedOut => self.late(),
        }
    }

    pub(super) fn late(&self) -> Error {
        let message = format!("the run of agent '{}' has run out of time", self.agent.id);
        Error::timeout(message).because(Reason::TimeLimit).retryable()
    }

    /// A model call that ended with the run's time is no fault of the model.
    fn in_time(&self, error: Error) -> Error {
        match error.reason() {
            Some(Reason::AttemptTimedOut) => self.late(),
            _ => error,
        }
    }

    /// The answer as the caller gets it, or nothing when the model has to correct it.
    async fn check(&mut self, answer: &Answer, corrections: &mut u32) -> Result<Option<Answered>> {
        if answer.is_blank() {
            let message = "the model's answer cannot be used: it was cut off before it said anything";
            return Err(Error::upstream(message).because(Reason::BadModelAnswer));
        }
        let text = self.guard_output(&answer.text).await?;
        let Some(wanted) = &self.agent.output else {
            return Ok(Some(Answered { text, output: Value::Null, stop: answer.stop }));
        };
        let problem = match wanted.read(&text) {
            Ok(output) => return Ok(Some(Answered { text, output, stop: answer.stop })),
            Err(problem) => problem,
        };
        if *corrections >= wanted.retries {
            let message = format!("the model's answer does not fit the output_schema: {problem}");
            return Err(Error::upstream(message).because(Reason::OutputInvalid));
        }
        *corrections += 1;
        self.add(Turn::Model { text: answer.text.clone(), calls: Vec::new(), thoughts: Vec::new() })?;
        let asked = format!(
            "Your answer does not fit: {problem}. Answer again with JSON alone that fits the schema."
        );
        self.add(Turn::User(asked))?;
        Ok(None)
    }

    /// Adds to what was said.
    ///
    /// # Errors
    /// `ContextTooLong` when it is more than anybody could read: it is kept whole and sent with each model call.
    pub(super) fn add(&mut self, turn: Turn) -> Result<()> {
        self.turns.push(turn);
        if self.turns.iter().map(Turn::bytes).sum::<usize>() <= MAX_TURNS_BYTES {
            return Ok(());
        }
        let message = format!("the run has ended: what was said in it has more than {MAX_TURNS_BYTES} bytes");
        Err(Error::upstream(message).because(Reason::ContextTooLong))
    }

    /// A text of the model as the caller may read it.
    pub(super) async fn guard_output(&self, text: &str) -> Result<String> {
        let mut text = self.unmasked(text);
        for guards in &self.work.guards {
            let guarded = guards.apply(&self.guarding(), Stage::Output, text).await;
            text = guarded.map_err(|blocked| {
                let message = format!("the answer is withheld by a guardrail: {}", blocked.0);
                Error::upstream(message).because(Reason::Guardrail)
            })?;
        }
        Ok(self.unmasked(&text))
    }

    pub(super) fn unmasked(&self, text: &str) -> String {
        self.work.run.masks.lock().unwrap_or_else(PoisonError::into_inner).unmask(text)
    }

    pub(super) fn guarding(&self) -> Guarding<'_> {
        Guarding {
            cx: &self.cx,
            agent: &self.agent.id,
            tools: self.tools.as_deref(),
            masks: &self.work.run.masks,
        }
    }

    /// What templates know: never what was asked.
    pub(super) fn data(&self) -> Value {
        self.agent.data(&self.cx, &self.prompt)
    }
}

impl Agent {
    fn data(&self, cx: &Context, prompt: &Prompt) -> Value {
        let caller = &cx.caller;
        json!({
            "tenant": cx.tenant.as_str(),
            "agent": self.id,
            "now": chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            "caller": { "id": caller.identity.id(), "name": caller.name, "kind": caller.identity.kind() },
            "context": if prompt.context.is_null() { json!({}) } else { prompt.context.clone() },
        })
    }

    /// The instructions as the model gets them.
    fn system(&self, cx: &Context, work: &AtWork, offered: &Offered<'_>, prompt: &Prompt) -> Result<String> {
        let mut data = self.data(cx, prompt);
        data["tools"] = offered.tools.iter().map(|bound| Value::from(bound.name.as_str())).collect();
        let rendered = self.instructions.render(&data).map_err(|error| {
            let message = format!("the instructions of agent '{}' cannot be filled in: {error}", self.id);
            Error::invalid_input(message).of_parameter("context")
        })?;
        let rendered = clean(&rendered, &mut BTreeSet::new()).into_owned();
        Ok(format!("{rendered}\n\n{}", frame::explained(&work.run.mark)).trim_start().to_owned())
    }
}
