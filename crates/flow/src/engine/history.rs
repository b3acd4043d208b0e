//! Journals that are read differently: after a retry, and for a replay.

use super::record::{Fact, Record};
use crate::document::{Action, Block, Flow, Node};
use crate::settle::Graph;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The records that count. A retry makes what failed, and what was cancelled because of it, not to have been.
pub(super) fn effective<'a>(flow: &Flow, records: &'a [Record]) -> Vec<&'a Record> {
    let mut kept: Vec<&Record> = Vec::new();
    for record in records {
        if record.fact == Fact::Retry {
            kept = without_failures(flow, &kept);
        }
        kept.push(record);
    }
    kept
}

fn without_failures<'a>(flow: &Flow, records: &[&'a Record]) -> Vec<&'a Record> {
    let is_undone = |record: &&&Record| match &record.fact {
        Fact::Failed { .. } => find(&flow.block, &record.path).is_none_or(|node| !node.has_fail),
        Fact::Cancelled { .. } => true,
        _ => false,
    };
    let undone: HashSet<&str> = records.iter().filter(is_undone).map(|record| record.path.as_str()).collect();
    let handled = handled(flow, records);
    let is_kept = |record: &&Record| match &record.fact {
        Fact::Ended(_) | Fact::Caught { .. } | Fact::Cancel | Fact::Pause | Fact::Resume => false,
        _ if handled.contains(top(&record.path)) => false,
        // What was inside stays; the node itself goes on where it was.
        Fact::Entered { .. } | Fact::Pass(_) => true,
        _ => !undone.contains(record.path.as_str()),
    };
    records.iter().copied().filter(is_kept).collect()
}

/// The nodes that the flow's `fail` led to.
fn handled<'a>(flow: &'a Flow, records: &[&Record]) -> HashSet<&'a str> {
    let graph = &flow.block.graph;
    match graph.handler().filter(|_| records.iter().any(|record| matches!(record.fact, Fact::Caught { .. })))
    {
        Some(handler) => downstream(&flow.block, graph, handler),
        None => HashSet::new(),
    }
}

pub(crate) fn downstream<'a>(block: &'a Block, graph: &Graph, from: usize) -> HashSet<&'a str> {
    let reached = graph.downstream(&[from]);
    block
        .nodes
        .iter()
        .zip(reached)
        .filter(|(_, is_reached)| *is_reached)
        .map(|(node, _)| node.id.as_str())
        .collect()
}

/// What a new run begins with that goes on from a node of the flow's own block: the ends of all nodes that
/// `from` does not lead to, of those that `flow` still has, and what was written inside of them. `None` if it has no such
/// node.
#[must_use]
pub fn copied(flow: &Flow, records: &[Record], from: &str) -> Option<Vec<Record>> {
    let start = flow.block.find(from)?;
    let again = downstream(&flow.block, &flow.block.graph, start);
    let is_end = |record: &Record| match &record.fact {
        Fact::Succeeded { .. } | Fact::Skipped => is_top(&record.path),
        Fact::Failed { .. } => {
            is_top(&record.path) && find(&flow.block, &record.path).is_some_and(|node| node.has_fail)
        }
        _ => false,
    };
    let is_known = |path: &str| flow.block.find(path).is_some() && !again.contains(path);
    let effective = effective(flow, records);
    let ends = effective.iter().filter(|record| is_end(record) && is_known(&record.path));
    let ended: HashSet<&str> = ends.map(|record| record.path.as_str()).collect();
    let mut copied: Vec<Record> = Vec::new();
    for record in effective.into_iter().filter(|record| ended.contains(top(&record.path))) {
        match written(flow, record) {
            _ if is_end(record) => copied.push(record.clone()),
            Some(vars) => add_written(&mut copied, record, vars),
            None => {}
        }
    }
    Some(copied)
}

/// The vars of the flow that a record inside of a node has written; one of an earlier replay has them, too.
fn written(flow: &Flow, record: &Record) -> Option<Map<String, Value>> {
    let mut vars = match &record.fact {
        Fact::Succeeded { sets, .. } => sets.iter().cloned().collect(),
        Fact::Written { vars } => vars.clone(),
        _ => return None,
    };
    vars.retain(|name, _| flow.vars.iter().any(|(var, _)| var.name == *name));
    (!vars.is_empty()).then_some(vars)
}

/// As one record with what was written just before inside of the same node.
fn add_written(copied: &mut Vec<Record>, record: &Record, vars: Map<String, Value>) {
    let path = top(&record.path);
    if let Some(Record { path: before, fact: Fact::Written { vars: together }, .. }) = copied.last_mut()
        && before == path
    {
        return together.extend(vars);
    }
    copied.push(Record { at: record.at, path: path.to_owned(), attempt: 1, fact: Fact::Written { vars } });
}

/// The first node of the flow's own block, among those that records are about, in which somebody or a guard decides.
#[must_use]
pub fn decided<'a>(flow: &'a Flow, records: &[Record]) -> Option<&'a str> {
    let nodes = records.iter().filter_map(|record| find(&flow.block, &record.path));
    nodes.into_iter().find(|node| decides(node)).map(|node| node.id.as_str())
}

fn decides(node: &Node) -> bool {
    let is_meant = matches!(node.action, Action::Approval(_) | Action::Guard(_));
    is_meant || node.block().is_some_and(|block| block.nodes.iter().any(decides))
}

fn is_top(path: &str) -> bool {
    !path.is_empty() && !path.contains('.')
}

/// The name of the node of the flow's own block that a path leads through.
fn top(path: &str) -> &str {
    &path[..path.find(['.', '[']).unwrap_or(path.len())]
}

/// The node of a path.
pub(super) fn find<'a>(block: &'a Block, path: &str) -> Option<&'a Node> {
    let mut block = block;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let node = &block.nodes[block.find(top(part))?];
        if parts.peek().is_none() {
            return Some(node);
        }
        block = node.block()?;
    }
    None
}
