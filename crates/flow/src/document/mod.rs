//! Flow documents: read from a tree into what the engine runs, every problem at its place.

mod assignments;
mod block;
mod branches;
mod call;
mod data;
mod deciders;
mod dialect;
mod duration;
mod guard;
mod in_place;
mod model;
mod node;
mod origin;
mod retry;
mod settings;
mod trigger;
mod types;
mod waits;
pub mod words;

pub use data::{Data, Field, Formula, Key};
pub(crate) use model::{
    Action, Approval, Call, Check, Each, Guard, GuardAction, Loop, Node, OnTimeout, RetryOn, Target, Wait,
};
pub use model::{Block, Concurrency, Flow, Overflow};
pub(crate) use origin::weight;
pub use origin::{Origin, Trouble};
pub use trigger::{CatchUp, Overlap, Source, Trigger, WebhookAuth};
pub use types::Declared;
pub(crate) use types::object;

use crate::cursor::{Cursor, bounded};
use crate::limits;
use crate::problem::{Code, Problem, Problems};
use crate::source::{self, Place, Tree};
use assignments::Lone;
use block::Blocks;
use serde_json::json;
use std::sync::Arc;
use types::Types;

/// A document that was read: the flow, if there is enough of one to run, and everything that is wrong with it.
#[derive(Debug)]
pub struct ParsedFlow {
    /// What can be run; also with some problems, as drafts are.
    pub flow: Option<Flow>,
    /// What can only be looked at instead: edges lead nowhere or in circles.
    pub sketch: Option<Flow>,
    /// In the order of the text.
    pub problems: Vec<Problem>,
}

impl ParsedFlow {
    /// What there is to look at.
    #[must_use]
    pub fn into_any(self) -> Option<Flow> {
        self.flow.or(self.sketch)
    }
}

/// Reads a flow from YAML or JSON, in our spelling or the origin's.
#[must_use]
pub fn read(text: &str) -> ParsedFlow {
    let (tree, found) = source::parse(text);
    let mut problems = Problems::default();
    let is_torn = !found.is_empty();
    problems.extend(found);
    let flow = match tree.map(dialect::translate) {
        Some(tree) => read_tree(&tree, &mut problems),
        None if is_torn => None,
        None => {
            problems.add(Problem::error(Code::Syntax, "", Place::START, "the document is empty"));
            None
        }
    };
    let problems = problems.into_sorted();
    // What is beyond the limits was not read as it is written.
    let is_beyond = problems.iter().any(|problem| problem.code == Code::LimitExceeded && problem.is_error());
    let (flow, sketch) = match flow {
        Some(flow) if is_beyond || !flow.block.is_whole() => (None, Some(flow)),
        flow => (flow, None),
    };
    ParsedFlow { flow, sketch, problems }
}

/// The tree of a document in our spelling, without its places: what two texts have in common that mean the same.
pub(crate) fn canonical(text: &str) -> Option<serde_json::Value> {
    let (tree, problems) = source::parse(text);
    tree.filter(|_| problems.is_empty()).map(|tree| dialect::translate(tree).to_value())
}

fn read_tree(tree: &Tree, problems: &mut Problems) -> Option<Flow> {
    let cursor = Cursor::root(tree);
    if !cursor.expect_fields(&words::names(words::FIELDS), problems) {
        return None;
    }
    let text = |name: &str, problems: &mut Problems| Some(cursor.field(name)?.text(problems)?.to_owned());
    let types = Types { names: names_of_types(tree) };
    let handler = cursor.field("fail").and_then(|field| Some((field.text(problems)?.to_owned(), field)));
    let block = Blocks::new(&types).read(&cursor, handler.as_ref().map(|(id, _)| id.as_str()), problems);
    let duration = |name: &str, problems: &mut Problems| duration::read(&cursor.field(name)?, problems);
    let flow = Flow {
        id: text("id", problems),
        name: text("name", problems),
        description: text("description", problems),
        inputs: cursor.field("inputs").map(|field| types.inputs(&field, problems)).unwrap_or_default(),
        returns: cursor.field("returns").map(|field| types.open_schema(&field, problems)),
        types: read_types(&cursor, &types, problems),
        vars: read_vars(&cursor, problems),
        output: cursor.field("output").map(|field| Data::read(&field, problems)),
        timeout: duration("timeout", problems),
        concurrency: cursor.field("concurrency").and_then(|field| read_concurrency(&field, problems)),
        timezone: cursor.field("timezone").and_then(|field| trigger::zone(&field, problems)),
        triggers: cursor
            .field("triggers")
            .map(|field| trigger::read_all(&field, problems))
            .unwrap_or_default(),
        block: Arc::new(block?),
    };
    check_types(&flow, &cursor, problems);
    Some(flow)
}

/// Types lead to one another, so that only all of them together can be wrong.
fn check_types(flow: &Flow, cursor: &Cursor<'_>, problems: &mut Problems) {
    let named: serde_json::Map<_, _> =
        flow.types.keys().map(|name| (name.clone(), json!({"$ref": format!("#/$defs/{name}")}))).collect();
    let types = json!({"properties": named, "$defs": flow.types});
    let returns = flow.output_schema().unwrap_or_default();
    for (field, schema) in [("types", types), ("inputs", flow.input_schema()), ("returns", returns)] {
        let Some(field) = cursor.field(field) else { continue };
        if let Err(error) = tool::schema::Schema::compile(&schema, "field") {
            problems.add(field.error(Code::Syntax, error.message()));
            return;
        }
    }
}

fn names_of_types(tree: &Tree) -> Vec<&str> {
    match tree.get("types").map(|types| &types.content) {
        Some(source::Content::Map(entries)) => {
            entries.iter().take(limits::NAMES).map(|entry| entry.key.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

fn read_types(
    cursor: &Cursor<'_>,
    types: &Types<'_>,
    problems: &mut Problems,
) -> serde_json::Map<String, serde_json::Value> {
    let Some(field) = cursor.field("types") else { return serde_json::Map::new() };
    if !field.is_map() {
        problems.add(field.mismatch("an object of names and types"));
    }
    let entries = bounded(field.entries().collect(), &field, problems);
    entries.into_iter().map(|(name, field)| (name.to_owned(), types.open_schema(&field, problems))).collect()
}

/// Vars are declared with their first values.
fn read_vars(cursor: &Cursor<'_>, problems: &mut Problems) -> Vec<(Key, Data)> {
    let Some(field) = cursor.field("vars") else { return Vec::new() };
    let declared = match Data::read_assigned(&field, Lone::Field, problems) {
        Data::Fields(fields) => fields,
        _ => {
            problems.add(field.mismatch("an object of names and values"));
            Vec::new()
        }
    };
    let mut vars = Vec::new();
    for declared in bounded(declared, &field, problems) {
        match declared {
            Field::Set(key, data) => vars.push((key, data)),
            Field::Spread(_) => {
                problems.add(field.error(Code::Syntax, "vars are named one by one, without '...'"))
            }
        }
    }
    vars
}

fn read_concurrency(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Concurrency> {
    if let source::Content::Number(_) = cursor.tree.content {
        let limit = cursor.count(10_000, problems)?;
        return Some(Concurrency {
            limit: usize::try_from(limit).ok()?,
            key: None,
            overflow: Overflow::Queue,
        });
    }
    if !cursor.expect_fields(&words::part("concurrency"), problems) {
        return None;
    }
    let words = [("queue", Overflow::Queue), ("refuse", Overflow::Refuse), ("replace", Overflow::Replace)];
    let overflow = cursor.field("overflow").and_then(|field| field.choice(&words, problems));
    let limit = match cursor.field("limit") {
        Some(field) => field.count(10_000, problems),
        None => {
            problems.add(cursor.error(Code::Syntax, "'limit' is missing: how many runs at once"));
            None
        }
    };
    let key = cursor.field("key").map(|field| Data::read(&field, problems));
    // With 1 the rest is looked at, too; nothing is published like this.
    let limit = usize::try_from(limit.unwrap_or(1)).ok()?;
    Some(Concurrency { limit, key, overflow: overflow.unwrap_or_default() })
}
