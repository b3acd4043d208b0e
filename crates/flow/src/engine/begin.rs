//! Nodes begin: what is ready is told by the edges, what happens by the kind.

use super::frame::{FrameId, Spot, State};
use super::record::{Ending, Fact, Failure, Waiting};
use super::scope::Names;
use super::{Machine, ROOT, expression_failure, formats};
use crate::document::{Action, Data, Formula, Node, Wait, weight};
use crate::limits;
use crate::settle::{Exit, Join, Standing, settle};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use std::sync::Arc;

impl Machine {
    /// Inputs get their defaults, vars their first values.
    pub(super) fn begin_run(&mut self) -> bool {
        match self.first_values() {
            Ok(begun) => {
                self.emit(String::new(), 1, begun);
                true
            }
            Err(error) => {
                self.emit(String::new(), 1, Fact::Ended(Ending::Failed { error }));
                false
            }
        }
    }

    fn first_values(&mut self) -> Result<Fact, Failure> {
        let flow = Arc::clone(&self.flow);
        self.inputs = flow.accept(std::mem::take(&mut self.inputs), &self.setting())?;
        // What a replay brings along was written after the first values.
        let written = std::mem::take(&mut self.vars);
        let mut left = limits::RUN_BYTES;
        for (key, data) in &flow.vars {
            let value = self.evaluate((ROOT, 0), data)?;
            left = left.checked_sub(weight(&value)).ok_or_else(|| {
                Failure::new("LIMIT", "the first values of the vars are too large together")
            })?;
            self.vars.insert(key.name.clone(), value);
        }
        self.vars.extend(written);
        Ok(Fact::Begun { inputs: self.inputs.clone(), vars: self.vars.clone() })
    }

    /// Begins what can begin in a frame, and ends the frame when nothing is left.
    pub(super) fn step(&mut self, id: FrameId) {
        let Some(frame) = self.frames.get(&id) else { return };
        if let Some(failure) = frame.failure.clone() {
            return self.fail_frame(id, failure);
        }
        let block = Arc::clone(&frame.block);
        let is_caught = self.is_caught;
        let standings = settle(&block.graph, &frame.exits, id == ROOT && is_caught);
        for (node, standing) in standings.iter().enumerate() {
            if *standing == Standing::Ready && matches!(self.state((id, node)), Some(State::Idle)) {
                if !self.has_room() {
                    self.starved.insert(id);
                    return;
                }
                self.begin((id, node));
            }
            // Once the handler has taken over, it is another question what is ready.
            if self.ending.is_some() || !self.frames.contains_key(&id) || self.is_caught != is_caught {
                return;
            }
        }
        if self.dirty.contains(&id) {
            return;
        }
        self.open_more(id);
        let is_over =
            standings.iter().all(|standing| matches!(standing, Standing::Ended | Standing::Skipped));
        // A run that is paused does not end either: whoever goes on with what it gives would be something new.
        let is_kept = id == ROOT && self.is_paused;
        if !is_kept && (is_over || self.is_joined(id)) {
            self.complete(id);
        }
    }

    /// Enough branches of a block have come to their end.
    fn is_joined(&self, id: FrameId) -> bool {
        let Some(frame) = self.frames.get(&id) else { return false };
        let Some(((above, node), _)) = frame.parent else { return false };
        match &self.frames[&above].block.nodes[node].action {
            Action::Block { join: Join::Count(count), .. } => {
                frame.block.graph.last(&frame.exits).len() >= *count
            }
            _ => false,
        }
    }

    /// One more node may be at work.
    pub(super) fn has_room(&self) -> bool {
        let at_work =
            self.active.iter().filter(|spot| self.state(**spot).is_some_and(State::is_leaf)).count();
        !self.is_paused && !self.is_held && at_work < limits::RUNNING
    }

    fn begin(&mut self, spot: Spot) {
        if self.steps >= limits::STEPS || self.bytes > limits::RUN_BYTES {
            let message =
                format!("a run has at most {} steps and {} bytes", limits::STEPS, limits::RUN_BYTES);
            return self.end_run(Ending::Failed { error: Failure::new("LIMIT", message) });
        }
        let block = Arc::clone(&self.frames[&spot.0].block);
        if let Err(failure) = self.try_begin(spot, &block.nodes[spot.1]) {
            self.fail(spot, failure);
        }
    }

    fn try_begin(&mut self, spot: Spot, node: &Node) -> Result<(), Failure> {
        if let Some(only) = &node.only
            && !self.is_true(spot, only)?
        {
            self.emit_at(spot, Fact::Skipped);
            return Ok(());
        }
        match &node.action {
            Action::Call(call) => self.begin_call(spot, node, call),
            Action::Map => self.finish(spot, Value::Null, Exit::Next),
            Action::Condition(when) => {
                let is_true = self.is_true(spot, when)?;
                self.finish(spot, is_true.into(), Exit::NextAnd(usize::from(!is_true)))
            }
            Action::Switch(cases) => self.begin_switch(spot, cases),
            Action::Wait(wait) => self.begin_wait(spot, wait),
            Action::Each(each) => self.begin_each(spot, each),
            Action::Loop(looped) => self.begin_loop(spot, looped),
            Action::Block { .. } => {
                self.emit_at(spot, Fact::Entered { items: Vec::new(), vars: Map::new() });
                Ok(())
            }
            Action::Approval(approval) => match &approval.notify {
                Some(call) => self.begin_call(spot, node, call),
                None => self.ask(spot, approval),
            },
            Action::Guard(guard) => self.begin_guard(spot, node, guard),
            Action::Return(data) => {
                let value = self.evaluate(spot, data)?;
                self.emit_at(spot, Fact::Succeeded { value, sets: Vec::new(), exit: Exit::Next });
                self.finish_run();
                Ok(())
            }
            Action::Throw { code, message } => {
                let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let (code, message) = (self.evaluate(spot, code)?, self.evaluate(spot, message)?);
                Err(Failure::new(&text(code), text(message)))
            }
        }
    }

    fn begin_switch(&mut self, spot: Spot, cases: &[Formula]) -> Result<(), Failure> {
        let mut chosen = cases.len();
        for (index, case) in cases.iter().enumerate() {
            if self.is_true(spot, case)? {
                chosen = index;
                break;
            }
        }
        self.finish(spot, chosen.into(), Exit::NextAnd(chosen))
    }

    fn begin_wait(&mut self, spot: Spot, wait: &Wait) -> Result<(), Failure> {
        let waiting = match wait {
            Wait::For(duration) => Waiting::Timer { until: self.now + *duration },
            Wait::Until(formula) => {
                let value = self.compute(spot, formula)?;
                Waiting::Timer { until: instant(&value)? }
            }
            Wait::Signal { name, key } => {
                let key = key.as_ref().map(|key| self.evaluate(spot, key)).transpose()?;
                if key == Some(Value::Null) {
                    return Err(Failure::new("EXPRESSION", "the 'key' of the signal to wait for is null"));
                }
                Waiting::Signal { name: name.clone(), key }
            }
        };
        self.emit_at(spot, Fact::Waiting(waiting));
        self.wake_node(spot);
        Ok(())
    }

    /// `null` is false; what is neither true nor false is an error.
    pub(super) fn is_true(&self, spot: Spot, formula: &Formula) -> Result<bool, Failure> {
        match self.compute(spot, formula)? {
            Value::Bool(value) => Ok(value),
            Value::Null => Ok(false),
            _ => {
                let path = formula.origin.path();
                Err(Failure::new("EXPRESSION", format!("{path}: the condition is neither true nor false")))
            }
        }
    }

    pub(super) fn compute(&self, spot: Spot, formula: &Formula) -> Result<Value, Failure> {
        formula.evaluate(&self.names(spot), &self.setting()).map_err(expression_failure)
    }

    pub(super) fn evaluate(&self, spot: Spot, data: &Data) -> Result<Value, Failure> {
        data.evaluate(&self.names(spot), &self.setting()).map_err(expression_failure)
    }

    pub(super) fn names(&self, (frame, node): Spot) -> Names<'_> {
        Names { machine: self, frame, node, own: None, set: &[] }
    }
}

/// A time as a text, as values of the types `datetime` and `date` are, or as milliseconds.
fn instant(value: &Value) -> Result<DateTime<Utc>, Failure> {
    let instant = match value {
        Value::String(text) => formats::instant(text),
        Value::Number(number) => number.as_i64().and_then(DateTime::from_timestamp_millis),
        _ => None,
    };
    let message = "'until' needs a time like '2030-01-01T08:00:00Z', or milliseconds since 1970";
    instant.ok_or_else(|| Failure::new("EXPRESSION", message))
}
