//! Nodes of a block, and the edges between them.

use super::model::{Block, Node};
use super::node::{self, Wanted};
use super::types::Types;
use crate::cursor::{Cursor, is_identifier};
use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::settle::{Edge, Graph, Join, Port};
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

    /// The nodes of the flow; `handler` takes failures that nothing else takes.
    pub(crate) fn read_root(
        &mut self,
        cursor: &Cursor<'_>,
        handler: Option<&str>,
        problems: &mut Problems,
    ) -> Option<Block> {
        self.read(cursor, handler, problems)
    }

    /// The `nodes` of a flow or of a node.
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

fn connect(
    nodes: Vec<(Node, Wanted)>,
    cursor: &Cursor<'_>,
    handler: Option<&str>,
    problems: &mut Problems,
) -> Option<Block> {
    let (nodes, wanted): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
    let find = |id: &str, path: &str, at, problems: &mut Problems| {
        let found = nodes.iter().position(|node| node.id == id);
        if found.is_none() && !problems.is_full() {
            let meant = did_you_mean(id, nodes.iter().map(|node| node.id.as_str()));
            problems.add(Problem::error(
                Code::UnknownNode,
                path,
                at,
                format!("there is no node '{id}' in this block{meant}"),
            ));
        }
        found
    };
    let handler = match handler {
        Some(id) => {
            let field = cursor.field("fail")?;
            Some(find(id, &field.path, field.spot().at, problems)?)
        }
        None => None,
    };
    let joins: Vec<Join> = wanted.iter().map(|wanted| wanted.join).collect();
    let mut edges = Vec::new();
    let mut is_whole = true;
    for wanted in &wanted {
        let mut leaving = Vec::new();
        for (port, id, path, at) in &wanted.edges {
            match find(id, path, *at, problems) {
                Some(to) => leaving.push(Edge { to, port: *port }),
                None => is_whole = false,
            }
        }
        edges.push(leaving);
    }
    match Graph::new(joins, edges, handler) {
        Ok(graph) if is_whole => Some(Block { nodes, graph }),
        Ok(_) => None,
        Err(circle) => {
            let names: Vec<_> =
                circle.iter().chain(circle.first()).map(|node| nodes[*node].id.as_str()).collect();
            let first = &nodes[*circle.first()?];
            let message = format!("edges lead in a circle: {}; use 'loop' to repeat", names.join(" → "));
            problems.add(Problem::error(Code::Cycle, &first.path, first.at, message));
            None
        }
    }
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
