//! Reading: the data at the mount, all of it, in part, or by query.

use super::page::{Page, Paged};
use super::tools::Operation;
use super::{LARGE_BYTES, TableTools, arguments, bad_query, mounted, output};
use document::{Array, Budget, Node, Object, Pointer, Query, QueryError};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;
use tool::{Call, Context, Error, Output, Result};

/// What a query may do: a few seconds' work.
const MAX_STEPS: u64 = 50_000_000;
/// What it may do at once, on a thread that others wait for: a few milliseconds.
const MAX_STEPS_AT_ONCE: u64 = 50_000;
/// Objects with more fields are taken for maps, whose keys are data and not structure.
const MAX_FIELDS_SHOWN: usize = 100;

#[derive(Deserialize)]
struct QueryArguments {
    query: String,
    #[serde(flatten)]
    page: Page,
}

#[derive(Deserialize)]
struct SelectArguments {
    field: String,
    keys: Vec<Value>,
    #[serde(flatten)]
    page: Page,
}

/// What is to be found, with everything that needs no document.
enum ReadRequest {
    Schema,
    All(Page),
    Preview(Page, Vec<String>),
    Query(Arc<Query>, Page),
    Select(SelectArguments),
}

impl TableTools {
    pub(super) async fn answer(
        &self,
        cx: &Context,
        operation: Operation,
        mount: Pointer,
        call: &Call,
    ) -> Result<Output> {
        let request = match operation {
            Operation::GetDataSchema => ReadRequest::Schema,
            Operation::GetAllData => ReadRequest::All(arguments(call)?),
            Operation::Preview => ReadRequest::Preview(arguments(call)?, self.preview_keys.clone()),
            Operation::QueryData => {
                let QueryArguments { query, page } = arguments(call)?;
                ReadRequest::Query(self.query(&query)?, page)
            }
            Operation::Select => ReadRequest::Select(arguments(call)?),
            Operation::Create | Operation::Update | Operation::Delete | Operation::Search => {
                return Err(Error::internal("the operation was taken for another"));
            }
        };
        let table = self.read(cx).await?;
        let is_small = table.size_bytes <= LARGE_BYTES;
        let budget_bytes = self.budget_bytes;
        let (cancel, deadline) = (cx.cancel.clone(), cx.deadline);
        let is_over = move || cancel.is_cancelled() || Instant::now() >= deadline;
        let limits = |steps| Limits { budget_bytes, steps };
        if is_small {
            let data = mounted(&table.document, &mount)?;
            if let Some(answer) = request.answer_at_once(data, limits(MAX_STEPS_AT_ONCE), &is_over) {
                return answer;
            }
        }
        let limits = limits(MAX_STEPS);
        let work = move || request.answer(mounted(&table.document, &mount)?, limits, &is_over);
        self.compute.run(cx, work).await?
    }
}

#[derive(Clone, Copy)]
struct Limits {
    budget_bytes: usize,
    steps: u64,
}

impl ReadRequest {
    /// The answer over little data, unless a query makes much work of it.
    fn answer_at_once(
        &self,
        data: &Node,
        limits: Limits,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Result<Output>> {
        if let Self::Query(query, page) = self {
            return match query.run(data, &mut Budget::new(limits.steps, is_over)) {
                Err(error) if error.is_out_of_steps() => None,
                found => Some(answer_query(query, found, page, limits)),
            };
        }
        Some(self.answer(data, limits, is_over))
    }

    fn answer(&self, data: &Node, limits: Limits, is_over: &dyn Fn() -> bool) -> Result<Output> {
        let budget_bytes = limits.budget_bytes;
        match self {
            Self::Schema => output(&schema(data)),
            Self::All(page) => Paged { page: page.clone(), budget_bytes, beside: Vec::new() }.of(data),
            Self::Preview(page, keys) => preview(data, keys, page.clone(), budget_bytes),
            Self::Query(query, page) => {
                let found = query.run(data, &mut Budget::new(limits.steps, is_over));
                answer_query(query, found, page, limits)
            }
            Self::Select(select) => select.answer(data, budget_bytes),
        }
    }
}

fn answer_query(
    query: &Query,
    found: std::result::Result<Node, QueryError>,
    page: &Page,
    limits: Limits,
) -> Result<Output> {
    let budget_bytes = limits.budget_bytes;
    let found = found.map_err(|error| bad_query(&error))?;
    // Put together from shared parts, it may be much larger than what it is made of.
    if found.size_bytes_within(16 * budget_bytes.max(1024 * 1024)).is_none() {
        let message = "the query finds too much; narrow it down";
        return Err(Error::invalid_input(message).of_parameter("query"));
    }
    Paged { page: page.clone(), budget_bytes, beside: vec![("query", query.text().into())] }.of(&found)
}

/// The structure of the data: the first item stands for all items of a list.
fn schema(data: &Node) -> Value {
    let mut meta = Map::new();
    meta.insert("root_type".into(), data.type_name().into());
    match data {
        Node::Array(array) => meta.insert("total_count".into(), array.len().into()),
        Node::Object(object) => meta.insert("total_count".into(), object.len().into()),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::Text(_) => None,
    };
    json!({ "data": structure(data), "meta": meta })
}

fn structure(node: &Node) -> Value {
    match node {
        Node::Null => "<null>".into(),
        Node::Bool(_) => "<bool>".into(),
        Node::Number(number) if number.is_f64() => "<float>".into(),
        Node::Number(_) => "<int>".into(),
        Node::Text(_) => "<str>".into(),
        Node::Array(array) => array.iter().take(1).map(structure).collect(),
        Node::Object(object) => {
            let shown = object.iter().take(MAX_FIELDS_SHOWN);
            let mut fields: Map<String, Value> =
                shown.map(|(name, node)| (name.to_string(), structure(node))).collect();
            if object.len() > MAX_FIELDS_SHOWN {
                let more = object.len() - MAX_FIELDS_SHOWN;
                fields.insert("…".into(), format!("<{more} more fields>").into());
            }
            fields.into()
        }
    }
}

fn preview(data: &Node, keys: &[String], page: Page, budget_bytes: usize) -> Result<Output> {
    let array = objects(data, "preview")?;
    let shown: Vec<Value> = match array.get(0).and_then(Node::as_object) {
        Some(first) if keys.is_empty() => first.iter().map(|(name, _)| Value::from(&**name)).collect(),
        _ => keys.iter().map(|key| key.as_str().into()).collect(),
    };
    let beside = vec![("keys", Value::from(shown)), ("total_count", array.len().into())];
    let paged = Paged { page, budget_bytes, beside };
    if keys.is_empty() {
        return paged.of(data);
    }
    let pick = |item: &Node| {
        let fields =
            keys.iter().filter_map(|key| Some((key.as_str().into(), item.as_object()?.get(key)?.clone())));
        Node::Object(fields.collect::<Object>()).to_json()
    };
    paged.of_items(array.len(), array.iter(), pick)
}

impl SelectArguments {
    fn answer(&self, data: &Node, budget_bytes: usize) -> Result<Output> {
        let array = objects(data, "select")?;
        let wanted: HashSet<String> = self.keys.iter().map(|key| text_of(&Node::from(key))).collect();
        let is_wanted = |item: &&Node| {
            let value = item.as_object().and_then(|object| object.get(&self.field));
            value.is_some_and(|value| match value {
                Node::Text(text) => wanted.contains(&**text),
                other => wanted.contains(&text_of(other)),
            })
        };
        let matched: Vec<&Node> = array.iter().filter(is_wanted).collect();
        let beside = vec![("matched_count", matched.len().into())];
        let count = matched.len();
        Paged { page: self.page.clone(), budget_bytes, beside }.of_items(
            count,
            matched.into_iter(),
            Node::to_json,
        )
    }
}

/// Texts as they are, everything else as JSON writes it.
fn text_of(node: &Node) -> String {
    node.as_text().map_or_else(|| node.to_json(), str::to_owned)
}

/// The list at the mount, all of whose items are objects.
fn objects<'a>(data: &'a Node, operation: &str) -> Result<&'a Array> {
    let Some(array) = data.as_array() else {
        let message = format!("{operation} needs a list of objects, and there is: {}", data.type_name());
        return Err(Error::upstream(message));
    };
    match array.iter().position(|item| item.as_object().is_none()) {
        None => Ok(array),
        Some(at) => {
            Err(Error::upstream(format!("{operation} needs a list of objects, and item {at} is none")))
        }
    }
}
