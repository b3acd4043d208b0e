//! What names stand for inside a run.

use super::Machine;
use super::frame::{FrameId, Spot, State};
use expression::Scope;
use serde_json::Value;

/// The names that an expression at a node sees, the nearest first.
pub(super) struct Names<'a> {
    pub(super) machine: &'a Machine,
    pub(super) frame: FrameId,
    /// The node itself: its raw result while `sets` and `with` are computed.
    pub(super) own: Option<(&'a str, &'a Value)>,
    /// Vars that the node has just set.
    pub(super) set: &'a [(String, Value)],
    /// The node whose vars count, too: those of a loop.
    pub(super) node: usize,
}

impl Scope for Names<'_> {
    fn find(&self, name: &str) -> Option<&Value> {
        if let Some((own, value)) = self.own
            && own == name
        {
            return Some(value);
        }
        let set = self.set.iter().rev().find(|(set, _)| set == name);
        set.map(|(_, value)| value).or_else(|| self.machine.find(self.frame, self.node, name))
    }
}

impl Machine {
    /// The value of a name at a node of a frame.
    fn find(&self, mut frame: FrameId, mut node: usize, name: &str) -> Option<&Value> {
        loop {
            let here = self.frames.get(&frame)?;
            if let Some(State::Loop(passes)) = here.states.get(node)
                && let Some(value) = passes.vars.get(name)
            {
                return Some(value);
            }
            if let Some((_, value)) = here.locals.iter().find(|(local, _)| local == name) {
                return Some(value);
            }
            if let Some(node) = here.block.find(name) {
                return Some(&here.values[node]);
            }
            let Some(((above, owner), _)) = here.parent else { break };
            (frame, node) = (above, owner);
        }
        let data = self.vars.get(name).or_else(|| self.inputs.get(name));
        data.or_else(|| self.given.get(name))
    }

    /// The name is that of a var which the node may write.
    pub(super) fn is_var(&self, spot: Spot, name: &str) -> bool {
        let mut next = Some(spot);
        while let Some((frame, node)) = next {
            let Some(frame) = self.frames.get(&frame) else { return false };
            if matches!(frame.states.get(node), Some(State::Loop(passes)) if passes.vars.contains_key(name)) {
                return true;
            }
            next = frame.parent.map(|(owner, _)| owner);
        }
        self.flow.vars.iter().any(|(var, _)| var.name == name)
    }

    /// Writes a var, where it is declared nearest.
    pub(super) fn set_var(&mut self, mut frame: FrameId, name: &str, value: Value) {
        while let Some(((above, node), _)) = self.frames.get(&frame).and_then(|frame| frame.parent) {
            let owner = self.frames.get_mut(&above).map(|owner| &mut owner.states[node]);
            if let Some(State::Loop(passes)) = owner
                && let Some(var) = passes.vars.get_mut(name)
            {
                *var = value;
                return;
            }
            frame = above;
        }
        self.vars.insert(name.to_owned(), value);
    }
}
