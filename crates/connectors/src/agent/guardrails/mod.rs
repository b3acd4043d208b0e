//! Guardrails: what prompts, arguments, results and answers must keep to, and what is done where they do not.

mod links;
mod masks;
mod rule;
mod settings;

pub(super) use masks::Masks;
pub(super) use settings::GuardrailSettings;

pub(super) use rule::Blocked;

use super::settings::RunAs;
use crate::shared::digits;
use rule::Rule;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tool::sanitize::clean;
use tool::{CallTools, Context, Problem};

/// Where a text is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Input,
    ToolInput,
    ToolOutput,
    Output,
}

impl Stage {
    fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::ToolInput => "tool_input",
            Self::ToolOutput => "tool_output",
            Self::Output => "output",
        }
    }
}

/// The rules of one agent.
#[derive(Debug, Default)]
pub(super) struct Guardrails {
    input: Vec<Rule>,
    tool_input: Vec<Rule>,
    tool_output: Vec<Rule>,
    output: Vec<Rule>,
}

/// What rules need to be applied.
pub(super) struct Guarding<'a> {
    pub(super) cx: &'a Context,
    pub(super) agent: &'a str,
    pub(super) tools: Option<&'a dyn CallTools>,
    pub(super) masks: &'a Mutex<Masks>,
}

impl Guardrails {
    pub(super) fn check(settings: &GuardrailSettings, run_as: RunAs, problems: &mut Vec<Problem>) -> Self {
        let mut rules = |stage: &str, given: &[settings::RuleSettings]| {
            let check = |(at, rule): (usize, &settings::RuleSettings)| {
                Rule::check(rule, run_as, &format!("guardrails.{stage}[{at}]"), problems)
            };
            given.iter().enumerate().filter_map(check).collect()
        };
        Self {
            input: rules("input", &settings.input),
            tool_input: rules("tool_input", &settings.tool_input),
            tool_output: rules("tool_output", &settings.tool_output),
            output: rules("output", &settings.output),
        }
    }

    fn of(&self, stage: Stage) -> &[Rule] {
        match stage {
            Stage::Input => &self.input,
            Stage::ToolInput => &self.tool_input,
            Stage::ToolOutput => &self.tool_output,
            Stage::Output => &self.output,
        }
    }

    /// There is something to look at.
    pub(super) fn has(&self, stage: Stage) -> bool {
        !self.of(stage).is_empty()
    }

    /// Something may be masked there.
    pub(super) fn masks(&self, stage: Stage) -> bool {
        self.of(stage).iter().any(Rule::is_masking)
    }

    /// The text as it may go on, or why it may not.
    pub(super) async fn apply(
        &self,
        guarding: &Guarding<'_>,
        stage: Stage,
        text: String,
    ) -> Result<String, Blocked> {
        self.apply_those(guarding, stage, text, |_| true).await
    }

    /// The same by some of the rules.
    async fn apply_those(
        &self,
        guarding: &Guarding<'_>,
        stage: Stage,
        text: String,
        is_meant: fn(&Rule) -> bool,
    ) -> Result<String, Blocked> {
        if !self.has(stage) {
            return Ok(text);
        }
        let rules = || self.of(stage).iter().filter(|rule| is_meant(rule));
        let is_sent_on = matches!(stage, Stage::ToolInput | Stage::Output);
        for rule in rules().filter(|rule| is_sent_on && rule.is_about_length()) {
            rule.apply(guarding, stage, text.clone()).await?;
        }
        // What hides in it would hide it from the rules, too.
        let cleaned = clean(&text, &mut BTreeSet::new()).into_owned();
        let mut judged = cleaned.clone();
        for rule in rules() {
            judged = rule.apply(guarding, stage, judged).await?;
        }
        // A model reads nothing hidden. Tools and callers get what was written, unless a rule had something to change.
        Ok(if is_sent_on && judged == cleaned { text } else { judged })
    }

    /// The number as it may go on: a text where something was found in its digits.
    async fn apply_to_number(
        &self,
        guarding: &Guarding<'_>,
        stage: Stage,
        number: Value,
    ) -> Result<Value, Blocked> {
        let written = digits::digits_of(&number).map_or_else(|| number.to_string(), str::to_owned);
        let mut text = written.clone();
        for rule in self.of(stage).iter().filter(|rule| rule.is_about_numbers()) {
            text = rule.apply(guarding, stage, text).await?;
        }
        Ok(if text == written { number } else { text.into() })
    }

    /// The same for data: a tool that judges reads all of them as one JSON text, the other rules look at each text within.
    pub(super) async fn apply_within(
        &self,
        guarding: &Guarding<'_>,
        stage: Stage,
        value: Value,
    ) -> Result<Value, Blocked> {
        let mut value = self.apply_to_texts(guarding, stage, value).await?;
        let judges = self.of(stage).iter().filter(|rule| rule.is_judging() && !value.is_null());
        for rule in judges.collect::<Vec<_>>() {
            let text = digits::to_json(&value);
            let judged = rule.apply(guarding, stage, text.clone()).await?;
            if judged != text {
                value = digits::read(&judged)
                    .map_err(|_| Blocked("what is to stand there is no JSON".to_owned()))?;
            }
        }
        Ok(value)
    }

    /// The same by the rules for every text within data, names of fields and numbers included.
    pub(super) async fn apply_to_texts(
        &self,
        guarding: &Guarding<'_>,
        stage: Stage,
        value: Value,
    ) -> Result<Value, Blocked> {
        if !self.has(stage) {
            return Ok(value);
        }
        let each = |text| self.apply_those(guarding, stage, text, |rule| !rule.is_judging());
        Ok(match value {
            number if number.is_number() || digits::digits_of(&number).is_some() => {
                self.apply_to_number(guarding, stage, number).await?
            }
            Value::String(text) => each(text).await?.into(),
            Value::Array(items) => {
                let mut guarded = Vec::with_capacity(items.len());
                for item in items {
                    guarded.push(Box::pin(self.apply_to_texts(guarding, stage, item)).await?);
                }
                guarded.into()
            }
            Value::Object(fields) => {
                let mut guarded = Map::new();
                for (name, field) in fields {
                    let name = each(name).await?;
                    guarded.insert(name, Box::pin(self.apply_to_texts(guarding, stage, field)).await?);
                }
                guarded.into()
            }
            other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
        })
    }
}

impl Guarding<'_> {
    fn mask(&self, kind: &str, value: &str) -> String {
        self.masks.lock().unwrap_or_else(PoisonError::into_inner).mask(kind, value)
    }
}
