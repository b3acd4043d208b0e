//! A schema as the schemas that it is made of, and which of them look at the same value or at a part of it.

use super::references::References;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Schemas that look at the same value: lists of them, one, and one under each name.
const SAME: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_ONE: [&str; 4] = ["not", "if", "then", "else"];
const SAME_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Those that look at fields, at items.
const FIELD: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "propertyNames"];
const ITEM: [&str; 4] = ["items", "additionalItems", "unevaluatedItems", "contains"];
const PLACED: [&str; 2] = ["items", "prefixItems"];

/// The schemas in a schema, by number; the first is the whole.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
}

/// One of them: those that it asks, by number.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// About the same value.
    pub(super) same: Vec<usize>,
    /// About the field of that name.
    fields: BTreeMap<String, usize>,
    /// About any field.
    any_field: Vec<usize>,
    /// About the item at that place.
    placed: Vec<usize>,
    /// About any item.
    any_item: Vec<usize>,
    /// The `$ref` of it, as it is written.
    pub(super) reference: Option<String>,
}

impl Node {
    /// All that it asks.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        let parts = self.any_field.iter().chain(&self.placed).chain(&self.any_item);
        self.same.iter().chain(self.fields.values()).chain(parts).copied()
    }

    /// What it asks about that value and its parts.
    pub(super) fn about<'v>(&self, value: &'v Value, ask: &mut dyn FnMut(usize, &'v Value)) {
        self.same.iter().for_each(|node| ask(*node, value));
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.fields
                        .get(name)
                        .into_iter()
                        .chain(&self.any_field)
                        .for_each(|node| ask(*node, field));
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.placed.get(at).into_iter().chain(&self.any_item).for_each(|node| ask(*node, item));
                }
            }
            _ => {}
        }
    }
}

impl Graph {
    pub(super) fn of(schema: &Value) -> Self {
        let references = References::of(schema);
        let mut known = Known { numbers: HashMap::new(), open: Vec::new() };
        known.number(schema);
        let mut nodes: Vec<Node> = Vec::new();
        // Numbers are given in the order in which schemas are opened.
        while let Some(schema) = known.open.get(nodes.len()).copied() {
            nodes.push(read(schema, &references, &mut known));
        }
        Self { nodes }
    }
}

/// The numbers of the schemas that were seen.
struct Known<'a> {
    numbers: HashMap<*const Value, usize>,
    open: Vec<&'a Value>,
}

impl<'a> Known<'a> {
    fn number(&mut self, schema: &'a Value) -> usize {
        *self.numbers.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.open.push(schema);
            self.open.len() - 1
        })
    }

    fn numbers(&mut self, schemas: impl Iterator<Item = &'a Value>) -> Vec<usize> {
        schemas.filter(|schema| schema.is_object()).map(|schema| self.number(schema)).collect()
    }
}

fn read<'a>(schema: &'a Value, references: &References<'a>, known: &mut Known<'a>) -> Node {
    let found = |names: &'static [&'static str]| names.iter().filter_map(|name| schema.get(*name));
    let lists = |names| found(names).filter_map(Value::as_array).flatten();
    let named = |names| found(names).filter_map(Value::as_object).flat_map(|named| named.values());
    let same = lists(&SAME).chain(found(&SAME_ONE)).chain(named(&SAME_NAMED));
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    Node {
        same: known.numbers(same.chain(references.targets(schema))),
        fields: fields.map(|(name, field)| (name.clone(), known.number(field))).collect(),
        any_field: known.numbers(found(&FIELD).chain(named(&["patternProperties"]))),
        placed: lists(&PLACED).map(|item| known.number(item)).collect(),
        any_item: known.numbers(found(&ITEM)),
        reference: schema.get("$ref").and_then(Value::as_str).map(str::to_owned),
    }
}
