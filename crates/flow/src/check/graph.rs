//! Nodes that never run, and vars that two nodes may write at once.

use super::scope::{Level, Walk};
use crate::document::{Action, Block, Field, Node};
use crate::problem::{Code, Problem};
use crate::settle::Port;
use std::collections::HashSet;

/// Pairs of nodes that are looked at for races; whoever has more knows of some by then.
const MAX_PAIRS: usize = 500;

impl Walk<'_> {
    /// Everything about the edges of the block that was entered last.
    pub(super) fn graph(&mut self, block: &Block) {
        self.races_of_items(block);
        // What edges are left out of it says nothing of those that were meant.
        if block.is_torn() {
            return;
        }
        for node in unreachable(block) {
            let Node { id, path, at, .. } = &block.nodes[node];
            let message = format!("'{id}' never runs: nothing leads to it that goes on");
            self.problems.add(Problem::error(Code::Unreachable, path, *at, message));
        }
        for (node, (wanted, there)) in block.graph.joins_too_wide() {
            let Node { id, path, at, .. } = &block.nodes[node];
            let message = format!("'{id}' never runs: it waits for {wanted} edges, and {there} lead to it");
            self.problems.add(Problem::error(Code::Unreachable, path, *at, message));
        }
        let Some(level) = self.levels.last() else { return };
        for (one, other, var) in races(block, level) {
            let message =
                format!("'{}' writes the var '{var}' while '{}' may write it, too", one.id, other.id);
            self.problems.add(Problem::warning(Code::Race, &one.path, one.at, message));
        }
    }

    /// Items of an each that are at work at once, and write what lies outside.
    fn races_of_items(&mut self, block: &Block) {
        for node in &block.nodes {
            for var in written(node) {
                let own = self.levels.iter().rposition(|level| level.vars.contains(&var));
                let inside = own.map_or(0, |level| level + 1);
                if self.levels[inside.min(self.levels.len())..].iter().any(|level| level.is_parallel) {
                    let message = format!("'{}' writes the var '{var}' for several items at once", node.id);
                    self.problems.add(Problem::warning(Code::Race, &node.path, node.at, message));
                }
            }
        }
    }
}

/// Nodes all of whose edges come from ends or from such nodes.
fn unreachable(block: &Block) -> Vec<usize> {
    let graph = &block.graph;
    let mut is_reached: Vec<_> = (0..graph.len()).map(|node| graph.is_start(node)).collect();
    for &node in graph.order() {
        if is_reached[node] || graph.handler() == Some(node) {
            is_reached[node] = true;
            let edges = graph.edges(node).iter().filter(|edge| goes_on(&block.nodes[node], edge.port));
            edges.for_each(|edge| is_reached[edge.to] = true);
        }
    }
    (0..graph.len()).filter(|node| !is_reached[*node]).collect()
}

/// A node may take such an edge; one with `only` may do nothing, and go on.
fn goes_on(node: &Node, port: Port) -> bool {
    let is_passed = node.only.is_some() && port == Port::Next;
    is_passed
        || match node.action {
            Action::Return(_) => false,
            Action::Throw { .. } => port == Port::Fail,
            _ => true,
        }
}

/// Pairs of nodes that write the same var with no edges from one to the other.
fn races<'b>(block: &'b Block, level: &Level<'_>) -> Vec<(&'b Node, &'b Node, &'b str)> {
    let mut races = Vec::new();
    let mut looked = 0;
    for (a, one) in block.nodes.iter().enumerate() {
        let ours: HashSet<_> = written(one).collect();
        for (b, other) in block.nodes.iter().enumerate().skip(a + 1) {
            let Some(var) = written(other).find(|var| ours.contains(var)) else { continue };
            looked += 1;
            if looked > MAX_PAIRS {
                return races;
            }
            let is_ordered = level.downstream[a][b] || level.downstream[b][a];
            if !is_ordered && !are_exclusive(block, level, a, b) {
                races.push((one, other, var));
            }
        }
    }
    races
}

/// A branch leads to the one or to the other.
fn are_exclusive(block: &Block, level: &Level<'_>, a: usize, b: usize) -> bool {
    let graph = &block.graph;
    let ports = |from: usize, to: usize| -> Vec<Port> {
        graph.edges(from).iter().filter(|edge| level.downstream[edge.to][to]).map(|edge| edge.port).collect()
    };
    (0..graph.len()).any(|from| {
        let (to_a, to_b) = (ports(from, a), ports(from, b));
        let is_other = |port: &Port| !to_b.contains(port) && *port != Port::Next;
        !to_a.is_empty() && !to_b.is_empty() && to_a.iter().all(is_other)
    })
}

/// The vars that a node writes.
fn written(node: &Node) -> impl Iterator<Item = &str> {
    node.sets.iter().filter_map(|field| match field {
        Field::Set(key, _) => Some(key.name.as_str()),
        Field::Spread(_) => None,
    })
}
