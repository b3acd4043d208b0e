//! Nodes of a block, and the edges between them.

use super::model::{Block, Node};
use super::node::{self, Wanted};
use super::types::Types;
use crate::cursor::{Cursor, is_name};
use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::settle::{Edge, Graph, Join, Port, without_circles};
use crate::source::Place;
use document::did_you_mean;
use std::collections::HashMap;

/// Reads blocks and counts what is in them.
pub(crate) struct Blocks<'a> {
    pub(crate) types: &'a Types<'a>,
    nodes: usize,
    depth: usize,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(types: &'a Types<'a>) -> Self {
        Self { types, nodes: 0, depth: 0 }
    }

    /// The `nodes` of a flow or of a node; `handler` takes failures that nothing else takes.
    pub(crate) fn read(
        &mut self,
        cursor: &Cursor<'_>,
        handler: Option<&str>,
        problems: &mut Problems,
    ) -> Option<Block> {
        let Some(field) = cursor.field("nodes") else {
            problems.add(Problem::error(
                Code::Syntax,
                &cursor.path,
                cursor.at,
                "'nodes' is missing: what is to be done",
            ));
            return None;
        };
        if !field.is_map() || field.entries().next().is_none() {
            problems.add(field.mismatch("an object of nodes, at least one,"));
            return None;
        }
        // The flow's own block is in no other.
        if self.depth > limits::LEVELS {
            let message = format!("blocks stand more than {} levels deep in one another", limits::LEVELS);
            problems.add(field.error(Code::LimitExceeded, message));
            return None;
        }
        self.depth += 1;
        let nodes: Vec<_> =
            field.entries().filter_map(|(id, node)| self.read_node(id, &node, problems)).collect();
        self.depth -= 1;
        connect(nodes, cursor, handler, problems)
    }

    fn read_node(
        &mut self,
        id: &str,
        cursor: &Cursor<'_>,
        problems: &mut Problems,
    ) -> Option<(Node, Wanted)> {
        self.nodes += 1;
        // What comes behind is not even looked at.
        if self.nodes > limits::NODES {
            if self.nodes == limits::NODES + 1 {
                let message = format!("a flow has at most {} nodes", limits::NODES);
                problems.add(cursor.error(Code::LimitExceeded, message));
            }
            return None;
        }
        if !is_name(id) {
            let message = format!("'{id}' is no name for a node: letters, digits and _, not first a digit");
            problems.add(Problem::error(Code::Syntax, &cursor.path, cursor.at, message));
        }
        Some(node::read(id, cursor, self, problems))
    }
}

/// Names of nodes become numbers.
fn connect(
    nodes: Vec<(Node, Wanted)>,
    cursor: &Cursor<'_>,
    handler: Option<&str>,
    problems: &mut Problems,
) -> Option<Block> {
    let (nodes, wanted): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
    let joins: Vec<Join> = wanted.iter().map(|wanted| wanted.join).collect();
    let places: Places<'_> = nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    let is_read = !wanted.iter().any(|wanted| wanted.is_unreadable);
    let mut torn = vec![false; nodes.len()];
    let mut edges: Vec<Vec<Edge>> = Vec::new();
    for (node, wanted) in wanted.iter().enumerate() {
        let edge = |(port, id, path, at): &(Port, String, String, Place)| {
            Some(Edge { to: find(&places, id, path, *at, problems)?, port: *port })
        };
        let found: Vec<_> = wanted.edges.iter().filter_map(edge).collect();
        torn[node] = wanted.is_unreadable || found.len() < wanted.edges.len();
        edges.push(found);
    }
    let wanted_handler = handler.zip(cursor.field("fail"));
    let handler = wanted_handler
        .as_ref()
        .and_then(|(id, field)| find(&places, id, &field.path, field.spot().at, problems));
    if handler.is_none() && wanted_handler.is_some() {
        torn.fill(true);
    }
    match Graph::new(joins.clone(), edges.clone(), handler) {
        Ok(graph) => Some(Block { nodes, graph, torn, is_read }),
        Err(circle) => {
            let names = circle.iter().chain(circle.first()).map(|node| nodes[*node].id.as_str());
            let names: Vec<_> = names.collect();
            let first = &nodes[*circle.first()?];
            let message = format!("edges lead in a circle: {}; use 'loop' to repeat", names.join(" → "));
            problems.add(Problem::error(Code::Cycle, &first.path, first.at, message));
            // The nodes are still looked at, with the edges that lie on no circle.
            let graph = Graph::new(joins, without_circles(edges, &mut torn), handler).ok()?;
            Some(Block { nodes, graph, torn, is_read })
        }
    }
}

/// Nodes of a block by id.
type Places<'a> = HashMap<&'a str, usize>;

fn find(places: &Places<'_>, id: &str, path: &str, at: Place, problems: &mut Problems) -> Option<usize> {
    let found = places.get(id).copied();
    if found.is_none() && !problems.is_full() {
        let meant = did_you_mean(id, places.keys().copied());
        let message = format!("there is no node '{id}' in this block{meant}");
        problems.add(Problem::error(Code::UnknownNode, path, at, message));
    }
    found
}

/// The edges that a field of a node asks for: an id, ids with commas between them, or a list of ids.
pub(super) fn targets(cursor: &Cursor<'_>, port: Port, wanted: &mut Wanted, problems: &mut Problems) {
    if cursor.is_list() {
        cursor.items().for_each(|item| targets(&item, port, wanted, problems));
        return;
    }
    let Some(text) = cursor.text(problems) else { return };
    for id in text.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        wanted.edges.push((port, id.to_owned(), cursor.path.clone(), cursor.spot().at));
    }
}
