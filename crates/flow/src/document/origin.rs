//! The origin's dialect: its names for things become ours, each at its place.

use crate::source::{Content, Entry, Tree};

/// `flow:` around everything goes, and the origin's keys get our names.
pub(super) fn translate(mut tree: Tree) -> Tree {
    if let Content::Map(entries) = &mut tree.content
        && entries.len() == 1
        && entries[0].key == "flow"
        && matches!(entries[0].value.content, Content::Map(_))
    {
        tree = entries.remove(0).value;
    }
    let Content::Map(entries) = &mut tree.content else { return tree };
    rename(entries, "desp", "description");
    lift_args(entries);
    translate_nodes(entries);
    tree
}

/// `args: {in, out, defs}` become `inputs`, `returns`, `types`.
fn lift_args(entries: &mut Vec<Entry>) {
    let Some(at) = entries.iter().position(|entry| entry.key == "args") else { return };
    let Content::Map(parts) = &mut entries[at].value.content else { return };
    let names = [("in", "inputs"), ("out", "returns"), ("defs", "types")];
    if !parts.iter().all(|part| names.iter().any(|(old, _)| part.key == *old)) {
        return;
    }
    let mut parts = std::mem::take(parts);
    names.iter().for_each(|(old, new)| rename(&mut parts, old, new));
    entries.splice(at..=at, parts);
}

/// `node` is `nodes`, here and in every block.
fn translate_nodes(entries: &mut [Entry]) {
    rename(entries, "node", "nodes");
    let Some(nodes) = entries.iter_mut().find(|entry| entry.key == "nodes") else { return };
    let Content::Map(nodes) = &mut nodes.value.content else { return };
    for node in nodes {
        if let Content::Map(fields) = &mut node.value.content {
            rename(fields, "desp", "description");
            translate_nodes(fields);
        }
    }
}

fn rename(entries: &mut [Entry], old: &str, new: &str) {
    if entries.iter().any(|entry| entry.key == new) {
        return;
    }
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == old) {
        entry.key = new.to_owned();
    }
}
