//! Names in nodes: every expression names what it can see.

use super::scope::{Level, Named, Walk};
use crate::document::{Action, Block, Check, Data, Field, Formula, Key, Node, Origin, Target, Wait};
use crate::problem::{Code, Problem};
use document::did_you_mean;
use expression::Position;

impl<'a> Walk<'a> {
    /// The nodes of the flow's own block.
    pub(super) fn block(&mut self, block: &'a Block) {
        self.enter(None, block, Vec::new(), Vec::new(), false);
    }

    /// The nodes of a block, one after the other; `owner` is the node that it belongs to.
    fn enter(
        &mut self,
        owner: Option<&'a Node>,
        block: &'a Block,
        locals: Vec<&'a str>,
        vars: Vec<&'a str>,
        is_parallel: bool,
    ) {
        let own: Vec<_> = locals.iter().chain(&vars).copied().collect();
        let declared = owner.into_iter().flat_map(|owner| own.iter().map(move |name| (*name, owner)));
        let nodes = block.nodes.iter().map(|node| (node.id.as_str(), node));
        let is_taken = |(name, node): &(&str, &Node)| {
            self.resolve(name).is_some() || own.contains(name) && node.id == *name
        };
        let taken: Vec<_> =
            declared.chain(nodes).filter(is_taken).map(|(name, node)| taken(name, node)).collect();
        self.problems.extend(taken);
        let downstream = (0..block.nodes.len()).map(|node| block.graph.downstream(&[node])).collect();
        self.levels.push(Level { block, at: 0, downstream, locals, vars, is_parallel });
        self.graph(block);
        for (at, node) in block.nodes.iter().enumerate() {
            if let Some(level) = self.levels.last_mut() {
                level.at = at;
            }
            self.node(node);
        }
        self.levels.pop();
    }

    fn node(&mut self, node: &'a Node) {
        if let Some(only) = &node.only {
            self.formula(only, None);
        }
        self.action(node);
        let loop_vars = match &node.action {
            Action::Loop(looped) => looped.vars.iter().map(|(key, _)| key.name.as_str()).collect(),
            _ => Vec::new(),
        };
        self.with_vars(loop_vars, |walk| {
            for field in &node.sets {
                walk.set(node, field);
            }
            if let Some(with) = &node.with {
                walk.data(with, Some(&node.id));
            }
        });
    }

    fn action(&mut self, node: &'a Node) {
        match &node.action {
            Action::Call(call) => self.call(node, call),
            Action::Map => {}
            Action::Condition(when) => self.formula(when, None),
            Action::Switch(cases) => cases.iter().for_each(|case| self.formula(case, None)),
            Action::Wait(Wait::Until(until)) => self.formula(until, None),
            Action::Wait(Wait::Signal { key, .. }) => key.iter().for_each(|key| self.data(key, None)),
            Action::Wait(Wait::For(_)) => {}
            Action::Each(each) => {
                self.formula(&each.list, None);
                let locals = [Some(&each.item), each.index.as_ref()]
                    .into_iter()
                    .flatten()
                    .map(String::as_str)
                    .collect();
                self.enter(Some(node), &each.block, locals, Vec::new(), each.limit > 1);
            }
            Action::Loop(looped) => {
                let mut vars = Vec::new();
                for (key, data) in &looped.vars {
                    self.with_vars(vars.clone(), |walk| walk.data(data, None));
                    vars.push(key.name.as_str());
                }
                self.with_vars(vars.clone(), |walk| {
                    looped.when.iter().for_each(|when| walk.formula(when, None))
                });
                self.enter(Some(node), &looped.block, Vec::new(), vars, false);
            }
            Action::Block { block, .. } => self.enter(Some(node), block, Vec::new(), Vec::new(), false),
            Action::Approval(approval) => {
                self.data(&approval.title, None);
                self.data(&approval.by, None);
                approval.notify.iter().for_each(|call| self.call(node, call));
            }
            Action::Guard(guard) => {
                self.data(&guard.of, None);
                match &guard.check {
                    Check::Custom(when) => self.formula(when, None),
                    Check::Asked { call, .. } => self.call(node, call),
                    Check::Pii | Check::Schema(_) => {}
                }
            }
            Action::Return(data) => self.data(data, None),
            Action::Throw { code, message } => {
                [code, message].into_iter().for_each(|data| self.data(data, None))
            }
        }
    }

    fn call(&mut self, node: &'a Node, call: &'a crate::document::Call) {
        self.data(&call.args, None);
        // What is no URI was reported when it was read.
        if let Target(Ok(uri)) = &call.target {
            self.arguments(node, call, uri);
        }
        call.in_place.iter().flat_map(|agent| agent.uris()).for_each(|uri| self.tool(call, &uri));
    }

    /// Looks at something that sees the vars of a loop besides what the present node sees.
    fn with_vars(&mut self, vars: Vec<&'a str>, look: impl FnOnce(&mut Self)) {
        let before = self.levels.last_mut().map(|level| (level.vars.len(), level.vars.extend(vars)));
        look(self);
        if let (Some(level), Some((count, ()))) = (self.levels.last_mut(), before) {
            level.vars.truncate(count);
        }
    }

    /// A var that a node writes: it is declared, and the value speaks of names it sees.
    fn set(&mut self, node: &Node, field: &Field) {
        let (Key { name, at }, data) = match field {
            Field::Set(key, data) => (key, data),
            Field::Spread(formula) => return self.formula(formula, Some(&node.id)),
        };
        self.data(data, Some(&node.id));
        let path = format!("{}.sets.{name}", node.path);
        match self.resolve(name) {
            Some(Named::Var | Named::LoopVar) => {}
            Some(_) => {
                let message = format!(
                    "'{name}' is no var: 'sets' writes vars alone, results of nodes stay as they are"
                );
                self.problems.add(Problem::error(Code::UnknownName, &path, *at, message));
            }
            None if self.problems.is_full() => {}
            None => {
                let vars: Vec<_> = self.flow.vars.iter().map(|(key, _)| key.name.as_str()).collect();
                let message =
                    format!("there is no var '{name}'{}; declare it in 'vars'", did_you_mean(name, vars));
                self.problems.add(Problem::error(Code::UnknownName, &path, *at, message));
            }
        }
    }

    fn formula(&mut self, formula: &Formula, own: Option<&str>) {
        formula.visit(&mut |name, origin, at| self.name(name, own, origin, at));
    }

    fn data(&mut self, data: &Data, own: Option<&str>) {
        data.visit(&mut |name, origin, at| self.name(name, own, origin, at));
    }

    /// One name in an expression at the present node; `own` is the node's, where its raw result can be seen.
    fn name(&mut self, name: &str, own: Option<&str>, origin: &Origin, at: Position) {
        self.used.insert(name.to_owned());
        if self.problems.is_full() {
            return;
        }
        let (code, message) = match self.resolve(name) {
            Some(Named::Node { is_upstream: false }) if own != Some(name) => (
                Code::NotUpstream,
                format!("'{name}' has not run when this is needed: no edges lead from it to here"),
            ),
            Some(_) => return,
            None if expression::is_type(name) => return,
            None => (Code::UnknownName, unknown(name, &self.names())),
        };
        self.problems.add(Problem::error(code, origin.path(), origin.place(at), message));
    }
}

pub(super) fn unknown(name: &str, names: &[&str]) -> String {
    format!("there is nothing named '{name}'{}", did_you_mean(name, names.iter().copied()))
}

fn taken(name: &str, node: &Node) -> Problem {
    let message = format!("the name '{name}' is taken around here; names are unique");
    Problem::error(Code::Duplicate, &node.path, node.at, message)
}
