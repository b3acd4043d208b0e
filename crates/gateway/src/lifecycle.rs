//! Lifecycle: from definitions to open services to a snapshot of the catalog, without disturbing calls.

use crate::Gateway;
use crate::catalog::{OwnTool, Service, State, TenantCatalog};
use crate::tools::ToolDefinition;
use arc_swap::ArcSwapOption;
use futures::future::join_all;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tool::{
    Caller, Context, Door, Env, Error, ImportRequest, Imported, Kind, Limits, Problem, Result, Shape,
    TenantId,
};

/// How long a service may take to say what it offers.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause before a service that did not answer is asked again; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

/// A tenant as it is configured.
#[derive(Debug)]
pub struct TenantDefinition {
    /// The tenant.
    pub id: TenantId,
    /// What the tenant may use.
    pub limits: Limits,
    /// Its services.
    pub services: Vec<ServiceDefinition>,
    /// The Tools it made itself.
    pub tools: Vec<ToolDefinition>,
}

/// A service as it is configured.
#[derive(Debug, Clone)]
pub struct ServiceDefinition {
    /// Its type.
    pub scheme: String,
    /// Its id, unique per tenant and type.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// Settings, with user-defined tools in the field `tools`.
    pub settings: Value,
    /// Whether it may be called.
    pub is_enabled: bool,
    /// It comes from the owner of this process, so it may call private addresses.
    pub is_trusted: bool,
    /// Environment variables its credentials come from, named when they are refused.
    pub variables: Vec<String>,
    /// Why it cannot be used, where that is known before its settings are looked at.
    pub problem: Option<String>,
    /// Changes whenever anything above does.
    pub version: i64,
}

impl Gateway {
    /// Puts a tenant's configuration in place. Services that did not change keep running, calls
    /// in flight keep the service they have.
    pub async fn load(self: &Arc<Self>, definition: TenantDefinition) {
        let _turn = self.loading.lock().await;
        let previous = self.catalog.tenant(&definition.id);
        let mut fresh = Vec::new();
        let mut services = Vec::new();
        for wanted in definition.services {
            let running = previous.as_deref().and_then(|tenant| tenant.service(&wanted.scheme, &wanted.id));
            let service = match running {
                Some(running) if running.version == wanted.version => running.clone(),
                _ => {
                    let service = Arc::new(self.open(&definition.id, wanted));
                    fresh.push(service.clone());
                    service
                }
            };
            services.push(service);
        }
        let own = self.open_tools(&definition.id, definition.tools, previous.as_deref(), &mut fresh);
        self.discover_all(fresh).await;
        self.swap(&definition.id, definition.limits, services, own, previous.as_deref());
    }

    /// Takes a tenant out of the catalog.
    pub async fn unload(&self, tenant: &TenantId) {
        let _turn = self.loading.lock().await;
        self.catalog.replace(tenant, None);
    }

    /// Checks settings as `load` would, without keeping anything.
    ///
    /// # Errors
    /// `InvalidConfig` with every problem, `NotFound` for an unknown type.
    pub async fn check(&self, scheme: &str, settings: Value) -> Result<()> {
        let kind = self.kind(scheme)?;
        let mut problems = if kind.has_user_tools { problems_of_shapes(&settings) } else { Vec::new() };
        match kind.open(settings, &self.env) {
            Ok(connector) if problems.is_empty() && kind.has_user_tools => {
                return connector.tools(&system_context(HEALTH_TIMEOUT)).await.map(drop);
            }
            Ok(_) if problems.is_empty() => return Ok(()),
            Ok(_) => {}
            Err(error) if error.problems().is_empty() => return Err(error),
            Err(error) => problems.splice(0..0, error.problems().iter().cloned()).for_each(drop),
        }
        Err(tool::connector::invalid_settings(scheme, problems))
    }

    /// Reads a description of an API as a service of this type, without keeping anything.
    ///
    /// # Errors
    /// `NotFound` for a type that reads none, otherwise what is wrong with the description.
    pub async fn import(&self, scheme: &str, request: ImportRequest) -> Result<Imported> {
        let Some(import) = self.kind(scheme)?.import else {
            return Err(Error::not_found(format!("services of type '{scheme}' cannot be imported")));
        };
        (import.read)(request, self.env.clone()).await
    }

    /// Asks a service whether it can be reached.
    ///
    /// # Errors
    /// Why it cannot, or `NotFound`.
    pub async fn health(&self, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
        let catalog = self.catalog.tenant(tenant);
        let service = catalog.as_deref().and_then(|tenant| tenant.service(scheme, id));
        let Some(service) = service else {
            return Err(Error::not_found(format!("there is no service {scheme}://{id}")));
        };
        let cx = system_context(HEALTH_TIMEOUT);
        let probe = service.connector()?.health(&cx);
        tokio::time::timeout(HEALTH_TIMEOUT, probe).await.unwrap_or_else(|_| {
            Err(Error::timeout(format!("{scheme}://{id} did not answer within {HEALTH_TIMEOUT:?}")))
        })
    }

    /// The row of the registry for a type.
    ///
    /// # Errors
    /// `NotFound`, naming the type.
    pub fn kind(&self, scheme: &str) -> Result<&'static Kind> {
        self.kinds
            .iter()
            .find(|kind| kind.scheme == scheme)
            .ok_or_else(|| Error::not_found(format!("there is no service type '{scheme}'")))
    }

    /// Ends what runs in the background and writes the rest of the audit, within `time`.
    pub async fn close(&self, time: Duration) {
        self.env.shutdown.cancel();
        self.env.tasks.close();
        let half = time / 2;
        if tokio::time::timeout(half, self.env.tasks.wait()).await.is_err() {
            tracing::warn!("background work did not end within {half:?}");
        }
        self.audit.drain(half).await;
    }

    fn open(&self, tenant: &TenantId, wanted: ServiceDefinition) -> Service {
        let state = if let Some(problem) = wanted.problem.filter(|_| wanted.is_enabled) {
            State::Broken(problem)
        } else if wanted.is_enabled {
            let allow_private_network = self.env.allow_private_network || wanted.is_trusted;
            let env = Env { allow_private_network, ..self.env.clone() };
            match self.kind(&wanted.scheme).and_then(|kind| kind.open(wanted.settings, &env)) {
                Ok(connector) => State::Open(connector),
                Err(error) => {
                    let (scheme, id) = (&wanted.scheme, &wanted.id);
                    tracing::warn!(%tenant, scheme, id, %error, "service {scheme}://{id} cannot be used: {error}");
                    State::Broken(error.to_string())
                }
            }
        } else {
            State::Disabled
        };
        Service {
            tenant: tenant.clone(),
            scheme: wanted.scheme,
            id: wanted.id,
            name: wanted.name,
            version: wanted.version,
            state,
            variables: wanted.variables,
            tools: ArcSwapOption::empty(),
            failure: ArcSwapOption::empty(),
        }
    }

    /// Asks fresh services what they offer, all at once. One that answers late is put into the
    /// catalog when it does; one that never answers is left without tools.
    async fn discover_all(self: &Arc<Self>, services: Vec<Arc<Service>>) {
        let open = services.into_iter().filter(|service| matches!(service.state, State::Open(_)));
        let tasks = open.map(|service| {
            let gateway = self.clone();
            let (tx, rx) = oneshot::channel();
            self.env.tasks.spawn(async move {
                let shutdown = gateway.env.shutdown.clone();
                shutdown.run_until_cancelled(gateway.follow(service, tx)).await;
            });
            tokio::time::timeout(self.options.discovery_wait, rx)
        });
        join_all(tasks).await;
    }

    /// Discovers what a service offers, now and whenever it says that this has changed, until
    /// the service is gone from the catalog. One that does not say is asked again, ever less often.
    async fn follow(self: Arc<Self>, service: Arc<Service>, discovered: oneshot::Sender<()>) {
        let mut is_known = self.discover(&service).await;
        if discovered.send(()).is_err() {
            self.rebuild(&service.tenant).await;
        }
        let mut changes = service.connector().ok().and_then(|connector| connector.changes());
        let service = {
            let weak = Arc::downgrade(&service);
            drop(service);
            weak
        };
        let mut pause = FIRST_PAUSE;
        while !is_known || changes.is_some() {
            let is_ended = tokio::select! {
                () = tokio::time::sleep(pause), if !is_known => false,
                is_ended = next_change(&mut changes) => is_ended,
            };
            let Some(service) = service.upgrade().filter(|_| !is_ended) else { return };
            is_known = self.discover(&service).await;
            pause = (pause * 2).min(LAST_PAUSE);
            self.rebuild(&service.tenant).await;
        }
    }

    /// Asks a service what it offers; false when it does not say.
    async fn discover(&self, service: &Service) -> bool {
        let Ok(connector) = service.connector() else { return true };
        let cx = system_context(DISCOVERY_TIMEOUT);
        let answer = tokio::time::timeout(DISCOVERY_TIMEOUT, connector.tools(&cx)).await;
        match answer.unwrap_or_else(|_| Err(Error::timeout("it did not say what it offers"))) {
            Ok(tools) => {
                service.offers(tools);
                true
            }
            Err(error) => {
                let is_news = service.failure.load().is_none();
                service.failed(&error);
                if is_news {
                    tracing::warn!(
                        ?service,
                        error = error.full_message(),
                        "{service:?} has no tools: {error}"
                    );
                }
                false
            }
        }
    }

    async fn rebuild(&self, tenant: &TenantId) {
        let _turn = self.loading.lock().await;
        if let Some(previous) = self.catalog.tenant(tenant) {
            let services = previous.services().cloned().collect();
            let own = previous.own_tools().cloned().collect();
            self.swap(tenant, previous.limits(), services, own, Some(&previous));
        }
    }

    fn swap(
        &self,
        tenant: &TenantId,
        limits: Limits,
        services: Vec<Arc<Service>>,
        own: Vec<Arc<OwnTool>>,
        previous: Option<&TenantCatalog>,
    ) {
        let catalog = TenantCatalog::build(limits, services, own, previous, self.options.result_budget_bytes);
        self.catalog.replace(tenant, Some(Arc::new(catalog)));
    }
}

/// What is wrong with the shapes of user-defined tools, whatever else may be wrong with them.
fn problems_of_shapes(settings: &Value) -> Vec<Problem> {
    let tools = settings.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let problems = |(at, tool): (usize, &Value)| {
        let text = |field: &str| tool.get(field)?.as_str().map(str::to_owned);
        let shape = Shape { select: text("select"), template: text("response_template"), max_bytes: None };
        crate::shape::check(&shape, &format!("tools[{at}]."))
    };
    tools.iter().enumerate().flat_map(problems).collect()
}

/// Waits for a connector to say that its tools have changed; true when it never will again.
async fn next_change(changes: &mut Option<watch::Receiver<u64>>) -> bool {
    match changes {
        Some(changes) => changes.changed().await.is_err(),
        None => std::future::pending().await,
    }
}

/// For what we do ourselves: discovery, probes.
pub(crate) fn system_context(time: Duration) -> Context {
    Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, time)
}
