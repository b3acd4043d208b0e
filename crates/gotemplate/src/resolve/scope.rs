//! Which variable a name means at a place, and the slot it lives in.

use crate::error::{ErrorKind, Fault};
use crate::program::Slot;

/// The variables of one template while it is being resolved.
pub(super) struct Scope<'s> {
    names: Vec<Name<'s>>,
    next_slot: Slot,
    slots: usize,
}

struct Name<'s> {
    name: &'s str,
    /// `None` while Go's parser knows the name and its executor does not:
    /// in its own declaration, after a bare `=`, and in the branch next to the declaring one.
    slot: Option<Slot>,
    is_read: bool,
}

/// A place in the scope to go back to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    names: usize,
    next_slot: Slot,
}

impl Mark {
    /// The places of the names that came between an earlier mark and this one.
    pub(super) fn names_since(self, earlier: Self) -> std::ops::Range<usize> {
        earlier.names..self.names
    }
}

impl<'s> Scope<'s> {
    /// A scope holding `$` in slot 0.
    pub(super) fn new() -> Self {
        Self { names: vec![Name { name: "$", slot: Some(0), is_read: true }], next_slot: 1, slots: 1 }
    }

    /// Slots that were ever alive at once.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { names: self.names.len(), next_slot: self.next_slot }
    }

    /// Forgets everything since the mark.
    pub(super) fn leave(&mut self, mark: Mark) {
        self.names.truncate(mark.names);
        self.next_slot = mark.next_slot;
    }

    /// Keeps the names since the mark known but without a value, as in Go's `else` branches.
    pub(super) fn hide(&mut self, mark: Mark) {
        for name in &mut self.names[mark.names..] {
            name.slot = None;
        }
        self.next_slot = mark.next_slot;
    }

    /// A slot without a name.
    pub(super) fn reserve(&mut self) -> Slot {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.slots = self.slots.max(self.next_slot);
        slot
    }

    /// Makes a name known without a value yet; returns its place for [`Scope::fill`].
    pub(super) fn announce(&mut self, name: &'s str) -> usize {
        self.names.push(Name { name, slot: None, is_read: false });
        self.names.len() - 1
    }

    /// Gives an announced name its slot.
    pub(super) fn fill(&mut self, announced: usize) -> Slot {
        let slot = self.reserve();
        self.names[announced].slot = Some(slot);
        slot
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.name == name)
    }

    /// The innermost variable of that name that has a value.
    pub(super) fn find(&mut self, name: &str) -> Result<Slot, Fault> {
        let mut alive = self.names.iter_mut().rev().filter(|known| known.name == name);
        let found = alive.find_map(|known| {
            known.is_read |= known.slot.is_some();
            known.slot
        });
        found.ok_or_else(|| undefined(name))
    }

    /// Whether the name at that place was ever looked up.
    pub(super) fn is_read(&self, at: usize) -> bool {
        self.names.get(at).is_none_or(|name| name.is_read)
    }
}

pub(super) fn undefined(name: &str) -> Fault {
    Fault::new(ErrorKind::UnknownVariable, format!("undefined variable {name:?}"))
        .expecting(format!("{{{{ {name} := … }}}} before it"))
}
