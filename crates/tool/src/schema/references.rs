//! Where the references of a schema lead within it.

use serde_json::Value;
use std::collections::HashMap;

const WORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What every reference in a schema leads to.
pub(super) struct References<'a> {
    root: &'a Value,
    /// The part with an `$id` of its own in which a schema with a reference stands.
    around: HashMap<*const Value, &'a Value>,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    ids: HashMap<&'a str, &'a Value>,
}

impl<'a> References<'a> {
    pub(super) fn of(schema: &'a Value) -> Self {
        let mut found =
            Self { root: schema, around: HashMap::new(), anchors: HashMap::new(), ids: HashMap::new() };
        let mut open = vec![(schema, schema)];
        while let Some((value, around)) = open.pop() {
            let around = found.take(value, around);
            match value {
                Value::Object(fields) => open.extend(fields.values().map(|field| (field, around))),
                Value::Array(items) => open.extend(items.iter().map(|item| (item, around))),
                _ => {}
            }
        }
        found
    }

    /// What the parts of the value stand in.
    fn take(&mut self, value: &'a Value, around: &'a Value) -> &'a Value {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            self.anchors.entry(anchor).or_default().push(value);
        }
        let mut around = around;
        for id in ["$id", "id"].into_iter().filter_map(text) {
            match id.strip_prefix('#') {
                Some(anchor) => self.anchors.entry(anchor).or_default().push(value),
                None => {
                    around = value;
                    self.ids.insert(last_part(id), value);
                }
            }
        }
        if WORDS.iter().any(|word| value.get(word).is_some()) {
            self.around.insert(std::ptr::from_ref(value), around);
        }
        around
    }

    /// All that the references of a schema lead to. Those into other documents lead nowhere.
    pub(super) fn targets(&self, schema: &'a Value) -> impl Iterator<Item = &'a Value> {
        let around = self.around.get(&std::ptr::from_ref(schema)).copied();
        let texts = WORDS.iter().filter_map(|word| schema.get(*word)?.as_str());
        texts.flat_map(move |text| around.map(|around| self.follow(text, around)).unwrap_or_default())
    }

    fn follow(&self, text: &str, around: &'a Value) -> Vec<&'a Value> {
        let (document, fragment) = text.split_once('#').unwrap_or((text, ""));
        // What counts as an `$id` depends on the draft, so both are taken where it may matter.
        let documents = match document {
            "" if std::ptr::eq(around, self.root) => vec![around],
            "" => vec![around, self.root],
            other => self.ids.get(last_part(other)).copied().into_iter().collect(),
        };
        let fragment = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
        match &*fragment {
            "" => documents,
            pointer if pointer.starts_with('/') => {
                documents.iter().filter_map(|document| document.pointer(pointer)).collect()
            }
            anchor => self.anchors.get(anchor).cloned().unwrap_or_default(),
        }
    }
}

/// Addresses are told apart by their last part, since those before it may be left out.
fn last_part(id: &str) -> &str {
    let id = id.split('#').next().unwrap_or_default();
    id.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}
