//! `table`: JSON documents as tools that read, query, change and search one part of one of them.

mod inline;
mod page;
mod read;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod tools;
mod write;

pub use settings::Settings;

use async_trait::async_trait;
use document::{Error as DocumentError, Node, Pointer, Query};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tool::{
    Call, Compute, Connector, Context, Env, Error, Outcome, Output, Result, Role, Search, Table, TableId,
    Tables, Tool,
};
use tools::Operation;

/// Documents larger than this are worked on by threads that may block.
const LARGE_BYTES: usize = 64 * 1024;
/// Compiled queries that a tool keeps.
const MAX_QUERIES: usize = 256;

/// The operations over one part of one table.
pub(crate) struct TableTools {
    /// What can be called: everything by URI, one operation as a Tool.
    offered: Vec<(Operation, Tool)>,
    tables: Option<Arc<dyn Tables>>,
    search: Option<Arc<dyn Search>>,
    table: TableId,
    /// Where to work, unless the URI says so.
    mount: Pointer,
    /// The fields that `preview` shows; all unless given.
    preview_keys: Vec<String>,
    budget_bytes: usize,
    queries: Mutex<HashMap<String, Arc<Query>>>,
    compute: Compute,
}

impl TableTools {
    fn new(env: &Env, table: TableId, mount: Pointer, offered: Vec<(Operation, Tool)>) -> Self {
        Self {
            offered,
            tables: env.tables.clone(),
            search: env.search.clone(),
            table,
            mount,
            preview_keys: Vec::new(),
            budget_bytes: env.result_budget_bytes,
            queries: Mutex::default(),
            compute: env.compute.clone(),
        }
    }

    fn tables(&self) -> Result<&Arc<dyn Tables>> {
        self.tables.as_ref().ok_or_else(|| Error::unsupported("there are no tables without a server"))
    }

    /// Someone else's table is not there, unless a Tool leads to it.
    fn check_access(&self, cx: &Context, table: &Table) -> Result<()> {
        let caller = &cx.caller;
        let may = cx.is_through_tool || caller.role >= Role::Manager || table.owner == caller.identity.id();
        if may { Ok(()) } else { Err(no_such_table(&self.table)) }
    }

    async fn read(&self, cx: &Context) -> Result<Table> {
        let table = self.tables()?.read(&cx.tenant, &self.table).await;
        let table = table.map_err(|error| self.table_error(cx, error))?;
        self.check_access(cx, &table)?;
        Ok(table)
    }

    /// A table that is gone has no tools; a Tool that led to it is still there, and fails.
    fn table_error(&self, cx: &Context, error: Error) -> Error {
        match error.kind() {
            tool::ErrorKind::NotFound if cx.is_through_tool => {
                Error::missing(format!("the table {} is not there any more", self.table))
            }
            tool::ErrorKind::NotFound => no_such_table(&self.table),
            _ => error,
        }
    }

    /// Where the call works: the URI's `path`, or else the Tool's own.
    fn mount(&self, call: &Call) -> Result<Pointer> {
        match call.options.get("path") {
            None => Ok(self.mount.clone()),
            Some(path) => path.parse().map_err(|error: DocumentError| {
                Error::invalid_input(format!("the option 'path' is wrong: {error}")).of_parameter("path")
            }),
        }
    }

    /// The compiled query, from memory where it was asked before.
    fn query(&self, text: &str) -> Result<Arc<Query>> {
        if let Some(known) = self.queries.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Ok(known.clone());
        }
        let query = Query::compile(text).map_err(|error| bad_query(&error))?;
        let query = Arc::new(query);
        let mut queries = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if queries.len() >= MAX_QUERIES {
            queries.clear();
        }
        queries.insert(text.to_owned(), query.clone());
        Ok(query)
    }
}

#[async_trait]
impl Connector for TableTools {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        Ok(self.offered.iter().map(|(_, tool)| tool.clone()).collect())
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let offered = self.offered.iter().find(|(_, tool)| tool.name() == call.tool);
        let Some((operation, _)) = offered else {
            return Err(Error::not_found(format!("tables have no tool '{}'", call.tool)));
        };
        let mount = self.mount(&call)?;
        let work = async {
            match operation {
                Operation::Create => self.create(cx, mount, arguments(&call)?).await,
                Operation::Update => self.update(cx, mount, arguments(&call)?).await,
                Operation::Delete => self.delete(cx, mount, arguments(&call)?).await,
                Operation::Search => self.search(cx, mount, arguments(&call)?).await,
                _ => self.answer(cx, *operation, mount, &call).await,
            }
        };
        let done = cx.within(work).await.map_err(|ended| ended.error("the table did not answer in time"))?;
        done.map(Outcome::Done)
    }

    async fn health(&self, _: &Context) -> Result<()> {
        self.tables().map(drop)
    }
}

/// The arguments as the operation takes them; the schema has said the same before, if the Tool
/// has no schema of its own.
fn arguments<T: DeserializeOwned>(call: &Call) -> Result<T> {
    tool::json_words::read(call.arguments.as_value()?).map_err(|field_error| {
        let problem = tool::Problem::new(&field_error.path, field_error.code, &field_error.message);
        Error::invalid_input(format!("the arguments do not fit: {}", field_error.message))
            .with_problems(vec![problem])
    })
}

/// What is at the mount.
fn mounted<'a>(document: &'a Node, mount: &Pointer) -> Result<&'a Node> {
    mount.resolve(document).map_err(document_error)
}

fn document_error(error: DocumentError) -> Error {
    match error {
        DocumentError::Missing(message) => Error::missing(message),
        DocumentError::BadPointer(message) | DocumentError::Conflict(message) => {
            Error::invalid_input(message)
        }
    }
}

fn bad_query(error: &document::QueryError) -> Error {
    let message = format!("the JMESPath query is wrong: {error}");
    let problem = tool::Problem::new("query", "QueryError", &message);
    Error::invalid_input(message).of_parameter("query").with_problems(vec![problem])
}

fn no_such_table(table: &TableId) -> Error {
    Error::not_found(format!("there is no table {table}"))
}

/// Only for text that serde wrote.
fn json(text: String) -> Result<Box<RawValue>> {
    RawValue::from_string(text).map_err(|error| Error::internal("an answer is no JSON").caused_by(error))
}

fn output(value: &serde_json::Value) -> Result<Output> {
    Ok(Output::json(json(value.to_string())?))
}
