//! Changing: all that was asked, or nothing.

use super::{TableTools, document_error, mounted, output};
use document::{Change, Node, Pointer};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashSet;
use tool::{Context, Error, Output, Problem, Result, Table};

#[derive(Deserialize)]
pub(super) struct CreateArguments {
    elements: Vec<Element>,
}

#[derive(Deserialize)]
struct Element {
    key: Option<Key>,
    content: Node,
}

#[derive(Deserialize)]
pub(super) struct UpdateArguments {
    updates: Vec<Update>,
}

#[derive(Deserialize)]
struct Update {
    key: Key,
    content: Node,
}

#[derive(Deserialize)]
pub(super) struct DeleteArguments {
    keys: Vec<Key>,
}

/// A key of an object, or a position in a list, which may be given as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Key {
    Text(String),
    Number(serde_json::Number),
}

impl Key {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

impl TableTools {
    pub(super) async fn create(
        &self,
        cx: &Context,
        mount: Pointer,
        asked: CreateArguments,
    ) -> Result<Output> {
        let mut created = Vec::new();
        let edit = |table: &Table| {
            let (change, keys) = creation(&table.document, mount, asked)?;
            created = keys;
            Ok(change)
        };
        self.change(cx, edit).await?;
        output(&json!({ "created_keys": created, "total_created": created.len(), "failed": [] }))
    }

    pub(super) async fn update(
        &self,
        cx: &Context,
        mount: Pointer,
        asked: UpdateArguments,
    ) -> Result<Output> {
        let entries: Vec<_> =
            asked.updates.into_iter().map(|update| (update.key.into_text(), update.content)).collect();
        let keys: Vec<String> = entries.iter().map(|(key, _)| key.clone()).collect();
        let edit = |table: &Table| {
            let path = |at: usize| format!("updates[{at}].key");
            check_there(&table.document, &mount, entries.iter().map(|(key, _)| key.as_str()), path)?;
            Ok(Change::Put { at: mount, entries })
        };
        self.change(cx, edit).await?;
        output(&json!({ "updated_keys": keys, "total_updated": keys.len() }))
    }

    pub(super) async fn delete(
        &self,
        cx: &Context,
        mount: Pointer,
        asked: DeleteArguments,
    ) -> Result<Output> {
        let keys: Vec<String> = asked.keys.into_iter().map(Key::into_text).collect();
        let deleted = keys.clone();
        let edit = |table: &Table| {
            check_there(&table.document, &mount, keys.iter().map(String::as_str), |at| {
                format!("keys[{at}]")
            })?;
            Ok(Change::Remove { at: mount, keys })
        };
        self.change(cx, edit).await?;
        output(&json!({ "deleted_keys": deleted, "total_deleted": deleted.len() }))
    }

    async fn change(
        &self,
        cx: &Context,
        edit: impl FnOnce(&Table) -> Result<Change> + Send,
    ) -> Result<Table> {
        let edit = |table: &Table| {
            self.check_access(cx, table)?;
            edit(table)
        };
        let by = cx.caller.identity.id();
        let changed = self.tables()?.change(&cx.tenant, &self.table, by, Box::new(edit)).await;
        changed.map_err(|error| self.table_error(cx, error))
    }
}

/// The change that adds the elements, and the keys they get.
fn creation(document: &Node, mount: Pointer, asked: CreateArguments) -> Result<(Change, Vec<String>)> {
    match mounted(document, &mount)? {
        Node::Array(array) => {
            let first = array.len();
            let values: Vec<Node> = asked.elements.into_iter().map(|element| element.content).collect();
            let keys = (first..first + values.len()).map(|at| at.to_string()).collect();
            Ok((Change::Append { at: mount, values }, keys))
        }
        Node::Object(object) => {
            let mut problems = Vec::new();
            let mut seen = HashSet::new();
            let mut entries = Vec::with_capacity(asked.elements.len());
            for (at, element) in asked.elements.into_iter().enumerate() {
                let path = format!("elements[{at}].key");
                let Some(key) = element.key.map(Key::into_text) else {
                    problems.push(Problem::new(
                        path,
                        "Required",
                        "an object needs a key for each new element",
                    ));
                    continue;
                };
                if object.contains(&key) {
                    let message = format!("there is a '{key}' already; use update to replace it");
                    problems.push(Problem::new(path, "Exists", message));
                } else if !seen.insert(key.clone()) {
                    problems.push(Problem::new(path, "Duplicate", format!("'{key}' is given twice")));
                }
                entries.push((key, element.content));
            }
            refuse(problems)?;
            let keys = entries.iter().map(|(key, _)| key.clone()).collect();
            Ok((Change::Put { at: mount, entries }, keys))
        }
        other => Err(no_container(other)),
    }
}

/// Every key or position must be there, and be given once.
fn check_there<'a>(
    document: &Node,
    mount: &Pointer,
    keys: impl Iterator<Item = &'a str>,
    path: impl Fn(usize) -> String,
) -> Result<()> {
    let place = mounted(document, mount)?;
    if !matches!(place, Node::Array(_) | Node::Object(_)) {
        return Err(no_container(place));
    }
    let mut problems = Vec::new();
    let mut seen = HashSet::new();
    for (at, key) in keys.enumerate() {
        let step = Pointer::default().join(key);
        if let Err(error) = step.resolve(place) {
            problems.push(Problem::new(path(at), "NotFound", document_error(error).message()));
        } else if !seen.insert(key.to_owned()) {
            problems.push(Problem::new(path(at), "Duplicate", format!("'{key}' is given twice")));
        }
    }
    refuse(problems)
}

fn refuse(mut problems: Vec<Problem>) -> Result<()> {
    const MAX_SHOWN: usize = 20;
    let Some(first) = problems.first() else { return Ok(()) };
    let more = match problems.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let error = Error::invalid_input(format!("nothing was changed: {}{more}", first.message));
    let error = error.of_parameter(&first.path);
    problems.truncate(MAX_SHOWN);
    Err(error.with_problems(problems))
}

fn no_container(node: &Node) -> Error {
    Error::upstream(format!("only an object or a list has elements, and there is: {}", node.type_name()))
}
