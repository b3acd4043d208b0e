//! What two texts of a flow have in common, and where they differ.

use crate::check::Bound;
use crate::cursor::join;
use crate::document::{Flow, canonical};
use crate::engine::downstream;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One difference between two documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Where, e.g. `nodes.order.retry`.
    pub path: String,
    /// What stood there; absent where something was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// What stands there; absent where something was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// The texts say the same: comments, spacing, the order of fields, YAML or JSON make no difference.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((canonical(one), canonical(other)), (Some(one), Some(other)) if one == other)
}

/// Everything that differs, in the order of the texts; a text that cannot be read counts as nothing.
#[must_use]
pub fn diff(from: &str, to: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    compare("", canonical(from), canonical(to), &mut changes);
    changes
}

/// A version: its text, and what was made of it.
#[derive(Debug, Clone, Copy)]
pub struct VersionText<'a> {
    /// What it says.
    pub flow: &'a Flow,
    /// The text.
    pub source: &'a str,
    /// What publishing bound by name.
    pub bound: &'a [Bound],
}

/// What everything before a node depends on beside the nodes.
const AROUND: [&str; 5] = ["inputs", "types", "vars", "timezone", "fail"];

/// The path of the first thing that differs between two versions before the node `from` of the flow's own block: a node
/// that `from` does not lead to, what publishing bound in it, or what all nodes depend on.
#[must_use]
pub fn difference_before(from: &str, one: &VersionText<'_>, other: &VersionText<'_>) -> Option<String> {
    let (ours, theirs) = (before(from, one), before(from, other));
    let differs = |path: &&String| ours.get(*path) != theirs.get(*path);
    ours.keys().chain(theirs.keys()).find(differs).cloned()
}

/// What a version says before a node, by path.
fn before(from: &str, version: &VersionText<'_>) -> BTreeMap<String, Value> {
    let mut document = canonical(version.source).unwrap_or_default();
    let block = &version.flow.block;
    let again = block.find(from).map(|from| downstream(block, &block.graph, from)).unwrap_or_default();
    let mut found = BTreeMap::new();
    for field in AROUND {
        found.insert(field.to_owned(), document[field].take());
    }
    for node in block.nodes.iter().filter(|node| !again.contains(node.id.as_str())) {
        let inside = format!("{}.", node.path);
        let bound =
            version.bound.iter().filter(|bound| bound.node == node.path || bound.node.starts_with(&inside));
        let bound: Vec<_> = bound.collect();
        found.insert(node.path.clone(), json!([document["nodes"][&node.id], bound]));
    }
    found
}

fn compare(path: &str, from: Option<Value>, to: Option<Value>, changes: &mut Vec<Change>) {
    match (from, to) {
        (from, to) if from == to => {}
        (Some(Value::Object(mut from)), Some(Value::Object(mut to))) => {
            let mut names: Vec<String> = from.keys().cloned().collect();
            names.extend(to.keys().filter(|name| !from.contains_key(*name)).cloned());
            for name in names {
                compare(&join(path, &name), from.remove(&name), to.remove(&name), changes);
            }
        }
        (Some(Value::Array(from)), Some(Value::Array(to))) => {
            let count = from.len().max(to.len());
            let (mut from, mut to) = (from.into_iter(), to.into_iter());
            for index in 0..count {
                compare(&format!("{path}[{index}]"), from.next(), to.next(), changes);
            }
        }
        (from, to) => changes.push(Change { path: path.to_owned(), from, to }),
    }
}
