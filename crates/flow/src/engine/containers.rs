//! Nodes with nodes inside: each, loop, block.

use super::call::check_value;
use super::frame::{FrameId, Spot, State};
use super::record::{Fact, Failure};
use super::scope::Names;
use super::{Machine, ROOT, expression_failure};
use crate::document::{Action, Each, Loop, weight};
use crate::limits;
use crate::settle::Exit;
use serde_json::{Map, Value, json};
use std::sync::Arc;

impl Machine {
    pub(super) fn begin_each(&mut self, spot: Spot, each: &Each) -> Result<(), Failure> {
        let items = match self.compute(spot, &each.list)? {
            Value::Null => Vec::new(),
            Value::Array(items) => items,
            Value::Object(fields) => {
                fields.into_iter().map(|(key, val)| json!({"key": key, "val": val})).collect()
            }
            _ => return Err(Failure::new("EXPRESSION", "'each' needs a list, an object or null")),
        };
        if items.len() > limits::ITEMS {
            let message = format!("'each' takes at most {} items, not {}", limits::ITEMS, items.len());
            return Err(Failure::new("LIMIT", message));
        }
        self.emit_at(spot, Fact::Entered { items, vars: Map::new() });
        self.open_items(spot, each)
    }

    /// Begins as many items as may be at work, and ends with the last one.
    fn open_items(&mut self, spot: Spot, each: &Each) -> Result<(), Failure> {
        loop {
            let Some(State::Each(items)) = self.state(spot) else { return Ok(()) };
            if items.left == 0 {
                let results = items.results.iter().flatten().cloned().collect();
                return self.finish(spot, results, Exit::Next);
            }
            let next = items.next;
            if items.open.len() >= each.limit || next >= items.items.len() {
                return Ok(());
            }
            if !self.has_room() {
                self.starved.insert(spot.0);
                return Ok(());
            }
            self.open_item(spot, next);
        }
    }

    /// Goes on with every each of a frame that has room again.
    pub(super) fn open_more(&mut self, frame: FrameId) {
        let block = Arc::clone(&self.frames[&frame].block);
        let active: Vec<_> = self.active.range((frame, 0)..(frame + 1, 0)).copied().collect();
        for spot in active {
            if let Action::Each(each) = &block.nodes[spot.1].action
                && let Err(failure) = self.open_items(spot, each)
            {
                self.fail(spot, failure);
            }
        }
    }

    pub(super) fn begin_loop(&mut self, spot: Spot, looped: &Loop) -> Result<(), Failure> {
        let mut vars: Vec<(String, Value)> = Vec::new();
        let mut left = limits::VALUE_BYTES;
        for (key, data) in &looped.vars {
            let names = Names { set: &vars, ..self.names(spot) };
            let value = data.evaluate(&names, &self.setting()).map_err(expression_failure)?;
            left = left.checked_sub(weight(&value)).ok_or_else(|| {
                Failure::new("LIMIT", "the first values of the loop's vars are too large together")
            })?;
            vars.push((key.name.clone(), value));
        }
        self.emit_at(spot, Fact::Entered { items: Vec::new(), vars: vars.into_iter().collect() });
        self.next_pass(spot, looped, Value::Null)
    }

    /// Goes round again, or ends with what the last pass gave.
    fn next_pass(&mut self, spot: Spot, looped: &Loop, last: Value) -> Result<(), Failure> {
        let Some(State::Loop(passes)) = self.state(spot) else { return Ok(()) };
        let count = passes.count;
        let goes_on = count < looped.max
            && match &looped.when {
                Some(when) => self.is_true(spot, when)?,
                None => true,
            };
        if !goes_on {
            return self.finish(spot, last, Exit::Next);
        }
        if self.passes >= limits::PASSES {
            return Err(Failure::new("LIMIT", format!("a run makes at most {} passes", limits::PASSES)));
        }
        self.emit_at(spot, Fact::Pass(count));
        Ok(())
    }

    /// Nothing is left to do in a frame.
    pub(super) fn complete(&mut self, id: FrameId) {
        if id == ROOT {
            return self.finish_run();
        }
        let Some(((above, node), index)) = self.frames[&id].parent else { return };
        let spot = (above, node);
        let block = Arc::clone(&self.frames[&above].block);
        let ended = match &block.nodes[node].action {
            Action::Each(each) => {
                let value = self.result_of(id);
                check_value(&value).and_then(|()| {
                    self.take_item(spot, index, id, value);
                    self.open_items(spot, each)
                })
            }
            Action::Loop(looped) => {
                let last = self.result_of(id);
                self.next_pass(spot, looped, last)
            }
            _ => {
                let value = Value::Object(self.last_values(id));
                self.cancel_in(id);
                self.finish(spot, value, Exit::Next)
            }
        };
        if let Err(failure) = ended {
            self.fail(spot, failure);
        }
    }

    /// The result of an item; its frame is not needed any more.
    fn take_item(&mut self, spot: Spot, index: usize, frame: FrameId, value: Value) {
        self.close(frame);
        if let Some(State::Each(items)) = self.state_mut(spot) {
            items.open.remove(&index);
            items.results[index] = Some(value);
            items.left -= 1;
        }
    }

    /// A failure that no edge took: the items of an each may be collected all the same.
    pub(super) fn fail_item(&mut self, spot: Spot, index: usize, frame: FrameId, failure: Failure) {
        let block = Arc::clone(&self.frames[&spot.0].block);
        match &block.nodes[spot.1].action {
            Action::Each(each) if each.collects_errors => {
                self.take_item(spot, index, frame, json!({"error": failure.to_value()}));
                if let Err(failure) = self.open_items(spot, each) {
                    self.fail(spot, failure);
                }
            }
            _ => self.fail(spot, failure),
        }
    }

    /// The value of the one last node that ran, or of several by their names.
    pub(super) fn result_of(&self, id: FrameId) -> Value {
        let mut values = self.last_values(id);
        match values.len() {
            0 => Value::Null,
            1 => values.values_mut().next().map(Value::take).unwrap_or_default(),
            _ => Value::Object(values),
        }
    }

    fn last_values(&self, id: FrameId) -> Map<String, Value> {
        let frame = &self.frames[&id];
        let value = |node: usize| (frame.block.nodes[node].id.clone(), frame.values[node].clone());
        frame.block.graph.last(&frame.exits).into_iter().map(value).collect()
    }
}
