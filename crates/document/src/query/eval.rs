//! Runs a plan over a document.

use super::make::{Fields, Items};
use super::plan::Plan;
use super::{Budget, QueryError};
use crate::{Array, Node};
use jmespath::ast::Comparator;
use std::borrow::Cow;

pub(super) type Found<'a> = Result<Cow<'a, Node>, QueryError>;

/// One run of a query.
pub(super) struct Run<'q, 'b, 'c> {
    pub(super) text: &'q str,
    pub(super) budget: &'b mut Budget<'c>,
}

const NULL: Node = Node::Null;

impl Run<'_, '_, '_> {
    pub(super) fn start(mut self, plan: &Plan, root: &Node) -> Result<Node, QueryError> {
        self.eval(plan, root).map(Cow::into_owned)
    }

    /// Borrows from the document and from the plan as long as it can.
    pub(super) fn eval<'a>(&mut self, plan: &'a Plan, data: &'a Node) -> Found<'a> {
        self.budget.spend(1)?;
        let held_before = self.budget.held_bytes;
        let found = self.step(plan, data)?;
        // Whatever was made on the way is gone where the value refers to none of it: a borrowed one was there before.
        if matches!(found, Cow::Borrowed(_) | Cow::Owned(Node::Null | Node::Bool(_) | Node::Number(_))) {
            self.budget.held_bytes = held_before;
        }
        Ok(found)
    }

    fn step<'a>(&mut self, plan: &'a Plan, data: &'a Node) -> Found<'a> {
        match plan {
            Plan::Current => Ok(Cow::Borrowed(data)),
            Plan::Field(name) => {
                Ok(Cow::Borrowed(data.as_object().and_then(|object| object.get(name)).unwrap_or(&NULL)))
            }
            Plan::Index(index) => Ok(Cow::Borrowed(item(data, *index).unwrap_or(&NULL))),
            Plan::Slice { start, stop, step } => self.slice(data, *start, *stop, *step),
            Plan::Literal(node) => Ok(Cow::Borrowed(node)),
            Plan::Then(first, second) => match self.eval(first, data)? {
                Cow::Borrowed(between) => self.eval(second, between),
                Cow::Owned(between) => Ok(Cow::Owned(self.eval(second, &between)?.into_owned())),
            },
            Plan::Or(left, right) => {
                let left = self.eval(left, data)?;
                if is_truthy(&left) { Ok(left) } else { self.eval(right, data) }
            }
            Plan::And(left, right) => {
                let left = self.eval(left, data)?;
                if is_truthy(&left) { self.eval(right, data) } else { Ok(left) }
            }
            Plan::Not(plan) => Ok(Cow::Owned(Node::Bool(!is_truthy(&*self.eval(plan, data)?)))),
            Plan::If(condition, then) => {
                let is_met = is_truthy(&*self.eval(condition, data)?);
                if is_met { self.eval(then, data) } else { Ok(Cow::Borrowed(&NULL)) }
            }
            Plan::Compare(comparator, left, right) => self.compare(comparator, left, right, data),
            Plan::Values(plan) => {
                let subject = self.eval(plan, data)?;
                let Some(object) = subject.as_object() else { return Ok(Cow::Borrowed(&NULL)) };
                let mut values = Items::default();
                values.extend(object.iter().map(|(_, node)| node), self.budget)?;
                values.finish(self.budget).map(Cow::Owned)
            }
            Plan::Project(left, right) => self.project(left, right, data),
            Plan::Flatten(plan) => self.flatten(plan, data),
            Plan::List(_) | Plan::Hash(_) if matches!(data, Node::Null) => Ok(Cow::Borrowed(&NULL)),
            Plan::List(plans) => {
                let mut items = Items::default();
                for plan in plans {
                    let item = self.eval(plan, data)?.into_owned();
                    items.push(item, self.budget)?;
                }
                items.finish(self.budget).map(Cow::Owned)
            }
            Plan::Hash(plans) => {
                let mut fields = Fields::default();
                for (name, plan) in plans {
                    let value = self.eval(plan, data)?.into_owned();
                    fields.push(name, value, self.budget)?;
                }
                fields.finish(self.budget).map(Cow::Owned)
            }
            Plan::Call { function, arguments, offset } => self.call(*function, arguments, *offset, data),
        }
    }

    fn project<'a>(&mut self, left: &'a Plan, right: &'a Plan, data: &'a Node) -> Found<'a> {
        let subject = self.eval(left, data)?;
        let Some(array) = subject.as_array() else { return Ok(Cow::Borrowed(&NULL)) };
        let mut found = Items::default();
        for item in array {
            let picked = self.eval(right, item)?;
            if !matches!(*picked, Node::Null) {
                found.push(picked.into_owned(), self.budget)?;
            }
        }
        found.finish(self.budget).map(Cow::Owned)
    }

    fn flatten<'a>(&mut self, plan: &'a Plan, data: &'a Node) -> Found<'a> {
        let subject = self.eval(plan, data)?;
        let Some(array) = subject.as_array() else { return Ok(Cow::Borrowed(&NULL)) };
        let mut flat = Items::default();
        for item in array {
            match item {
                Node::Array(inner) => flat.extend(inner.iter(), self.budget)?,
                other => flat.extend(std::iter::once(other), self.budget)?,
            }
        }
        flat.finish(self.budget).map(Cow::Owned)
    }

    fn slice<'a>(&mut self, data: &Node, start: Option<i32>, stop: Option<i32>, step: i32) -> Found<'a> {
        let Some(array) = data.as_array() else { return Ok(Cow::Borrowed(&NULL)) };
        let mut picked = Items::default();
        let positions = positions(array.len(), start, stop, step);
        picked.extend(positions.filter_map(|at| array.get(at)), self.budget)?;
        picked.finish(self.budget).map(Cow::Owned)
    }

    fn compare<'a>(
        &mut self,
        comparator: &Comparator,
        left: &'a Plan,
        right: &'a Plan,
        data: &'a Node,
    ) -> Found<'a> {
        let left = self.eval(left, data)?;
        let right = self.eval(right, data)?;
        let result = match comparator {
            Comparator::Equal => Some(self.same(&left, &right)?),
            Comparator::NotEqual => Some(!self.same(&left, &right)?),
            ordering => match (&*left, &*right) {
                (Node::Number(left), Node::Number(right)) => {
                    order(left, right).map(|found| matches_order(ordering, found))
                }
                _ => None,
            },
        };
        Ok(Cow::Owned(result.map_or(Node::Null, Node::Bool)))
    }

    /// Equal as JSON. Counted, because a value that was put together may be much larger than
    /// what it was made of.
    pub(super) fn same(&mut self, a: &Node, b: &Node) -> Result<bool, QueryError> {
        match (a, b) {
            (Node::Array(a), Node::Array(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                self.budget.spend(a.len() as u64)?;
                for (a, b) in a.iter().zip(b) {
                    if !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Node::Object(a), Node::Object(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                self.budget.spend(a.len() as u64)?;
                for (name, a) in a {
                    let Some(b) = b.get(name) else { return Ok(false) };
                    if !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(a == b),
        }
    }
}

/// Empty, `false` and `null` are not.
fn is_truthy(node: &Node) -> bool {
    match node {
        Node::Null | Node::Bool(false) => false,
        Node::Bool(true) | Node::Number(_) => true,
        Node::Text(text) => !text.is_empty(),
        Node::Array(array) => !array.is_empty(),
        Node::Object(object) => !object.is_empty(),
    }
}

fn item(data: &Node, index: i32) -> Option<&Node> {
    let array: &Array = data.as_array()?;
    let at = if index >= 0 {
        usize::try_from(index).ok()?
    } else {
        array.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
    };
    array.get(at)
}

/// The positions of a slice, as Python counts them.
fn positions(len: usize, start: Option<i32>, stop: Option<i32>, step: i32) -> impl Iterator<Item = usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let step = i64::from(step);
    let (lowest, highest) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let bound = |given: Option<i32>, otherwise: i64| match given.map(i64::from) {
        None => otherwise,
        Some(given) if given < 0 => (given + len).max(lowest),
        Some(given) => given.min(highest),
    };
    let (first, end) =
        if step > 0 { (bound(start, 0), bound(stop, len)) } else { (bound(start, len - 1), bound(stop, -1)) };
    let is_within = move |at: &i64| if step > 0 { *at < end } else { *at > end };
    std::iter::successors(Some(first), move |at| at.checked_add(step))
        .take_while(is_within)
        .filter_map(|at| usize::try_from(at).ok())
}

pub(super) fn order(a: &serde_json::Number, b: &serde_json::Number) -> Option<std::cmp::Ordering> {
    match (crate::node::whole(a), crate::node::whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn matches_order(comparator: &Comparator, order: std::cmp::Ordering) -> bool {
    match comparator {
        Comparator::LessThan => order.is_lt(),
        Comparator::LessThanEqual => order.is_le(),
        Comparator::GreaterThan => order.is_gt(),
        Comparator::GreaterThanEqual => order.is_ge(),
        Comparator::Equal => order.is_eq(),
        Comparator::NotEqual => order.is_ne(),
    }
}
