//! Nodes and runs end: well, badly, or because of what happened elsewhere.

use super::call::check_value;
use super::frame::{FrameId, Spot, State};
use super::record::{Ending, Fact, Failure, Waiting};
use super::scope::Names;
use super::{Machine, ROOT, expression_failure};
use crate::document::{Field, Node, weight};
use crate::limits;
use crate::settle::Exit;
use serde_json::{Map, Value};
use std::sync::Arc;

impl Machine {
    /// A node is done: `sets`, then `with`, then its edges.
    pub(super) fn finish(&mut self, spot: Spot, raw: Value, exit: Exit) -> Result<(), Failure> {
        let block = Arc::clone(&self.frames[&spot.0].block);
        let node = &block.nodes[spot.1];
        let sets = self.sets(spot, node, &raw)?;
        let value = match &node.with {
            Some(with) => {
                let names = Names { own: Some((&node.id, &raw)), set: &sets, ..self.names(spot) };
                with.evaluate(&names, &self.setting()).map_err(expression_failure)?
            }
            None => raw,
        };
        check_value(&value)?;
        self.emit_at(spot, Fact::Succeeded { value, sets, exit });
        Ok(())
    }

    /// The vars that a node writes, each seeing those before.
    fn sets(&self, spot: Spot, node: &Node, raw: &Value) -> Result<Vec<(String, Value)>, Failure> {
        let mut sets: Vec<(String, Value)> = Vec::new();
        let mut written = 0;
        for field in &node.sets {
            let names = Names { own: Some((&node.id, raw)), set: &sets, ..self.names(spot) };
            match field {
                Field::Set(key, data) => {
                    let value = data.evaluate(&names, &self.setting()).map_err(expression_failure)?;
                    written += weight(&value);
                    sets.push((key.name.clone(), value));
                }
                Field::Spread(formula) => {
                    let value = formula.evaluate(&names, &self.setting()).map_err(expression_failure)?;
                    written += weight(&value);
                    if let Value::Object(fields) = value {
                        self.check_vars(spot, node, &fields)?;
                        sets.extend(fields);
                    }
                }
            }
            if written > limits::VALUE_BYTES {
                let message = format!("'sets' writes at most {} bytes", limits::VALUE_BYTES);
                return Err(Failure::new("LIMIT", message));
            }
        }
        Ok(sets)
    }

    /// What is spread writes vars alone: whoever chooses its names cannot put anything in an input's place.
    fn check_vars(&self, spot: Spot, node: &Node, fields: &Map<String, Value>) -> Result<(), Failure> {
        let Some(name) = fields.keys().find(|name| !self.is_var(spot, name)) else { return Ok(()) };
        let message = format!("{}.sets: there is no var '{name}'; declare it in 'vars'", node.path);
        Err(Failure::new("EXPRESSION", message))
    }

    /// A node failed: its `fail` takes it, or the block fails with it.
    pub(super) fn fail(&mut self, spot: Spot, mut failure: Failure) {
        let path = self.path(spot);
        failure.node.get_or_insert_with(|| path.clone());
        let child = self.child(spot);
        self.cancel_below(spot);
        let has_fail = self.frames[&spot.0].block.nodes[spot.1].has_fail;
        self.emit(path, 1, Fact::Failed { error: failure.clone(), child });
        if !has_fail {
            self.fail_frame(spot.0, failure);
        }
    }

    /// A failure that no edge took: the other nodes of the frame are cancelled, and it goes on above.
    pub(super) fn fail_frame(&mut self, id: FrameId, failure: Failure) {
        self.cancel_in(id);
        if let Some((spot, index)) = self.frames[&id].parent {
            return self.fail_item(spot, index, id, failure);
        }
        let root = &self.frames[&ROOT];
        let handler = root.block.graph.handler().filter(|handler| root.exits[*handler].is_none());
        if handler.is_some() && !self.is_caught {
            self.emit(String::new(), 1, Fact::Caught { error: failure });
        } else {
            self.end_run(Ending::Failed { error: failure });
        }
    }

    pub(super) fn end_run(&mut self, ending: Ending) {
        self.cancel_in(ROOT);
        self.emit(String::new(), 1, Fact::Ended(ending));
    }

    /// Cancels what is at work in a frame.
    pub(super) fn cancel_in(&mut self, id: FrameId) {
        let active: Vec<_> = self.active.range((id, 0)..(id + 1, 0)).copied().collect();
        for spot in active {
            let child = self.child(spot);
            self.cancel_below(spot);
            self.emit_at(spot, Fact::Cancelled { child });
        }
    }

    /// Cancels what is at work inside of a node.
    fn cancel_below(&mut self, spot: Spot) {
        if self.state(spot).is_none_or(State::is_leaf) {
            return;
        }
        let is_below = |owner: Option<(Spot, usize)>| owner.is_some_and(|(owner, _)| owner == spot);
        let below = self.frames.iter().filter(|(_, frame)| is_below(frame.parent)).map(|(id, _)| *id);
        below.collect::<Vec<_>>().into_iter().for_each(|id| self.cancel_in(id));
    }

    /// The child run that a node waits for.
    fn child(&self, spot: Spot) -> Option<String> {
        match self.state(spot) {
            Some(State::Parked(parked)) if parked.child.is_none() => match &parked.reason {
                Waiting::Child { run } => Some(run.clone()),
                _ => None,
            },
            _ => None,
        }
    }
}
