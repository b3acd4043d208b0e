//! What a flow may call: the tools that its publisher may, as the catalog has them now, and other flows.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use flow::{Flow, Lookup, Tools};
use gateway::catalog::State;
use gateway::{Gateway, Route};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::flows::FlowVersion;
use tool::{Context, Door, Error, ErrorKind, TenantId, Uri};

/// The type of flows in URIs.
const FLOW_TYPE: &str = "flow";

/// A flow that is called, and which version of it; `None` is the current one.
type Called = (String, Option<u32>);

/// The tools that a caller may call, at one moment.
pub(super) struct Callable {
    gateway: Arc<Gateway>,
    cx: Context,
    /// What the flow is called that is checked, and what it takes.
    own: Option<(String, Arc<Value>)>,
    /// What other flows take that it calls, or why they cannot be called.
    flows: HashMap<Called, Lookup>,
    /// Schemas that were read already: the same tool is often called by many nodes.
    read: RefCell<HashMap<String, Arc<Value>>>,
}

impl Callable {
    /// For a flow that is called `id`, and the flows that it calls.
    pub(super) async fn new(
        state: &Shared,
        signed_in: &SignedIn,
        id: Option<&str>,
        flow: Option<&Flow>,
    ) -> Result<Self> {
        let cx = Context::new(signed_in.tenant.clone(), signed_in.caller.clone(), Door::Rest, Duration::ZERO);
        let mut flows = HashMap::new();
        for reference in flow.map(flow::references).unwrap_or_default() {
            let called = called(&reference.uri);
            if reference.uri.scheme() == FLOW_TYPE && !flows.contains_key(&called) {
                let found = find_flow(state, &signed_in.tenant, &called).await?;
                flows.insert(called, found);
            }
        }
        let id = id.map(str::to_owned).or_else(|| flow?.id.clone());
        let own = id.zip(flow.map(|flow| Arc::new(flow.input_schema())));
        Ok(Self { gateway: state.gateway.clone(), cx, own, flows, read: RefCell::default() })
    }

    fn find_flow(&self, uri: &Uri) -> Lookup {
        let own = self.own.as_ref().filter(|(id, _)| id == uri.service() && uri.options().version.is_none());
        if let Some((_, input)) = own {
            return Lookup::Found { input: input.clone() };
        }
        let allow = &self.cx.caller.allow;
        let address = uri.to_string();
        let address = address.split('?').next().unwrap_or_default();
        let is_allowed = |name: &str| allow.iter().any(|allow| allow.matches(name));
        if !allow.is_empty() && !is_allowed(address) && !is_allowed(uri.service()) {
            return Lookup::Missing(format!(
                "'{address}' is not on the allow-list of {}",
                self.cx.caller.name
            ));
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
    fn failed(&self, uri: &Uri, error: &Error) -> Lookup {
        let message = error.message().to_owned();
        match error.kind() {
            ErrorKind::NotFound if self.is_silent(uri) => Lookup::Unchecked(format!(
                "service {}://{} has not said yet what it offers",
                uri.scheme(),
                uri.service()
            )),
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

    /// The service is there, and was not heard from since it was opened.
    fn is_silent(&self, uri: &Uri) -> bool {
        let catalog = self.gateway.catalog().tenant(&self.cx.tenant);
        let service = catalog.as_ref().and_then(|catalog| catalog.service(uri.scheme(), uri.service()));
        service.is_some_and(|service| matches!(service.state, State::Open(_)) && !service.has_answered())
    }
}

impl Tools for Callable {
    fn find(&self, uri: &Uri) -> Lookup {
        if uri.scheme() == FLOW_TYPE {
            return self.find_flow(uri);
        }
        match self.gateway.find(&self.cx, uri) {
            Ok(route) => self.schema(&route),
            Err(error) => self.failed(uri, &error),
        }
    }
}

fn called(uri: &Uri) -> Called {
    (uri.service().to_owned(), uri.options().version)
}

/// What a published flow takes, or why it cannot be called.
async fn find_flow(state: &Shared, tenant: &TenantId, (id, version): &Called) -> Result<Lookup> {
    let flows = state.store.flows();
    let current = match flows.get(tenant, id).await {
        Ok(flow) => flow.current,
        Err(error) if error.kind() == store::ErrorKind::NotFound => {
            return Ok(Lookup::Missing(format!("there is no flow '{id}'")));
        }
        Err(error) => return Err(error.into()),
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
        Err(error) => Err(error.into()),
    }
}
