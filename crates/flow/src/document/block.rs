//! Nodes of a block, and the edges between them.

use super::model::{Block, Node};
use super::node::{self, Wanted};
use super::types::Types;
use crate::cursor::{Cursor, is_identifier};
use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::settle::{Edge, Graph, Join, Port};
use crate::source::Place;
use document::did_you_mean;

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
        if self.depth == limits::LEVELS {
            let message = format!("blocks stand more than {} levels deep in one another", limits::LEVELS);
            problems.add(field.error(Code::LimitExceeded, message));
            return None;
        }
        self.depth += 1;
        let nodes: Vec<_> = field.entries().map(|(id, node)| self.read_node(id, &node, problems)).collect();
        self.depth -= 1;
        connect(nodes.into_iter().collect::<Option<Vec<_>>>()?, cursor, handler, problems)
    }

    fn read_node(
        &mut self,
        id: &str,
        cursor: &Cursor<'_>,
        problems: &mut Problems,
    ) -> Option<(Node, Wanted)> {
        self.nodes += 1;
        if self.nodes == limits::NODES + 1 {
            let message = format!("a flow has at most {} nodes", limits::NODES);
            problems.add(cursor.error(Code::LimitExceeded, message));
        }
        if !is_identifier(id) {
            let message = format!("'{id}' is no name for a node: letters, digits and _, not first a digit");
            problems.add(Problem::error(Code::Syntax, &cursor.path, cursor.at, message));
        }
        node::read(id, cursor, self, problems)
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
    let edges: Vec<_> = wanted.iter().map(|wanted| edges(&nodes, wanted, problems)).collect();
    let handler = match handler {
        Some(id) => {
            let field = cursor.field("fail")?;
            Some(find(&nodes, id, &field.path, field.spot().at, problems)?)
        }
        None => None,
    };
    match Graph::new(joins, edges.into_iter().collect::<Option<Vec<_>>>()?, handler) {
        Ok(graph) => Some(Block { nodes, graph }),
        Err(circle) => {
            let names = circle.iter().chain(circle.first()).map(|node| nodes[*node].id.as_str());
            let names: Vec<_> = names.collect();
            let first = &nodes[*circle.first()?];
            let message = format!("edges lead in a circle: {}; use 'loop' to repeat", names.join(" → "));
            problems.add(Problem::error(Code::Cycle, &first.path, first.at, message));
            None
        }
    }
}

/// The edges that leave a node; `None` if one of them leads nowhere.
fn edges(nodes: &[Node], wanted: &Wanted, problems: &mut Problems) -> Option<Vec<Edge>> {
    let edge = |(port, id, path, at): &(Port, String, String, Place)| {
        Some(Edge { to: find(nodes, id, path, *at, problems)?, port: *port })
    };
    let edges: Vec<_> = wanted.edges.iter().map(edge).collect();
    edges.into_iter().collect()
}

fn find(nodes: &[Node], id: &str, path: &str, at: Place, problems: &mut Problems) -> Option<usize> {
    let found = nodes.iter().position(|node| node.id == id);
    if found.is_none() && !problems.is_full() {
        let meant = did_you_mean(id, nodes.iter().map(|node| node.id.as_str()));
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
