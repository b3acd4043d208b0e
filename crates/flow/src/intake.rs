//! What starts a run becomes its inputs and its keys.

use crate::document::{Data, Flow, Formula, Source, Trigger, Trouble};
use crate::engine::{Failure, expression_failure};
use chrono_tz::Tz;
use expression::Setting;
use serde_json::{Map, Value};

/// The fields of an event that hold what was sent.
const WHOLE: [&str; 3] = ["body", "message", "change"];

impl Trigger {
    /// The inputs of a run that this event starts; what a flow takes, it checks itself.
    ///
    /// # Errors
    /// What the expressions of `inputs` cannot do.
    pub fn inputs(
        &self,
        flow: &Flow,
        event: &Value,
        setting: &Setting,
    ) -> Result<Map<String, Value>, Failure> {
        let Some(data) = &self.inputs else { return Ok(by_name(flow, event)) };
        match data.evaluate(&scope(event), setting).map_err(expression_failure)? {
            Value::Object(inputs) => Ok(inputs),
            _ => Err(Failure::new(
                "EXPRESSION",
                format!("the 'inputs' of the trigger '{}' are no object", self.name),
            )),
        }
    }

    /// What the trigger's `dedupe` gives: starts with an equal one are the same.
    ///
    /// # Errors
    /// What the expression cannot do.
    pub fn dedupe_key(&self, event: &Value, setting: &Setting) -> Result<Option<String>, Failure> {
        let value = self.dedupe.as_ref().map(|formula: &Formula| formula.evaluate(&scope(event), setting));
        key(value)
    }
}

impl Flow {
    /// What a trigger of this flow is set to, as JSON, for those who keep it and show it: with the zone that it follows,
    /// whoever says so.
    #[must_use]
    pub fn settings_of(&self, trigger: &Trigger) -> Value {
        let mut settings = trigger.settings();
        if matches!(trigger.source, Source::Schedule { .. }) {
            settings["timezone"] = self.zone_of(trigger).name().into();
        }
        settings
    }

    /// The clock that a schedule of this flow follows.
    #[must_use]
    pub fn zone_of(&self, trigger: &Trigger) -> Tz {
        let own = match &trigger.source {
            Source::Schedule { timezone, .. } => *timezone,
            _ => None,
        };
        own.or(self.timezone).unwrap_or(Tz::UTC)
    }

    /// What the `key` of `concurrency` gives for a run with these inputs: runs count against those of an equal one.
    ///
    /// # Errors
    /// What the expression cannot do.
    pub fn concurrency_key(
        &self,
        inputs: &Map<String, Value>,
        setting: &Setting,
    ) -> Result<Option<String>, Failure> {
        let data = self.concurrency.as_ref().and_then(|concurrency| concurrency.key.as_ref());
        key(data.map(|data: &Data| data.evaluate(inputs, setting)))
    }
}

fn scope(event: &Value) -> Map<String, Value> {
    Map::from_iter([("trigger".to_owned(), event.clone())])
}

/// As JSON, so that 1 and "1" are two; `null` is no key.
fn key(value: Option<Result<Value, Trouble>>) -> Result<Option<String>, Failure> {
    Ok(match value.transpose().map_err(expression_failure)? {
        None | Some(Value::Null) => None,
        Some(value) => Some(same(value).to_string()),
    })
}

/// The value with its numbers in one spelling: 1.0 is 1, as expressions compare them.
fn same(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| !number.is_i64() && !number.is_u64()) {
            // Beyond this they are no longer told apart.
            Some(fraction) if fraction.fract() == 0.0 && fraction.abs() < 9e15 => {
                Value::from(fraction as i64)
            }
            _ => number.into(),
        },
        Value::Array(items) => items.into_iter().map(same).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, same(field))).collect(),
        other => other,
    }
}

/// Fields go by name, and an input `message`, `body` or `change` gets the whole, also where that has a field of the name.
fn by_name(flow: &Flow, event: &Value) -> Map<String, Value> {
    let whole = WHOLE.iter().find_map(|name| event.get(name)).unwrap_or(event);
    let mut inputs = Map::new();
    for input in &flow.inputs {
        let value = match WHOLE.contains(&input.name.as_str()) {
            true => Some(whole),
            false => whole.get(&input.name).or_else(|| event.get(&input.name)),
        };
        if let Some(value) = value {
            inputs.insert(input.name.clone(), value.clone());
        }
    }
    inputs
}
