//! Values in the making: what they take is counted before it is taken.

use super::{Budget, QueryError};
use crate::{Array, Node};
use std::sync::Arc;

/// What the allocator and the counters of a shared value add.
const ALLOCATION_BYTES: usize = 48;
/// A list and its items are two allocations.
const LIST_BYTES: usize = 2 * ALLOCATION_BYTES;
const ITEM_BYTES: usize = size_of::<Node>();
const FIELD_BYTES: usize = size_of::<(Arc<str>, Node)>();
/// A field of an object that is large enough for an index.
const INDEXED_FIELD_BYTES: usize = 4 * FIELD_BYTES;
const MAX_PLAIN_FIELDS: usize = 32;

/// The items of a list. They are there twice while the list gets its final form.
#[derive(Default)]
pub(super) struct Items(Vec<Node>);

impl Items {
    pub(super) fn push(&mut self, item: Node, budget: &mut Budget<'_>) -> Result<(), QueryError> {
        budget.hold(2 * ITEM_BYTES)?;
        self.0.push(item);
        Ok(())
    }

    pub(super) fn extend<'a>(
        &mut self,
        items: impl Iterator<Item = &'a Node>,
        budget: &mut Budget<'_>,
    ) -> Result<(), QueryError> {
        for item in items {
            budget.spend(1)?;
            self.push(item.clone(), budget)?;
        }
        Ok(())
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Node] {
        &mut self.0
    }

    pub(super) fn finish(self, budget: &mut Budget<'_>) -> Result<Node, QueryError> {
        budget.hold(LIST_BYTES)?;
        let spare = ITEM_BYTES * self.0.len();
        let list = self.0.into();
        budget.release(spare);
        Ok(list)
    }
}

/// What a finished list takes without its items.
pub(super) fn list_bytes(list: &Node) -> usize {
    LIST_BYTES + ITEM_BYTES * list.as_array().map_or(0, Array::len)
}

/// The fields of an object, likewise.
#[derive(Default)]
pub(super) struct Fields(Vec<(Arc<str>, Node)>);

impl Fields {
    pub(super) fn push(
        &mut self,
        name: &Arc<str>,
        node: Node,
        budget: &mut Budget<'_>,
    ) -> Result<(), QueryError> {
        let is_indexed = self.0.len() >= MAX_PLAIN_FIELDS;
        budget.hold(FIELD_BYTES + if is_indexed { INDEXED_FIELD_BYTES } else { FIELD_BYTES })?;
        self.0.push((Arc::clone(name), node));
        Ok(())
    }

    pub(super) fn finish(self, budget: &mut Budget<'_>) -> Result<Node, QueryError> {
        budget.hold(LIST_BYTES)?;
        let spare = FIELD_BYTES * self.0.len();
        let object = Node::Object(self.0.into_iter().collect());
        budget.release(spare);
        Ok(object)
    }
}

/// A value as JSON text.
pub(super) fn json(value: &Node, budget: &mut Budget<'_>) -> Result<Node, QueryError> {
    let (room, left) = (budget.room_bytes(), usize::try_from(budget.left()).unwrap_or(usize::MAX));
    let Some(size_bytes) = value.size_bytes_within(room.min(left)) else {
        let error = QueryError::nowhere("to_string() would make too much text; ask for less at once");
        return Err(if left < room { error.out_of_steps() } else { error });
    };
    budget.spend(size_bytes as u64)?;
    // The writer may have twice the room it needs.
    budget.hold(ALLOCATION_BYTES + 3 * size_bytes)?;
    let node = value.to_json().as_str().into();
    budget.release(2 * size_bytes);
    Ok(node)
}

/// A text of so many bytes, which is written first and shared then.
pub(super) fn text(
    size_bytes: usize,
    budget: &mut Budget<'_>,
    write: impl FnOnce(&mut String),
) -> Result<Node, QueryError> {
    budget.spend(size_bytes as u64 / 8 + 1)?;
    budget.hold(ALLOCATION_BYTES + 2 * size_bytes)?;
    let mut written = String::with_capacity(size_bytes);
    write(&mut written);
    let node = written.as_str().into();
    budget.release(size_bytes);
    Ok(node)
}
