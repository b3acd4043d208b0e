//! Which names an expression may use, and what they are.

use super::{Bound, Tools};
use crate::document::{Block, Data, Flow};
use crate::problem::Problems;
use serde_json::Value;
use std::collections::HashSet;

/// What every flow can name.
pub(super) const GIVEN: [&str; 4] = ["run", "trigger", "tenantId", "buCode"];

/// A walk through a flow: the blocks around the present node, and what was found.
pub(super) struct Walk<'a> {
    pub(super) flow: &'a Flow,
    pub(super) tools: &'a dyn Tools,
    pub(super) levels: Vec<Level<'a>>,
    pub(super) problems: Problems,
    pub(super) bound: Vec<Bound>,
    pub(super) used: HashSet<String>,
}

/// A block, and where the walk is in it.
pub(super) struct Level<'a> {
    pub(super) block: &'a Block,
    /// The node that the walk is at.
    pub(super) at: usize,
    /// `downstream[a][b]`: edges lead from a to b.
    pub(super) downstream: Vec<Vec<bool>>,
    /// The item of an each, and its number.
    pub(super) locals: Vec<&'a str>,
    /// The vars of a loop.
    pub(super) vars: Vec<&'a str>,
    /// Several of it may be at work at once.
    pub(super) is_parallel: bool,
}

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Local,
    LoopVar,
    Node { is_upstream: bool },
    Var,
    Input,
    Given,
}

impl<'a> Walk<'a> {
    pub(super) fn new(flow: &'a Flow, tools: &'a dyn Tools) -> Self {
        let (problems, bound, used) = (Problems::default(), Vec::new(), HashSet::new());
        Self { flow, tools, levels: Vec::new(), problems, bound, used }
    }

    /// What a name is at the present node; the innermost counts.
    pub(super) fn resolve(&self, name: &str) -> Option<Named> {
        for level in self.levels.iter().rev() {
            if level.locals.contains(&name) {
                return Some(Named::Local);
            }
            if level.vars.contains(&name) {
                return Some(Named::LoopVar);
            }
            if let Some(node) = level.block.find(name) {
                return Some(Named::Node { is_upstream: level.may_be_upstream(node) });
            }
        }
        if self.flow.vars.iter().any(|(var, _)| var.name == name) {
            return Some(Named::Var);
        }
        if self.flow.inputs.iter().any(|input| input.name == name) {
            return Some(Named::Input);
        }
        GIVEN.contains(&name).then_some(Named::Given)
    }

    /// All names that may be used at the present node.
    pub(super) fn names(&self) -> Vec<&str> {
        let levels = self.levels.iter().flat_map(|level| {
            let nodes = level.block.nodes.iter().enumerate().filter(|(node, _)| level.is_upstream(*node));
            let nodes = nodes.map(|(_, node)| node.id.as_str());
            level.locals.iter().chain(&level.vars).copied().chain(nodes)
        });
        let vars = self.flow.vars.iter().map(|(key, _)| key.name.as_str());
        let inputs = self.flow.inputs.iter().map(|input| input.name.as_str());
        levels.chain(vars).chain(inputs).chain(GIVEN).collect()
    }

    /// The type of the document that a schema names, else itself.
    fn named<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        name.and_then(|name| self.flow.types.get(name)).unwrap_or(schema)
    }

    /// The type of a name as a JSON Schema, where it is known.
    pub(super) fn type_of(&self, name: &str) -> Option<Value> {
        match self.resolve(name)? {
            Named::Input => {
                let input = self.flow.inputs.iter().find(|input| input.name == name);
                input.map(|input| self.named(&input.schema).clone())
            }
            Named::Var => match self.flow.vars.iter().find(|(var, _)| var.name == name) {
                Some((_, Data::Literal(value))) if !value.is_null() => Some(schema_of(value)),
                _ => None,
            },
            Named::Given if name != "run" && name != "trigger" => Some(serde_json::json!({"type": "string"})),
            Named::Local | Named::LoopVar | Named::Node { .. } | Named::Given => None,
        }
    }
}

impl Level<'_> {
    /// The same, or edges that were meant and are not there may lead here.
    fn may_be_upstream(&self, node: usize) -> bool {
        let is_lost = |(from, is_torn): (usize, &bool)| *is_torn && self.downstream[node][from];
        self.is_upstream(node) || self.block.torn.iter().enumerate().any(is_lost)
    }

    /// What the node that is named gives is there, or null for good, when the present node runs.
    pub(super) fn is_upstream(&self, node: usize) -> bool {
        let is_handled =
            |node: usize| self.block.graph.handler().is_some_and(|handler| self.downstream[handler][node]);
        let is_before = node != self.at && self.downstream[node][self.at];
        // The handler comes behind everything that it does not lead to.
        is_before || is_handled(self.at) && !is_handled(node)
    }
}

fn schema_of(value: &Value) -> Value {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    serde_json::json!({"type": name})
}
