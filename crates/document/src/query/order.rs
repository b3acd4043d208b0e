//! The functions that compare: sorting, and the largest and smallest of a list.

use super::QueryError;
use super::eval::{Run, order};
use super::functions::{Call, Function};
use super::make::{self, Items};
use super::plan::Plan;
use crate::Node;
use std::cmp::Ordering;

impl Run<'_, '_, '_> {
    pub(super) fn extreme(
        &mut self,
        call: &Call,
        value: &Node,
        wanted: Ordering,
    ) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.check_comparable(call, array.iter(), "an array of numbers or an array of strings")?;
        let better = |best: &'_ Node, item: &'_ Node| compare(item, best) == wanted;
        let mut items = array.iter();
        let Some(mut best) = items.next() else { return Ok(Node::Null) };
        for item in items {
            if better(best, item) {
                best = item;
            }
        }
        Ok(best.clone())
    }

    pub(super) fn sort(&mut self, call: &Call, value: &Node) -> Result<Node, QueryError> {
        let array = self.array(call, value)?;
        self.check_comparable(call, array.iter(), "an array of numbers or an array of strings")?;
        self.budget.spend(cost_of_sorting(array.len()))?;
        let mut items = Items::default();
        items.extend(array.iter(), self.budget)?;
        items.as_mut_slice().sort_by(compare);
        items.finish(self.budget)
    }

    pub(super) fn extreme_by(&mut self, call: &Call, list: &Node, by: &Plan) -> Result<Node, QueryError> {
        let held_before = self.budget.held_bytes;
        let keyed = self.keyed(call, list, by)?;
        let wanted = if call.function == Function::MaxBy { Ordering::Greater } else { Ordering::Less };
        let better = |best: (Node, Node), item: (Node, Node)| {
            if compare(&item.0, &best.0) == wanted { item } else { best }
        };
        let best = keyed.into_iter().reduce(better).map_or(Node::Null, |(_, item)| item);
        self.budget.held_bytes = held_before; // The keys are gone, and the item was there before.
        Ok(best)
    }

    pub(super) fn sort_by(&mut self, call: &Call, list: &Node, by: &Plan) -> Result<Node, QueryError> {
        let held_before = self.budget.held_bytes;
        let mut keyed = self.keyed(call, list, by)?;
        self.budget.spend(cost_of_sorting(keyed.len()))?;
        keyed.sort_by(|a, b| compare(&a.0, &b.0));
        let mut sorted = Items::default();
        for (_, item) in keyed {
            sorted.push(item, self.budget)?;
        }
        let sorted = sorted.finish(self.budget)?;
        self.budget.held_bytes = held_before; // The keys are gone, and the items were there before.
        self.budget.hold(make::list_bytes(&sorted))?;
        Ok(sorted)
    }

    /// Each item with what it is compared by.
    fn keyed(&mut self, call: &Call, list: &Node, by: &Plan) -> Result<Vec<(Node, Node)>, QueryError> {
        let array = self.array(call, list)?;
        // Sorting takes half as much again.
        self.budget.hold(array.len().saturating_mul(3 * size_of::<Node>()))?;
        let mut keyed = Vec::with_capacity(array.len());
        for item in array {
            keyed.push((self.eval(by, item)?.into_owned(), item.clone()));
        }
        self.check_comparable(
            call,
            keyed.iter().map(|(key, _)| key),
            "an expression that gives numbers or strings",
        )?;
        Ok(keyed)
    }

    fn check_comparable<'a>(
        &mut self,
        call: &Call,
        mut items: impl Iterator<Item = &'a Node>,
        wanted: &str,
    ) -> Result<(), QueryError> {
        let Some(first) = items.next() else { return Ok(()) };
        let is_fine = |node: &Node| {
            matches!(node, Node::Number(_) | Node::Text(_)) && node.type_name() == first.type_name()
        };
        if !is_fine(first) {
            return Err(self.wrong(call, wanted, first));
        }
        for item in items {
            self.budget.spend(1)?;
            if !is_fine(item) {
                return Err(self.wrong(call, wanted, item));
            }
        }
        Ok(())
    }
}

fn cost_of_sorting(len: usize) -> u64 {
    let len = len as u64;
    len.saturating_mul(u64::from(64 - len.leading_zeros()))
}

/// Numbers by value, texts by code point; others were refused before.
fn compare(a: &Node, b: &Node) -> Ordering {
    match (a, b) {
        (Node::Number(a), Node::Number(b)) => order(a, b).unwrap_or(Ordering::Equal),
        (Node::Text(a), Node::Text(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
