//! gRPC services: methods as tools, messages as JSON, described by the service itself or by its settings.

mod anys;
mod bounds;
mod client;
mod comments;
mod decoder;
mod details;
mod exact;
mod explain;
mod extent;
mod health;
pub(super) mod import;
mod imports;
mod json_schema;
mod message;
mod metadata;
mod names;
mod open;
mod protos;
mod reflection;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod wire;
mod written;

use crate::shared::breaker::TimeSetBy;
use crate::shared::grpc::{connection, exchange, failure, frame, status};
use crate::svc::fleet::Fleet;
use client::Client;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tool::{Call, Context, Error, ErrorKind, Output, Reason, Result, Tool};
use tools::{Catalog, Manner, Selection, stand_ins};

/// A tool that is not known is asked about again, but not more often than this.
const MIN_PAUSE: Duration = Duration::from_secs(5);

/// The methods of a gRPC service.
#[derive(Debug)]
pub(super) struct Grpc {
    client: Client,
    methods: Methods,
}

/// Where the methods are known from.
#[derive(Debug)]
enum Methods {
    /// From the settings.
    Described(Catalog),
    /// From the service, when it is first asked.
    Reflected(Reflected),
}

/// What the service said about itself.
#[derive(Debug)]
struct Reflected {
    selection: Arc<Selection>,
    manner: Manner,
    known: Mutex<Option<Known>>,
    /// One asks, the others wait for it.
    asking: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
    /// Whoever asked last for the tools got none.
    is_unlisted: AtomicBool,
}

#[derive(Debug, Clone)]
struct Known {
    catalog: Arc<Catalog>,
    at: Instant,
}

impl Grpc {
    pub(super) async fn tools(&self, cx: &Context) -> Result<Vec<Tool>> {
        match &self.methods {
            Methods::Described(catalog) => Ok(catalog.tools.clone()),
            Methods::Reflected(reflected) => {
                let asked = reflected.ask(cx, &self.client).await;
                reflected.is_unlisted.store(asked.is_err(), Ordering::Relaxed);
                let catalog = asked?;
                // One method that is gone must not take the others with it.
                match catalog.missing.values().next().filter(|_| catalog.tools.is_empty()) {
                    Some(why) => Err(Error::invalid_config(why.clone())),
                    None => Ok(catalog.tools.clone()),
                }
            }
        }
    }

    /// What can be offered of a service that has never said what it has. The first call that reaches it brings what it
    /// really is.
    pub(super) fn named_tools(&self) -> Vec<Tool> {
        match &self.methods {
            Methods::Described(_) => Vec::new(),
            Methods::Reflected(reflected) => stand_ins(&reflected.selection),
        }
    }

    /// Runs a tool, and says who set the time that it had.
    pub(super) async fn call(&self, cx: &Context, call: &Call) -> (Result<Output>, TimeSetBy) {
        let reflected = match &self.methods {
            Methods::Described(catalog) => return self.run(cx, catalog, call).await,
            Methods::Reflected(reflected) => reflected,
        };
        let has_own_time = self.client.timeout < cx.remaining();
        match reflected.with(cx, &self.client, &call.tool).await {
            Ok(catalog) => self.run(cx, &catalog, call).await,
            // Who does not even say what it has in time hangs like one that does not answer a call.
            Err(error) if has_own_time && error.kind() == ErrorKind::Timeout => {
                (Err(error.because(Reason::AttemptTimedOut)), TimeSetBy::Service)
            }
            Err(error) => (Err(error), TimeSetBy::Caller),
        }
    }

    async fn run(&self, cx: &Context, catalog: &Catalog, call: &Call) -> (Result<Output>, TimeSetBy) {
        match catalog.methods.get(&call.tool) {
            Some(method) => Box::pin(self.client.call(cx, method, call)).await,
            None => {
                let unknown = || Error::not_found(format!("the service has no tool '{}'", call.tool));
                let missing = catalog.missing.get(&call.tool).cloned().map(Error::invalid_config);
                (Err(missing.unwrap_or_else(unknown)), TimeSetBy::Caller)
            }
        }
    }

    pub(super) fn fleet(&self) -> &Fleet {
        &self.client.fleet
    }

    pub(super) async fn health(&self, cx: &Context) -> Result<()> {
        self.client.health(cx).await
    }

    pub(super) fn changes(&self) -> Option<watch::Receiver<u64>> {
        match &self.methods {
            Methods::Described(_) => None,
            Methods::Reflected(reflected) => Some(reflected.changes.subscribe()),
        }
    }
}

impl Reflected {
    fn new(selection: Selection, manner: Manner) -> Self {
        Self {
            selection: Arc::new(selection),
            manner,
            known: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            changes: watch::channel(0).0,
            is_unlisted: AtomicBool::new(false),
        }
    }

    /// What is known, asked for where nothing is, or where a tool may be new.
    async fn with(&self, cx: &Context, client: &Client, tool: &str) -> Result<Arc<Catalog>> {
        let is_enough =
            |known: &Known| known.catalog.methods.contains_key(tool) || known.at.elapsed() < MIN_PAUSE;
        if let Some(known) = self.known().filter(is_enough) {
            return Ok(known.catalog);
        }
        let turn = cx.within(self.asking.lock()).await;
        let _turn = turn.map_err(|ended| ended.error("the service's methods were not known in time"))?;
        match self.known().filter(is_enough) {
            Some(known) => Ok(known.catalog),
            None => self.read(cx, client).await,
        }
    }

    /// What the service says now.
    async fn ask(&self, cx: &Context, client: &Client) -> Result<Arc<Catalog>> {
        let turn = cx.within(self.asking.lock()).await;
        let _turn = turn.map_err(|ended| ended.error("the service's methods were not known in time"))?;
        self.read(cx, client).await
    }

    async fn read(&self, cx: &Context, client: &Client) -> Result<Arc<Catalog>> {
        let (selection, manner) = (self.selection.clone(), self.manner.clone());
        let making = client.reflect(cx, move |schema| Catalog::new(&schema, &selection, &manner));
        let catalog = Arc::new(making.await?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let was_unlisted = self.is_unlisted.swap(false, Ordering::Relaxed);
        let is_changed =
            was_unlisted || known.as_ref().is_some_and(|known| known.catalog.tools != catalog.tools);
        *known = Some(Known { catalog: catalog.clone(), at: Instant::now() });
        drop(known);
        if is_changed {
            self.changes.send_modify(|version| *version += 1);
        }
        Ok(catalog)
    }

    fn known(&self) -> Option<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
