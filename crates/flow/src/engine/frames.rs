//! Frames come and go: found by the paths of records, opened when a block is entered, closed with their node.

use super::Machine;
use super::frame::{Frame, FrameId, Spot, State};
use crate::document::Action;
use std::sync::Arc;

impl Machine {
    /// The node of a path; frames of items come into being with their first record.
    pub(super) fn locate(&mut self, path: &str) -> Option<Spot> {
        let start = path.rfind('.').map_or(0, |dot| dot + 1);
        let (prefix, id) = path.split_at(start);
        let frame = self.locate_frame(prefix)?;
        Some((frame, self.frames[&frame].block.find(id)?))
    }

    fn locate_frame(&mut self, prefix: &str) -> Option<FrameId> {
        if let Some(frame) = self.prefixes.get(prefix) {
            return Some(*frame);
        }
        let owner = prefix.strip_suffix('.')?;
        let (owner, index) = owner.strip_suffix(']')?.rsplit_once('[')?;
        let spot = self.locate(owner)?;
        self.open_item(spot, index.parse().ok()?)
    }

    /// The frame of an item of an each.
    pub(super) fn open_item(&mut self, spot: Spot, index: usize) -> Option<FrameId> {
        let block = Arc::clone(&self.frames.get(&spot.0)?.block);
        let Action::Each(each) = &block.nodes[spot.1].action else { return None };
        let item = match self.state(spot)? {
            State::Each(items) if items.results.get(index)?.is_none() => items.items.get(index)?.clone(),
            _ => return None,
        };
        let prefix = format!("{}[{index}].", self.path(spot));
        let id = self.open(spot, index, prefix);
        let frame = self.frames.get_mut(&id)?;
        frame.locals.push((each.item.clone(), item));
        if let Some(name) = &each.index {
            frame.locals.push((name.clone(), index.into()));
        }
        if let Some(State::Each(items)) = self.state_mut(spot) {
            items.open.insert(index, id);
            items.next = items.next.max(index + 1);
        }
        Some(id)
    }

    pub(super) fn open(&mut self, spot: Spot, index: usize, prefix: String) -> FrameId {
        let id = self.next_frame;
        self.next_frame += 1;
        let owner = &self.frames[&spot.0];
        let block = owner.block.nodes[spot.1].block().expect("only nodes with a block are entered");
        let frame = Frame::new(Some((spot, index)), prefix.clone(), Arc::clone(block));
        self.frames.insert(id, frame);
        self.prefixes.insert(prefix, id);
        self.dirty.insert(id);
        id
    }

    /// Forgets the frames of a node, and what is in them.
    pub(super) fn close_below(&mut self, spot: Spot) {
        if self.state(spot).is_some_and(|state| state.is_leaf() || matches!(state, State::Idle)) {
            return;
        }
        let below = |frame: &Frame| frame.parent.is_some_and(|(owner, _)| owner == spot);
        let frames: Vec<_> =
            self.frames.iter().filter(|(_, frame)| below(frame)).map(|(id, _)| *id).collect();
        frames.into_iter().for_each(|frame| self.close(frame));
    }

    pub(super) fn close(&mut self, id: FrameId) {
        let active: Vec<_> = self.active.range((id, 0)..(id + 1, 0)).copied().collect();
        for spot in active {
            self.close_below(spot);
            self.active.remove(&spot);
        }
        if let Some(frame) = self.frames.remove(&id) {
            self.prefixes.remove(&frame.prefix);
        }
        self.dirty.remove(&id);
        self.starved.remove(&id);
    }
}
