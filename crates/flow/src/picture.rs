//! A flow as a picture: its nodes, and the edges between them, for those who draw it.

use crate::document::{Action, Block, Check, Flow, Node, Target};
use crate::settle::Port;

/// What a canvas draws.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// In the order of the document, each before those inside it.
    pub nodes: Vec<PictureNode>,
    /// In the same order.
    pub edges: Vec<PictureEdge>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureNode {
    /// Its id; of one inside another, behind that one's id and a dot.
    pub id: String,
    /// What it is, e.g. `tool`.
    pub kind: &'static str,
    /// What it calls, where it calls something by its address.
    pub uri: Option<String>,
    /// Where it stands in the text, from 1.
    pub line: usize,
}

/// One edge between two nodes of the same block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureEdge {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Which exit takes it: `next`, `then`, `case`, `else` or `fail`.
    pub kind: &'static str,
}

/// The flow as a picture.
#[must_use]
pub fn picture(flow: &Flow) -> Picture {
    let mut picture = Picture::default();
    draw(&flow.block, "", &mut picture);
    picture
}

fn draw(block: &Block, outer: &str, picture: &mut Picture) {
    let ids: Vec<String> = block.nodes.iter().map(|node| format!("{outer}{}", node.id)).collect();
    for (index, node) in block.nodes.iter().enumerate() {
        let id = ids[index].clone();
        picture.nodes.push(PictureNode { id, kind: node.kind(), uri: uri_of(node), line: node.at.line });
        for edge in block.graph.edges(index) {
            let (from, to) = (ids[index].clone(), ids[edge.to].clone());
            picture.edges.push(PictureEdge { from, to, kind: exit(node, edge.port) });
        }
        if let Some(inner) = node.block() {
            draw(inner, &format!("{}.", ids[index]), picture);
        }
    }
}

fn uri_of(node: &Node) -> Option<String> {
    let call = match &node.action {
        Action::Call(call) => call,
        Action::Approval(approval) => approval.notify.as_ref()?,
        Action::Guard(guard) => match &guard.check {
            Check::Asked { call, .. } => call,
            Check::Pii | Check::Schema(_) | Check::Custom(_) => return None,
        },
        _ => return None,
    };
    match &call.target {
        Target(Ok(uri)) => Some(uri.to_string()),
        Target(Err(_)) => None,
    }
}

/// The word that the document has for an exit.
fn exit(node: &Node, port: Port) -> &'static str {
    match (port, &node.action) {
        (Port::Next, _) => "next",
        (Port::Fail, _) => "fail",
        (Port::Branch(branch), Action::Switch(cases)) if branch < cases.len() => "case",
        (Port::Branch(0), Action::Switch(_)) => "else",
        (Port::Branch(0), _) => "then",
        (Port::Branch(_), _) => "else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_nodes_where_they_stand_and_every_edge() {
        let source = "nodes:\n  a:\n    exec: api://crm/get\n    next: b\n    fail: c\n  b:\n    when: a.x == 1\n    then: c\n    else: d\n  c:\n    with: 1\n  d:\n    each: a.list => item\n    nodes:\n      e:\n        exec: api://crm/put\n";
        let read = crate::read(source);
        let flow = read.flow.unwrap_or_else(|| panic!("{:?}", read.problems));
        let picture = picture(&flow);
        let nodes: Vec<_> =
            picture.nodes.iter().map(|node| (node.id.as_str(), node.kind, node.line)).collect();
        assert_eq!(
            nodes,
            [
                ("a", "tool", 2),
                ("b", "condition", 6),
                ("c", "mapping", 10),
                ("d", "each", 12),
                ("d.e", "tool", 15)
            ]
        );
        assert_eq!(picture.nodes[4].uri.as_deref(), Some("api://crm/put"));
        let edges: Vec<_> =
            picture.edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str(), edge.kind)).collect();
        assert_eq!(edges, [("a", "b", "next"), ("a", "c", "fail"), ("b", "c", "then"), ("b", "d", "else")]);
    }
}
