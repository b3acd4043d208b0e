//! What two texts of a flow have in common, and where they differ.

use crate::cursor::join;
use crate::document::canonical;
use serde::Serialize;
use serde_json::Value;

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
