//! Records become state, the same way whether they are written now or read again after a crash.

use super::frame::{Calling, Items, Parked, Passes, Spot, State};
use super::record::{Decision, Fact, Failure, Record};
use super::{Machine, ROOT};
use crate::document::{Action, weight};
use crate::settle::{Exit, Standing, settle};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Machine {
    pub(super) fn apply(&mut self, record: &Record) {
        match &record.fact {
            Fact::Begun { inputs, vars } => {
                self.begun_at = Some(record.at);
                (self.inputs, self.vars) = (inputs.clone(), vars.clone());
            }
            Fact::Written { vars } => self.vars.extend(vars.clone()),
            Fact::Ended(ending) => self.ending = Some(ending.clone()),
            Fact::Signal { name, key, data } => self.signals.push((name.clone(), key.clone(), data.clone())),
            Fact::Cancel => self.is_cancelling = true,
            Fact::Pause => self.is_paused = true,
            Fact::Resume => {
                self.is_paused = false;
                self.dirty.extend(self.frames.keys());
            }
            Fact::Caught { error } => self.apply_caught(error, record.at),
            // The journal before it is read as if what failed had not been.
            Fact::Retry => self.apply_retry(record.at),
            Fact::Decided(decision) => self.apply_decided(&record.path, decision),
            Fact::ChildEnded(result) => self.apply_child_ended(&record.path, result),
            _ => {
                if let Some(spot) = self.locate(&record.path) {
                    self.apply_at(spot, record);
                }
            }
        }
    }

    fn apply_at(&mut self, spot: Spot, record: &Record) {
        let Some(frame) = self.frames.get_mut(&spot.0) else { return };
        frame.since[spot.1].get_or_insert(record.at);
        match &record.fact {
            Fact::Called { target, arguments } => {
                self.bytes += weight(target) + arguments.values().map(weight).sum::<usize>();
                let call =
                    Calling { target: target.clone(), arguments: arguments.clone(), attempt: record.attempt };
                // It counts whatever comes of it.
                self.handoffs += usize::from(self.is_handoff(spot));
                self.activate(spot, State::Calling(call));
            }
            Fact::Again => self.apply_again(spot, record.attempt),
            Fact::Waiting(reason) => {
                let call = match self.take_state(spot) {
                    State::Calling(call) => Some(call),
                    // A child has failed, and its call is to be made again.
                    State::Parked(parked) => parked.call,
                    _ => None,
                };
                let child = self.early.remove(&spot);
                let parked = Parked { reason: reason.clone(), call, decision: None, child };
                self.activate(spot, State::Parked(Box::new(parked)));
            }
            Fact::Entered { items, vars } => self.apply_entered(spot, items, vars),
            Fact::Pass(number) => self.apply_pass(spot, *number),
            Fact::Succeeded { value, sets, exit } => self.apply_succeeded(spot, value, sets, *exit),
            Fact::Skipped => self.apply_skipped(spot),
            Fact::Failed { error, .. } => self.apply_failed(spot, error),
            Fact::Cancelled { .. } => self.settle_node(spot, Value::Null, Exit::Nowhere),
            _ => {}
        }
    }

    fn is_handoff(&self, (frame, node): Spot) -> bool {
        let action = self.frames.get(&frame).map(|frame| &frame.block.nodes[node].action);
        matches!(action, Some(Action::Call(call)) if call.is_handoff)
    }

    /// The first decision counts.
    fn apply_decided(&mut self, path: &str, decision: &Decision) {
        if let Some(spot) = self.spot(path)
            && let Some(State::Parked(parked)) = self.state_mut(spot)
        {
            parked.decision.get_or_insert_with(|| decision.clone());
        }
    }

    /// A child may end before its parent has recorded that it waits for it.
    fn apply_child_ended(&mut self, path: &str, result: &Result<Value, Failure>) {
        let Some(spot) = self.spot(path) else { return };
        match self.state_mut(spot) {
            Some(State::Parked(parked)) => {
                parked.child.get_or_insert_with(|| result.clone());
            }
            Some(State::Calling(_)) => {
                self.early.insert(spot, result.clone());
            }
            _ => {}
        }
    }

    /// All time begins anew.
    fn apply_retry(&mut self, at: DateTime<Utc>) {
        self.begun_at = self.begun_at.map(|_| at);
        for (frame, node) in &self.active {
            if let Some(frame) = self.frames.get_mut(frame) {
                frame.since[*node] = Some(at);
            }
        }
    }

    fn apply_again(&mut self, spot: Spot, attempt: u32) {
        if let State::Parked(parked) = self.take_state(spot)
            && let Some(call) = parked.call
        {
            self.activate(spot, State::Calling(Calling { attempt, ..call }));
        }
    }

    fn apply_entered(&mut self, spot: Spot, items: &[Value], vars: &Map<String, Value>) {
        self.bytes += items.iter().map(weight).sum::<usize>();
        let block = Arc::clone(&self.frames[&spot.0].block);
        let state = match &block.nodes[spot.1].action {
            Action::Each(_) => State::Each(Items {
                items: items.to_vec(),
                next: 0,
                open: BTreeMap::new(),
                results: vec![None; items.len()],
                left: items.len(),
            }),
            Action::Loop(_) => State::Loop(Passes { vars: vars.clone(), count: 0 }),
            _ => State::Block,
        };
        let is_block = matches!(state, State::Block);
        self.activate(spot, state);
        if is_block {
            let prefix = format!("{}.", self.path(spot));
            self.open(spot, 0, prefix);
        }
    }

    fn apply_pass(&mut self, spot: Spot, number: usize) {
        self.close_below(spot);
        self.passes += 1;
        if let Some(State::Loop(passes)) = self.state_mut(spot) {
            passes.count = number + 1;
            let prefix = format!("{}[{number}].", self.path(spot));
            self.open(spot, number, prefix);
        }
    }

    fn apply_succeeded(&mut self, spot: Spot, value: &Value, sets: &[(String, Value)], exit: Exit) {
        self.take_signal(spot);
        self.bytes += weight(value) + sets.iter().map(|(_, value)| weight(value)).sum::<usize>();
        let block = Arc::clone(&self.frames[&spot.0].block);
        if let Action::Return(_) = &block.nodes[spot.1].action {
            self.returned = Some(value.clone());
        }
        self.settle_node(spot, value.clone(), exit);
        for (name, value) in sets {
            self.set_var(spot.0, name, value.clone());
        }
    }

    /// `only` was false: the node is passed by, an approval as if it were given.
    fn apply_skipped(&mut self, spot: Spot) {
        let block = Arc::clone(&self.frames[&spot.0].block);
        let is_approval = matches!(block.nodes[spot.1].action, Action::Approval(_));
        let exit = if is_approval { Exit::NextAnd(0) } else { Exit::Next };
        self.settle_node(spot, Value::Null, exit);
    }

    fn apply_failed(&mut self, spot: Spot, error: &Failure) {
        let Some(frame) = self.frames.get_mut(&spot.0) else { return };
        let has_fail = frame.block.nodes[spot.1].has_fail;
        if !has_fail {
            frame.failure.get_or_insert_with(|| error.clone());
        }
        let exit = if has_fail { Exit::Fail } else { Exit::Nowhere };
        self.settle_node(spot, json!({"error": error.to_value()}), exit);
    }

    /// What might have begun does not begin any more, nor what only that leads to; but what the handler leads to does, behind it.
    fn apply_caught(&mut self, error: &Failure, at: DateTime<Utc>) {
        // Whoever looks after a run that took too long has as much time again.
        self.begun_at = Some(at);
        if let Some(run) = self.given.get_mut("run") {
            run["error"] = error.to_value();
        }
        let Some(root) = self.frames.get_mut(&ROOT) else { return };
        let graph = &root.block.graph;
        // Each that ends may be what another was still waiting for.
        loop {
            let standings = settle(graph, &root.exits, true);
            let is_over =
                |node: &usize| standings[*node] == Standing::Ready && graph.handler() != Some(*node);
            let over: Vec<usize> = (0..graph.len()).filter(is_over).collect();
            if over.is_empty() {
                break;
            }
            for node in over {
                root.exits[node] = Some(Exit::Nowhere);
                root.states[node] = State::Ended;
            }
        }
        root.failure = None;
        self.is_caught = true;
        self.dirty.insert(ROOT);
    }

    /// A node is over, with everything inside.
    fn settle_node(&mut self, spot: Spot, value: Value, exit: Exit) {
        self.close_below(spot);
        self.active.remove(&spot);
        self.early.remove(&spot);
        self.steps += 1;
        self.dirty.insert(spot.0);
        self.dirty.append(&mut self.starved);
        if let Some(frame) = self.frames.get_mut(&spot.0) {
            frame.values[spot.1] = value;
            frame.exits[spot.1] = Some(exit);
            frame.states[spot.1] = State::Ended;
        }
    }

    fn activate(&mut self, spot: Spot, state: State) {
        if let Some(frame) = self.frames.get_mut(&spot.0) {
            frame.states[spot.1] = state;
            self.active.insert(spot);
        }
    }

    /// The first signal that the wait at the node was waiting for is used up.
    fn take_signal(&mut self, spot: Spot) {
        if let Some(State::Parked(parked)) = self.state(spot)
            && let Some(at) = self.matching_signal(&parked.reason)
        {
            self.signals.remove(at);
        }
    }

    fn take_state(&mut self, spot: Spot) -> State {
        self.state_mut(spot).map_or(State::Idle, |state| std::mem::replace(state, State::Idle))
    }

    pub(super) fn state_mut(&mut self, (frame, node): Spot) -> Option<&mut State> {
        self.frames.get_mut(&frame).map(|frame| &mut frame.states[node])
    }
}
