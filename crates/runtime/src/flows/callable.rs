//! What a flow may call: the tools that its publisher may, as the catalog has them now, and other flows.

use super::Flows;
use flow::{Bound, Flow, Lookup, Source, Tools};
use gateway::policy::permits_named;
use gateway::{Gateway, Route};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use store::flows::FlowVersion;
use tool::{Caller, Context, Door, Error, ErrorKind, Result, Role, TableId, TenantId, Uri, runs};

/// A flow that is called, and which version of it; `None` is the current one.
type Called = (String, Option<u32>);

/// The tools that a caller may call, at one moment.
pub struct Callable {
    gateway: Arc<Gateway>,
    cx: Context,
    /// What the flow is called that is checked, and what it takes.
    own: Option<(String, Arc<Value>)>,
    /// What other flows take that it calls, or why they cannot be called.
    flows: HashMap<Called, Lookup>,
    /// The tables that it watches, or why they cannot be watched.
    tables: HashMap<String, Lookup>,
    /// Schemas that were read already: the same tool is often called by many nodes.
    read: RefCell<HashMap<String, Arc<Value>>>,
}

impl Callable {
    /// Without flows, where none are published.
    #[must_use]
    pub fn new(gateway: Arc<Gateway>, cx: Context) -> Self {
        Self {
            gateway,
            cx,
            own: None,
            flows: HashMap::new(),
            tables: HashMap::new(),
            read: RefCell::default(),
        }
    }

    /// With the flows that one calls and the tables that it watches; it is called `id` where that is known.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn with_flows(
        mut self,
        store: &Store,
        id: Option<&str>,
        flow: Option<&Flow>,
    ) -> store::Result<Self> {
        for reference in flow.map(flow::references).unwrap_or_default() {
            let called = called(&reference.uri);
            if reference.uri.scheme() == runs::SCHEME && !self.flows.contains_key(&called) {
                let found = find_flow(store, &self.cx.tenant, &called).await?;
                self.flows.insert(called, found);
            }
        }
        for trigger in flow.into_iter().flat_map(|flow| &flow.triggers) {
            if let Source::Table { table, .. } = &trigger.source {
                self.tables.insert(table.clone(), find_table(store, &self.cx, table).await?);
            }
        }
        let id = id.map(str::to_owned).or_else(|| flow?.id.clone());
        self.own = id.zip(flow.map(|flow| Arc::new(flow.input_schema())));
        Ok(self)
    }

    fn find_flow(&self, uri: &Uri) -> Lookup {
        let own = self.own.as_ref().filter(|(id, _)| id == uri.service() && uri.options().version.is_none());
        if let Some((_, input)) = own {
            return Lookup::Found { input: input.clone() };
        }
        let address = Uri::of_service(runs::SCHEME, uri.service()).to_string();
        if let Err(error) = permits_named(&self.cx.caller, uri.service(), &address) {
            return Lookup::Missing(error.message().to_owned());
        }
        // Also with the options that it is called with.
        let error = self.gateway.find(&self.cx, uri).err();
        if let Some(error) = error.filter(|error| error.kind() == ErrorKind::Denied) {
            return Lookup::Missing(error.message().to_owned());
        }
        let missing = || Lookup::Missing(format!("there is no flow '{}'", uri.service()));
        self.flows.get(&called(uri)).cloned().unwrap_or_else(missing)
    }

    fn schema(&self, route: &Route) -> Lookup {
        let mut read = self.read.borrow_mut();
        let schema = || Arc::new(serde_json::from_str(route.tool.input_schema().get()).unwrap_or_default());
        Lookup::Found { input: read.entry(route.name.clone()).or_insert_with(schema).clone() }
    }

    /// What cannot be told now is no mistake of the author.
    fn failed(error: &Error) -> Lookup {
        let message = error.message().to_owned();
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::Missing | ErrorKind::Denied => Lookup::Missing(message),
            ErrorKind::InvalidInput | ErrorKind::Unsupported => Lookup::Missing(message),
            ErrorKind::InvalidConfig
            | ErrorKind::Unauthenticated
            | ErrorKind::RateLimited
            | ErrorKind::ServiceDisabled
            | ErrorKind::ToolDisabled
            | ErrorKind::Timeout
            | ErrorKind::Cancelled
            | ErrorKind::Unavailable
            | ErrorKind::CircuitOpen
            | ErrorKind::Upstream
            | ErrorKind::Internal => Lookup::Unchecked(message),
        }
    }
}

impl Tools for Callable {
    fn find(&self, uri: &Uri) -> Lookup {
        if uri.scheme() == runs::SCHEME {
            return self.find_flow(uri);
        }
        match self.gateway.find(&self.cx, uri) {
            Ok(route) => self.schema(&route),
            Err(error) => Self::failed(&error),
        }
    }

    fn find_source(&self, source: &Source) -> Lookup {
        match source {
            Source::Message { from, .. } => match self.find(from) {
                Lookup::Found { .. } => match self.gateway.source(&self.cx.tenant, from) {
                    Ok(_) => Lookup::found(),
                    Err(error) => Self::failed(&error),
                },
                other => other,
            },
            Source::File { from, .. } => self.find(from),
            Source::Table { table, .. } => {
                // Where nothing is stored nobody can say.
                let unchecked =
                    || Lookup::Unchecked(format!("whether there is a table '{table}' says a server"));
                self.tables.get(table).cloned().unwrap_or_else(unchecked)
            }
            Source::Schedule { .. } | Source::Webhook { .. } => Lookup::found(),
        }
    }
}

impl Flows {
    /// The parameters of a draft that are bound by name, as publishing would.
    pub(super) async fn bound_of(&self, tenant: &TenantId, text: &str) -> Result<Vec<Bound>> {
        let Some(gateway) = self.gateway() else { return Ok(Vec::new()) };
        let caller = Caller { role: Role::Manager, ..Caller::system() };
        let cx = Context::new(tenant.clone(), Arc::new(caller), Door::System, Duration::ZERO);
        let draft = flow::read(text).flow;
        let callable = Callable::new(gateway, cx).with_flows(&self.store, None, draft.as_ref()).await?;
        Ok(flow::validate(text, &callable).bound)
    }
}

fn called(uri: &Uri) -> Called {
    (uri.service().to_owned(), uri.options().version)
}

/// Whether there is a table that the publisher may see.
async fn find_table(store: &Store, cx: &Context, table: &str) -> store::Result<Lookup> {
    let missing = || Lookup::Missing(format!("there is no table '{table}'; 'table' is the id of one"));
    let Ok(id) = table.parse::<TableId>() else { return Ok(missing()) };
    let address = Uri::of_service(tool::tables::SCHEME, table).to_string();
    if let Err(error) = permits_named(&cx.caller, table, &address) {
        return Ok(Lookup::Missing(error.message().to_owned()));
    }
    match store.tables().get(&cx.tenant, &id).await {
        Ok(_) => Ok(Lookup::found()),
        Err(error) if error.kind() == store::ErrorKind::NotFound => Ok(missing()),
        Err(error) => Err(error),
    }
}

/// What a published flow takes, or why it cannot be called.
async fn find_flow(store: &Store, tenant: &TenantId, (id, version): &Called) -> store::Result<Lookup> {
    let flows = store.flows();
    let current = match flows.get(tenant, id).await {
        Ok(flow) => flow.current,
        Err(error) if error.kind() == store::ErrorKind::NotFound => {
            return Ok(Lookup::Missing(format!("there is no flow '{id}'")));
        }
        Err(error) => return Err(error),
    };
    let Some(version) = version.map(i64::from).or(current) else {
        return Ok(Lookup::Missing(format!("the flow '{id}' is not published yet")));
    };
    match flows.version(tenant, id, version).await {
        Ok(FlowVersion { source, .. }) => {
            let reading = tokio::task::spawn_blocking(move || flow::read(&source).flow);
            let input = reading.await.ok().flatten().map(|flow| flow.input_schema()).unwrap_or_default();
            Ok(Lookup::Found { input: Arc::new(input) })
        }
        Err(error) if error.kind() == store::ErrorKind::NotFound => {
            Ok(Lookup::Missing(format!("the flow '{id}' has no version {version}")))
        }
        Err(error) => Err(error),
    }
}
