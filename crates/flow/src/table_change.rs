//! Changes of tables as events: what a trigger of type `table` makes of one.

use crate::document::Source;
use crate::limits;
use document::{Change, Node, Pointer};
use serde_json::{Map, Value, json};

/// Entries that an event lists; a document that is replaced may differ in many more.
const MAX_ENTRIES: usize = 1000;
/// Bytes of all values of an event, so that it fits into an input.
const MAX_BYTES: usize = limits::VALUE_BYTES / 2;

/// A table from one version to the next.
#[derive(Debug)]
pub struct TableChange<'a> {
    /// Its id.
    pub table: &'a str,
    /// The version that came of the change: two events of one version are the same.
    pub version: i64,
    /// What was done; `None` where all that is known is what came of it.
    pub change: Option<&'a Change>,
    /// The document before.
    pub before: &'a Node,
    /// The document after.
    pub after: &'a Node,
}

/// One thing that was added, changed or removed.
struct Entry<'a> {
    path: Pointer,
    before: Option<&'a Node>,
    after: Option<&'a Node>,
}

impl Entry<'_> {
    fn on(&self) -> &'static str {
        match (self.before, self.after) {
            (None, _) => "add",
            (Some(_), None) => "remove",
            (Some(_), Some(_)) => "change",
        }
    }
}

impl Source {
    /// The event of a change: `{change: {table, version, entries: [{on, path, before, after}], truncated}}`. `None` if
    /// nothing was done to what the trigger watches, or it is no such trigger.
    #[must_use]
    pub fn event_of(&self, change: &TableChange<'_>) -> Option<Value> {
        let Self::Table { table, json_path, on } = self else { return None };
        let watched: Pointer = json_path.as_deref().unwrap_or_default().parse().ok()?;
        let mut entries = change.entries(&watched);
        entries.retain(|entry| on.is_empty() || on.iter().any(|wanted| wanted == entry.on()));
        if entries.is_empty() || table != change.table {
            return None;
        }
        let (entries, is_truncated) = shown(&entries);
        Some(json!({ "change": {
            "table": change.table, "version": change.version, "entries": entries, "truncated": is_truncated,
        }}))
    }
}

impl<'a> TableChange<'a> {
    /// What was done at or below the watched place.
    fn entries(&self, watched: &Pointer) -> Vec<Entry<'a>> {
        let touched = self.touched();
        let inside = |entry: &Entry<'_>| entry.path.parts().starts_with(watched.parts());
        let around = |entry: &Entry<'_>| watched.parts().starts_with(entry.path.parts());
        // What was replaced as a whole is compared piece by piece.
        if touched.iter().any(around) {
            let at = |document: &'a Node| watched.resolve(document).ok();
            return between(watched, at(self.before), at(self.after));
        }
        touched.into_iter().filter(inside).collect()
    }

    /// The places that the change names.
    fn touched(&self) -> Vec<Entry<'a>> {
        let entry = |path: Pointer| {
            let (before, after) = (path.resolve(self.before).ok(), path.resolve(self.after).ok());
            Entry { path, before, after }
        };
        match self.change {
            None | Some(Change::Set { .. }) => vec![entry(Pointer::default())],
            Some(Change::Append { at, values }) => {
                let old = at.resolve(self.before).ok().and_then(Node::as_array).map_or(0, |list| list.len());
                (old..old + values.len()).map(|position| entry(at.join(position.to_string()))).collect()
            }
            Some(Change::Put { at, entries }) => {
                entries.iter().map(|(key, _)| entry(at.join(key.as_str()))).collect()
            }
            // What stands at its position now is the next one.
            Some(Change::Remove { at, keys }) => {
                keys.iter().map(|key| Entry { after: None, ..entry(at.join(key.as_str())) }).collect()
            }
        }
    }
}

/// How two values at a place differ: by field or position where both are of a kind that has such.
fn between<'a>(path: &Pointer, before: Option<&'a Node>, after: Option<&'a Node>) -> Vec<Entry<'a>> {
    match (before, after) {
        (None, None) => Vec::new(),
        (Some(Node::Array(old)), Some(Node::Array(new))) => {
            let positions = 0..old.len().max(new.len());
            let pairs = positions.map(|at| (at.to_string(), old.get(at), new.get(at)));
            differing(path, pairs)
        }
        (Some(Node::Object(old)), Some(Node::Object(new))) => {
            let kept = old.iter().map(|(name, value)| (name.to_string(), Some(value), new.get(name)));
            let added = new.iter().filter(|(name, _)| !old.contains(name));
            differing(path, kept.chain(added.map(|(name, value)| (name.to_string(), None, Some(value)))))
        }
        (before, after) if before == after => Vec::new(),
        (before, after) => vec![Entry { path: path.clone(), before, after }],
    }
}

fn differing<'a>(
    path: &Pointer,
    pairs: impl Iterator<Item = (String, Option<&'a Node>, Option<&'a Node>)>,
) -> Vec<Entry<'a>> {
    pairs
        .filter(|(_, before, after)| before != after)
        .map(|(name, before, after)| Entry { path: path.join(name), before, after })
        .collect()
}

/// As many entries as an event holds, and whether there are more.
fn shown(entries: &[Entry<'_>]) -> (Vec<Value>, bool) {
    let (mut shown, mut left) = (Vec::new(), MAX_BYTES);
    for entry in entries.iter().take(MAX_ENTRIES) {
        let mut fields = Map::new();
        fields.insert("on".to_owned(), entry.on().into());
        fields.insert("path".to_owned(), entry.path.to_string().into());
        for (name, node) in [("before", entry.before), ("after", entry.after)] {
            let Some(node) = node else { continue };
            let Some(size) = node.size_bytes_within(left) else { return (shown, true) };
            left -= size;
            fields.insert(name.to_owned(), serde_json::to_value(node).unwrap_or_default());
        }
        shown.push(fields.into());
    }
    (shown, entries.len() > MAX_ENTRIES)
}
