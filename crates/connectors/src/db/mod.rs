//! `db://`: a database as tools, typed by its catalog and read-only unless its settings say otherwise.

mod address;
mod arguments;
mod bounds;
mod build;
mod bulk;
mod catalog;
mod clear_text;
mod client;
mod condition;
mod connect;
mod engine;
mod failure;
mod filter;
mod functions;
mod hidden;
mod number;
mod operation;
mod pool;
mod query;
mod query_settings;
mod read;
#[cfg(unix)]
mod relay;
#[cfg(not(unix))]
#[path = "relay_elsewhere.rs"]
mod relay;
mod rows;
mod run_sql;
mod selection;
mod settings;
mod sql;
#[cfg(test)]
mod tests;
mod tls;
mod tools;
mod value;
mod words;
mod write;
mod written;

pub(crate) use settings::Settings;

use crate::shared::digits::marked;
use crate::shared::doubt::{Repetition, settle};
use arguments::Arguments;
use async_trait::async_trait;
use catalog::{Catalog, Table};
use client::Client;
use operation::Operation;
use query::NamedQuery;
use rows::Limits;
use selection::Selection;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tool::{Call, Connector, Context, Env, Error, Outcome, Output, Result, Tool};

/// One database: the way to it, and its tools as the catalog had them when it was last read.
struct Db {
    client: Client,
    selection: Selection,
    offer: Offer,
    /// The tools that need no catalog.
    named: Entries,
    known: Mutex<Option<Arc<Known>>>,
    /// One reads the catalog, the others wait for it.
    reading: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
    refresh: Duration,
    tasks: TaskTracker,
    /// Ends the task that follows the catalog, when the process does or the service is gone.
    end: CancellationToken,
    _guard: DropGuard,
    this: Weak<Self>,
}

/// What the settings let callers do.
#[derive(Debug)]
struct Offer {
    operations: Vec<Operation>,
    is_read_only: bool,
    has_query: bool,
    allows_superuser: bool,
    limits: Limits,
    queries: Vec<NamedQuery>,
}

impl Offer {
    fn allows(&self, operation: Operation, table: &Table) -> bool {
        (operation.is_reading() || !self.is_read_only) && operation.fits(table)
    }

    fn has_execute(&self) -> bool {
        !self.is_read_only && self.operations.contains(&Operation::Execute)
    }
}

/// The catalog and the tools over it.
#[derive(Debug)]
struct Known {
    catalog: Catalog,
    tools: Entries,
}

type Entries = BTreeMap<String, Arc<Entry>>;

/// One tool and what it does.
#[derive(Debug)]
struct Entry {
    tool: Tool,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Table(Arc<Table>, Operation),
    Tables,
    Describe,
    Query,
    Execute,
    /// The position among the queries with a name.
    Named(usize),
}

impl Db {
    fn new(
        client: Client,
        selection: Selection,
        offer: Offer,
        refresh: Duration,
        env: &Env,
    ) -> Result<Arc<Self>> {
        let end = env.shutdown.child_token();
        let named = tools::named(&offer)?;
        Ok(Arc::new_cyclic(|this| Self {
            client,
            selection,
            offer,
            named,
            known: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            changes: watch::channel(0).0,
            refresh,
            tasks: env.tasks.clone(),
            _guard: end.clone().drop_guard(),
            end,
            this: this.clone(),
        }))
    }

    /// The tools, from memory where the catalog was read before.
    async fn known(&self) -> Result<Arc<Known>> {
        if let Some(known) = self.remembered() {
            return Ok(known);
        }
        let _turn = self.reading.lock().await;
        match self.remembered() {
            Some(known) => Ok(known),
            None => self.read_catalog().await,
        }
    }

    fn remembered(&self) -> Option<Arc<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the catalog, remembers it, and says so where it has changed.
    async fn read_catalog(&self) -> Result<Arc<Known>> {
        let catalog = Catalog::read(&self.client, &self.selection).await?;
        let before = self.remembered();
        if let Some(known) = before.as_ref().filter(|known| known.catalog == catalog) {
            return Ok(known.clone());
        }
        let tools = tools::all(&catalog, &self.selection, &self.offer, &self.named)?;
        let known = Arc::new(Known { catalog, tools });
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
        match before {
            Some(_) => self.changes.send_modify(|version| *version += 1),
            None => self.follow(),
        }
        Ok(known)
    }

    /// Reads the catalog again from time to time, and closes sessions that nobody uses.
    fn follow(&self) {
        let (this, end, pause) = (self.this.clone(), self.end.clone(), self.refresh);
        self.tasks.spawn(end.run_until_cancelled_owned(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(db) = this.upgrade() else { return };
                db.client.pool.sweep();
                db.reread().await;
            }
        }));
    }

    async fn reread(&self) {
        let _turn = self.reading.lock().await;
        if let Err(error) = self.read_catalog().await {
            tracing::debug!(%error, "the catalog could not be read again: {error}");
        }
    }

    async fn run(&self, cx: &Context, call: &Call) -> Result<Output> {
        let entry = match self.named.get(&call.tool) {
            Some(named) => Some(named.clone()),
            None => self.known().await?.tools.get(&call.tool).cloned(),
        };
        let Some(entry) = entry else {
            let why = self.why_absent(&call.tool).map(|why| format!(": {why}")).unwrap_or_default();
            return Err(Error::not_found(format!("the service has no tool '{}'{why}", call.tool)));
        };
        let arguments = marked(&call.arguments)?;
        let arguments = Arguments(&arguments);
        let limits = self.offer.limits.within(call.max_answer_bytes);
        let result = match &entry.action {
            Action::Table(table, operation) => {
                self.run_operation(cx, table, *operation, (arguments, limits)).await
            }
            Action::Tables => self.list_tables(limits).await,
            Action::Describe => self.describe(arguments).await,
            Action::Query => self.query(cx, arguments, limits).await,
            Action::Execute => self.execute(cx, arguments).await,
            Action::Named(index) => match self.offer.queries.get(*index) {
                Some(query) => self.named(cx, query, arguments, limits).await,
                None => Err(Error::internal("a query is gone")),
            },
        };
        let is_outdated = result.as_ref().is_err_and(failure::is_outdated);
        // Whoever comes next finds the tools as they should be.
        if is_outdated && matches!(entry.action, Action::Table(..)) {
            let this = self.this.clone();
            self.tasks.spawn(self.end.clone().run_until_cancelled_owned(async move {
                if let Some(db) = this.upgrade() {
                    db.reread().await;
                }
            }));
        }
        result
    }

    /// What it would do to call a tool again.
    fn repetition(&self, tool: &str) -> Repetition {
        let known = self.remembered();
        match known.as_ref().and_then(|known| known.tools.get(tool)).map(|entry| &entry.action) {
            Some(Action::Table(_, operation)) => operation.repetition(),
            Some(Action::Execute) => Repetition::Doubles,
            Some(Action::Tables | Action::Describe | Action::Query | Action::Named(_)) | None => {
                Repetition::Reads
            }
        }
    }

    async fn run_operation(
        &self,
        cx: &Context,
        table: &Table,
        operation: Operation,
        (arguments, limits): (Arguments<'_>, Limits),
    ) -> Result<Output> {
        match operation {
            Operation::Take => self.take(cx, table, arguments, limits).await,
            Operation::List => self.list(cx, table, arguments, limits).await,
            Operation::Page => self.page(cx, table, arguments, limits).await,
            Operation::Stream => self.stream(cx, table, arguments, limits).await,
            Operation::Count => self.count(cx, table, arguments).await,
            Operation::Create => self.create(cx, table, (arguments, limits)).await,
            Operation::Modify => self.modify(cx, table, (arguments, limits)).await,
            Operation::Save => self.save(cx, table, (arguments, limits)).await,
            Operation::Delete => self.delete(cx, table, arguments).await,
            Operation::Bulk => self.bulk(cx, table, arguments).await,
            Operation::Execute => Err(Error::internal("statements belong to no table")),
        }
    }

    async fn list_tables(&self, limits: Limits) -> Result<Output> {
        let listed = Catalog::list(&self.client, &self.selection).await?;
        let (mut rows, mut room) = (Vec::new(), limits.bytes);
        for table in listed.iter().take(limits.rows) {
            let row =
                json!({ "name": table.name, "view": table.is_view, "comment": table.comment }).to_string();
            let Some(left) = room.checked_sub(row.len() + 1) else { break };
            room = left;
            rows.push(row);
        }
        let is_truncated = listed.len() > rows.len();
        output(
            limits.check_answer(format!("{{\"rows\":[{}],\"truncated\":{is_truncated}}}", rows.join(",")))?,
        )
    }

    async fn describe(&self, arguments: Arguments<'_>) -> Result<Output> {
        let name =
            arguments.text("table")?.ok_or_else(|| filter::wrong("table", "is missing; name a table"))?;
        let Some(table) = Catalog::describe(&self.client, &self.selection, name).await? else {
            let name: String = name.chars().take(100).collect();
            return Err(Error::missing(format!("there is no table '{name}'; the tool 'tables' lists them")));
        };
        let key: Vec<_> = table.key_columns().map(|column| column.name.as_str()).collect();
        let columns: Vec<_> = table
            .columns
            .iter()
            .map(|column| {
                json!({
                    "name": column.name, "type": column.type_name, "nullable": column.is_nullable,
                    "key": key.contains(&column.name.as_str()), "default": column.has_default,
                    "generated": column.is_generated, "comment": column.comment,
                })
            })
            .collect();
        output(json!({ "table": table.name, "view": table.is_view, "comment": table.comment, "columns": columns }).to_string())
    }
}

#[async_trait]
impl Connector for Db {
    async fn tools(&self, cx: &Context) -> Result<Vec<Tool>> {
        let work = async {
            let _turn = self.reading.lock().await;
            self.read_catalog().await
        };
        let known = self.client.within(cx, &Default::default(), work).await?;
        Ok(known.tools.values().map(|entry| entry.tool.clone()).collect())
    }

    fn named_tools(&self) -> Vec<Tool> {
        self.named.values().map(|entry| entry.tool.clone()).collect()
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let output = self.client.within(cx, &call.options, self.run(cx, &call)).await;
        output.map(Outcome::Done).map_err(|error| settle(error, self.repetition(&call.tool)))
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        self.client.within(cx, &Default::default(), self.probe()).await
    }

    fn trouble(&self) -> Option<String> {
        self.known_trouble()
    }

    fn notes(&self) -> Vec<String> {
        self.known_notes()
    }

    fn absence(&self, tool: &str) -> Option<String> {
        self.why_absent(tool)
    }

    fn left_alone(&self) -> Option<Error> {
        self.client.bounds.breaker.refusal()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }
}

/// An answer that was written as JSON.
fn output(json: String) -> Result<Output> {
    let json = RawValue::from_string(json)
        .map_err(|error| Error::internal("an answer is no JSON").caused_by(error))?;
    Ok(Output::json(json))
}
