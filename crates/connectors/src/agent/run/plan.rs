//! What becomes of each call that the model asks for: made, or told why not.

use super::super::approval::is_repeatable;
use super::super::guardrails::Stage;
use super::super::model::ToolCall;
use super::act::CallResult;
use super::offers::{Bound, Offered};
use super::preset::{self, Unfit};
use super::search::{self, Meant};
use super::spent::Repeat;
use super::think::Thinking;
use crate::shared::digits;
use ranking::CALL_TOOL;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tool::call::may_lose_digits;
use tool::{Arguments, Error, Outcome, Reason, Result};

/// What becomes of a call.
pub(super) enum Plan<'o, 'a> {
    /// It is made, with these arguments.
    Make(&'o Bound<'a>, Chosen),
    /// It was about to be made when the run was interrupted, and may be made again.
    Again(&'o Bound<'a>, Chosen),
    /// It was made before the run was taken up again, and this came of it.
    Known(CallResult),
    /// The model is told why not.
    Tell(String),
    /// The model has looked for tools, and this is the answer.
    Answer(String),
    /// Another agent goes on.
    HandOver(&'o str, Map<String, Value>),
}

/// Arguments as they are sent.
pub(super) struct Chosen {
    /// What the model knows the call by.
    pub(super) call_id: String,
    /// For those who look at them: numbers that would be rounded are texts of their digits.
    pub(super) fields: Map<String, Value>,
    /// What is sent: as the model wrote it, where nothing had to be changed.
    written: Option<Box<RawValue>>,
    /// The tool through which it is called, where it is.
    pub(super) via: Option<&'static str>,
}

impl Chosen {
    /// Exactly these.
    pub(super) fn of(call_id: String, fields: Map<String, Value>) -> Self {
        Self { call_id, fields, written: None, via: None }
    }

    /// Exactly these; as the model wrote them where they are the same.
    pub(super) fn exactly(self, fields: Map<String, Value>) -> Self {
        if self.fields == fields { self } else { Self { fields, written: None, ..self } }
    }

    /// The same through that tool.
    fn through(self, via: Option<&'static str>) -> Self {
        Self { via, ..self }
    }

    pub(super) fn arguments(&self) -> Result<Arguments> {
        match &self.written {
            Some(written) => Arguments::from_raw(written.clone()),
            None => Ok(self.fields.clone().into()),
        }
    }
}

impl Thinking<'_> {
    /// What becomes of a call.
    ///
    /// # Errors
    /// When the call ends the run.
    pub(super) async fn plan<'o, 'a>(
        &self,
        offered: &'o Offered<'a>,
        at: usize,
        call: &ToolCall,
    ) -> Result<Plan<'o, 'a>> {
        if let Some(plan) = self.known(offered, at, call).await {
            return Ok(plan);
        }
        let handoff = offered.handoffs.iter().find(|(name, _)| *name == call.name);
        if let Some((name, _)) = handoff {
            return Ok(match read(call) {
                Ok(given) => Plan::HandOver(name, given.as_map().cloned().unwrap_or_default()),
                Err(why) => Plan::Tell(why),
            });
        }
        match offered.meant(call) {
            Some(Meant::Call(meant)) => Ok(match self.plan_call(offered, at, &meant).await? {
                Plan::Make(bound, chosen) => Plan::Make(bound, chosen.through(Some(CALL_TOOL))),
                other => other,
            }),
            Some(Meant::Wrong(why)) => {
                self.refuse(call, Error::invalid_input(why.clone()), at).await;
                Ok(Plan::Tell(why))
            }
            Some(Meant::Find(arguments)) => {
                let repeated = search::repeated_as(call);
                let repeat = self.work.run.spent().repeated(&call.name, &repeated, &self.work.run.limits)?;
                Ok(match repeat {
                    Repeat::Fine => self.find(offered, at, arguments).await,
                    Repeat::Told => {
                        Plan::Tell("you have looked for this before; use what was found".to_owned())
                    }
                })
            }
            None => self.plan_call(offered, at, call).await,
        }
    }

    /// Looks for tools among those that are offered: a call like any other, with limits and a record.
    async fn find<'o, 'a>(&self, offered: &'o Offered<'a>, at: usize, arguments: Arguments) -> Plan<'o, 'a> {
        let Some(tools) = &self.tools else { return Plan::Tell("there are no tools".to_owned()) };
        let cx = super::offers::acting(self.agent, &self.cx, self.step(at));
        let toolbox = offered.toolbox();
        match tools.find(&cx, arguments, &|arguments: &Arguments| toolbox.find(arguments)).await {
            Ok(Outcome::Done(output)) => Plan::Answer(super::act::shown(&output)),
            Ok(_) => Plan::Tell("nothing was found".to_owned()),
            Err(error) => Plan::Tell(error.in_words()),
        }
    }

    async fn plan_call<'o, 'a>(
        &self,
        offered: &'o Offered<'a>,
        at: usize,
        call: &ToolCall,
    ) -> Result<Plan<'o, 'a>> {
        let Some(bound) = offered.tools.iter().find(|bound| bound.name == call.name) else {
            let shown: String = call.name.chars().take(100).collect();
            let why = format!("there is no tool '{shown}' for you; {}", offered.instead_of(&shown));
            self.refuse(call, Error::not_found(format!("the agent has no tool '{shown}'")), at).await;
            return Ok(Plan::Tell(why));
        };
        let chosen = match self.choose(bound, call).await {
            Ok(chosen) => chosen,
            Err(Unfit { told, noted }) => {
                if let Some(noted) = &noted {
                    tracing::warn!(agent = self.agent.id, "{noted}");
                }
                let why = noted.unwrap_or_else(|| told.clone());
                self.refuse(call, Error::invalid_input(why), at).await;
                return Ok(Plan::Tell(told));
            }
        };
        let (limits, written) = (&self.work.run.limits, search::repeated_as(call));
        let repeat = self.work.run.spent().repeated(&bound.name, &written, limits)?;
        Ok(match repeat {
            Repeat::Fine => Plan::Make(bound, chosen),
            Repeat::Told => Plan::Tell(format!(
                "'{}' was called {} times with these arguments and is not called again; use what it has answered",
                bound.name, limits.repeats
            )),
        })
    }

    /// What becomes of a call that the journal knows.
    async fn known<'o, 'a>(
        &self,
        offered: &'o Offered<'a>,
        at: usize,
        call: &ToolCall,
    ) -> Option<Plan<'o, 'a>> {
        let noted = self.work.run.notes.known(&self.call_path(at));
        if noted.called.is_none() && noted.came.is_none() {
            return None;
        }
        let meant = match offered.meant(call) {
            Some(Meant::Call(meant)) => meant,
            _ => call.clone(),
        };
        // Also those that were not made because they were repeated: the next one ends the run.
        self.work.run.spent().remember(&meant.name, &search::repeated_as(&meant));
        self.mask_again(&meant).await;
        let via = (meant.name != call.name).then_some(CALL_TOOL);
        if let Some(came) = noted.came.and_then(|value| serde_json::from_value(value).ok()) {
            return Some(Plan::Known(came));
        }
        let ((target, called), name) = (noted.called?, &meant.name);
        // The name may lead elsewhere by now.
        let is_same = |bound: &&Bound<'_>| bound.name == *name && bound.callable.uri.to_string() == target;
        let bound = offered.tools.iter().find(is_same);
        // Agents and flows have their own runs, which say what has become of them.
        if !bound.is_some_and(|bound| matches!(bound.callable.uri.scheme(), "agent" | "flow")) {
            let unknown =
                Error::unavailable("the run was interrupted during the call; its outcome is unknown");
            self.refuse(&meant, unknown.because(Reason::Interrupted), at).await;
        }
        Some(match bound.filter(|bound| is_repeatable(&bound.callable)) {
            Some(bound) => Plan::Again(bound, self.chosen_again(bound, &meant, called).await.through(via)),
            None => Plan::Tell(format!(
                "'{name}' was being called when the run was interrupted. Its outcome is unknown, and it is not called \
                 again by itself: check first whether it has happened"
            )),
        })
    }

    /// What the call was to be made with, as its record has it. That has no room for all digits; the model's words have them.
    async fn chosen_again(&self, bound: &Bound<'_>, call: &ToolCall, called: Map<String, Value>) -> Chosen {
        if may_lose_digits(&call.arguments)
            && let Ok(chosen) = self.choose(bound, call).await
        {
            return chosen.exactly(called);
        }
        Chosen::of(call.id.clone(), called)
    }

    /// What rules have masked in the arguments of a call stays hidden from the model when the run is taken up again.
    async fn mask_again(&self, call: &ToolCall) {
        let Some(value) = read(call).ok().and_then(|given| given.as_value().ok().cloned()) else { return };
        for guards in self.work.guards.iter().filter(|guards| guards.masks(Stage::ToolInput)) {
            // Whether it may be made was decided before.
            guards.apply_to_texts(&self.guarding(), Stage::ToolInput, value.clone()).await.ok();
        }
    }

    /// The arguments of a call, guarded and with presets, or why there are none.
    async fn choose(&self, bound: &Bound<'_>, call: &ToolCall) -> Result<Chosen, Unfit> {
        let with_schema =
            |why: String| format!("{why}. The arguments must fit this schema: {}", bound.parameters.get());
        let given = read(call).map_err(with_schema)?;
        let fields = digits::marked(&given).map_err(|error| with_schema(error.in_words()))?;
        let wanted = Value::Object(fields.into_owned());
        let guarded = self.guarded_input(self.unmasked_within(&wanted)).await?;
        let is_changed = guarded != wanted || !bound.binding.preset.is_empty();
        let Value::Object(mut fields) = guarded else {
            return Err("the arguments are no object".to_owned().into());
        };
        if !bound.binding.preset.is_empty() {
            // No model reads them.
            let data = self.unmasked_within(&self.data());
            fields.extend(preset::values(bound, &data)?);
        }
        if levels(&fields) > MAX_LEVELS {
            let why = format!("the arguments have more than {MAX_LEVELS} levels in one another");
            return Err(with_schema(why).into());
        }
        let value = Value::Object(fields);
        let written = match is_changed {
            true => RawValue::from_string(digits::to_json(&value)).ok(),
            false => Some(given.to_raw()),
        };
        let Value::Object(fields) = digits::legible(value) else {
            return Err("the arguments are no object".to_owned().into());
        };
        Ok(Chosen { call_id: call.id.clone(), fields, written, via: None })
    }

    /// The arguments as the rules let them pass: what they mask only the model does not see.
    async fn guarded_input(&self, wanted: Value) -> Result<Value, String> {
        let mut value = wanted;
        for guards in &self.work.guards {
            let guarded = guards.apply_within(&self.guarding(), Stage::ToolInput, value).await;
            value =
                guarded.map_err(|blocked| format!("the call is refused by a guardrail: {}", blocked.0))?;
        }
        Ok(self.unmasked_within(&value))
    }

    pub(super) fn unmasked_within(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.unmasked(text).into(),
            Value::Array(items) => items.iter().map(|item| self.unmasked_within(item)).collect(),
            Value::Object(fields) => {
                let unmask =
                    |(name, field): (&String, &Value)| (self.unmasked(name), self.unmasked_within(field));
                Value::Object(fields.iter().map(unmask).collect())
            }
            other => other.clone(),
        }
    }

    /// Leaves a record of a call that is not made, or of which nobody knows what has become.
    async fn refuse(&self, call: &ToolCall, error: Error, at: usize) {
        if let Some(tools) = &self.tools {
            let cx = super::offers::acting(self.agent, &self.cx, self.step(at));
            tools.refuse(&cx, &call.name, error).await;
        }
    }
}

/// How deep values of runs may be.
const MAX_LEVELS: usize = 60;

/// How many levels there are; a reader has let no more than 128 pass.
pub(super) fn levels(fields: &Map<String, Value>) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::Object(fields) => levels(fields),
            Value::Array(items) => 1 + items.iter().map(of).max().unwrap_or(0),
            _ => 0,
        }
    }
    1 + fields.values().map(of).max().unwrap_or(0)
}

/// The arguments that the model wrote, of which each name is there once.
fn read(call: &ToolCall) -> Result<Arguments, String> {
    let text = call.arguments.trim();
    if text.is_empty() {
        return Ok(Arguments::default());
    }
    let unreadable = |why: &str| format!("the arguments of '{}' are no JSON object ({why})", call.name);
    let raw: Box<RawValue> =
        serde_json::from_str(text).map_err(|error| unreadable(&tool::plain(&error.to_string())))?;
    if !raw.get().starts_with('{') {
        return Err(unreadable("it is something else"));
    }
    let arguments = Arguments::from_raw(raw).map_err(|error| error.in_words())?;
    arguments.as_map().map_err(|error| error.in_words())?;
    Ok(arguments)
}
