//! Lifecycle: from definitions to open services to a snapshot of the catalog, without disturbing calls.

use crate::catalog::{InstanceDefinition, Service, Since, State, TenantCatalog, TenantParts};
use crate::pins::Report;
use crate::tools::ToolDefinition;
use crate::{Discovery, Gateway};
use arc_swap::{ArcSwap, ArcSwapOption};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tool::{
    Connector, Context, Env, Error, ImportRequest, Imported, Kind, Limits, Pinning, Problem, Reason, Result,
    Shape, TenantId, ToolSearch,
};

const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

/// A tenant as it is configured.
#[derive(Debug)]
pub struct TenantDefinition {
    /// The tenant.
    pub id: TenantId,
    /// What the tenant may use.
    pub limits: Limits,
    /// Its services and Tools may say themselves that they call private addresses.
    pub may_use_private_network: bool,
    /// Its services.
    pub services: Vec<ServiceDefinition>,
    /// The Tools it made itself.
    pub tools: Vec<ToolDefinition>,
    /// Its MCP instances.
    pub instances: Vec<InstanceDefinition>,
    /// How its door tells of its tools; as the server's unless it has its own way.
    pub tool_search: Option<ToolSearch>,
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
    pub problem: Option<ConfigProblem>,
    /// What answers, for a service of this program itself; settings are of no use then.
    pub built_in: Option<BuiltIn>,
    /// Changes whenever anything above does.
    pub version: i64,
    /// When it was made, in milliseconds since 1970, where that is known. Where two services want one name, the older
    /// one keeps it; the owner's count as older than all others.
    pub made_at_ms: Option<i64>,
}

impl ServiceDefinition {
    /// Who is trusted may go anywhere, whatever its tenant may, unless the settings themselves say where.
    fn goes_anywhere(&self) -> bool {
        let says = self.settings.get("allow_private_network").is_some_and(|value| !value.is_null());
        self.is_trusted && !says
    }
}

/// What is wrong with how a service is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// In words.
    pub message: String,
    /// What kind of problem it is, where something can be done about it.
    pub reason: Option<Reason>,
}

/// A service that is part of this program.
#[derive(Clone)]
pub struct BuiltIn {
    connector: Arc<dyn Connector>,
    is_for_admins: bool,
}

impl BuiltIn {
    /// The service, which only callers with the role admin may use.
    #[must_use]
    pub fn for_admins(connector: Arc<dyn Connector>) -> Self {
        Self { connector, is_for_admins: true }
    }

    /// The service, which is like any other to its callers.
    #[must_use]
    pub fn for_everyone(connector: Arc<dyn Connector>) -> Self {
        Self { connector, is_for_admins: false }
    }
}

impl fmt::Debug for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BuiltIn")
    }
}

impl Gateway {
    /// Puts a tenant's configuration in place. Services that did not change keep running, calls
    /// in flight keep the service they have. Services that are slow to say what they offer arrive later, and
    /// nobody else waits for them.
    pub async fn load(self: &Arc<Self>, definition: TenantDefinition) -> Discovery {
        let _turn = self.loading.lock().await;
        let previous = self.catalog.tenant(&definition.id);
        let may_use_private_network = definition.may_use_private_network;
        // What was opened with another answer to that is opened anew, unless it never asked.
        let is_reusable =
            |previous: &&TenantCatalog| previous.may_use_private_network() == may_use_private_network;
        let reusable = previous.as_deref().filter(is_reusable);
        let env = self.env_of(&definition.id, may_use_private_network);
        let mut fresh = Vec::new();
        let mut services = Vec::new();
        for wanted in definition.services {
            let known = if wanted.goes_anywhere() { previous.as_deref() } else { reusable };
            let running = known.and_then(|tenant| tenant.service(&wanted.scheme, &wanted.id));
            let service = match running {
                Some(running) if running.version == wanted.version => {
                    self.look_again_later(running);
                    running.clone()
                }
                _ => {
                    let service = Arc::new(self.open_apart(&definition.id, wanted, &env).await);
                    fresh.push(service.clone());
                    service
                }
            };
            services.push(service);
        }
        let own = self.open_tools(&definition.id, definition.tools, reusable, &env, &mut fresh);
        let discovery = self.discover_all(fresh).await;
        let (limits, instances) = (definition.limits, Arc::new(definition.instances));
        let tool_search = definition.tool_search;
        let parts = TenantParts { limits, may_use_private_network, services, own, instances, tool_search };
        self.swap(&definition.id, parts, previous.as_deref()).await;
        self.forget_numbers(&definition.id);
        discovery
    }

    /// Services that are gone are not counted any more.
    fn forget_numbers(&self, tenant: &TenantId) {
        let Some(catalog) = self.catalog.tenant(tenant) else { return self.numbers.forget(tenant) };
        let own = catalog.own_tools().filter_map(|own| own.service());
        let all = catalog.services().chain(own);
        self.numbers
            .keep(tenant, &all.map(|service| (service.scheme.as_str(), service.id.as_str())).collect());
    }

    /// What services of a tenant share.
    pub(crate) fn env_of(&self, tenant: &TenantId, may_use_private_network: bool) -> Env {
        Env { tenant: tenant.clone(), may_use_private_network, ..self.env.clone() }
    }

    /// Takes a tenant out of the catalog.
    pub async fn unload(&self, tenant: &TenantId) {
        let _turn = self.loading.lock().await;
        self.catalog.replace(tenant, None);
        self.forget_numbers(tenant);
        self.audit.kept_calls().forget(tenant);
    }

    /// Checks settings as `load` would, without keeping anything.
    ///
    /// # Errors
    /// `InvalidConfig` with every problem, `NotFound` for an unknown type.
    pub async fn check(&self, tenant: &TenantId, scheme: &str, settings: Value) -> Result<()> {
        let (kind, env) = (self.kind(scheme)?, Env { tenant: tenant.clone(), ..self.env.clone() });
        // Thousands of tools take their time, and calls must not wait for it.
        let checking = tokio::task::spawn_blocking(move || {
            let problems = if kind.has_user_tools { problems_of_shapes(&settings) } else { Vec::new() };
            (problems, kind.open(settings, &env))
        });
        let broken = |_| Error::internal("the settings could not be checked");
        let (mut problems, opened) = checking.await.map_err(broken)?;
        match opened {
            // Those who find out what they offer would ask their service, which need not be there.
            Ok(connector) if problems.is_empty() && kind.has_user_tools && connector.changes().is_none() => {
                let cx = Context::system(tenant.clone(), HEALTH_TIMEOUT);
                return connector.tools(&cx).await.map(drop);
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
    pub async fn import(&self, tenant: &TenantId, scheme: &str, request: ImportRequest) -> Result<Imported> {
        let Some(import) = self.kind(scheme)?.import else {
            return Err(Error::not_found(format!("services of type '{scheme}' cannot be imported")));
        };
        let catalog = self.catalog.tenant(tenant);
        let env = self.env_of(tenant, catalog.is_some_and(|catalog| catalog.may_use_private_network()));
        (import.read)(request, env).await
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
        let reached = probe(tenant, &**service.connector()?, &format!("{scheme}://{id}")).await;
        service.probed(&reached);
        reached
    }

    /// Asks a service that is nowhere yet whether it could be reached. It is closed again behind that.
    ///
    /// # Errors
    /// Why it cannot, `InvalidConfig` with every problem, or `NotFound` for an unknown type.
    pub async fn try_out(&self, tenant: &TenantId, scheme: &str, settings: Value) -> Result<()> {
        let kind = self.kind(scheme)?;
        let catalog = self.catalog.tenant(tenant);
        let env = self.env_of(tenant, catalog.is_some_and(|catalog| catalog.may_use_private_network()));
        let opening = tokio::task::spawn_blocking(move || kind.open(settings, &env));
        let connector = opening.await.map_err(|_| Error::internal("the service could not be opened"))??;
        probe(tenant, &*connector, "it").await
    }

    /// The row of the registry for a type.
    ///
    /// # Errors
    /// `NotFound`, naming the type, and the feature that would bring it in.
    pub fn kind(&self, scheme: &str) -> Result<&'static Kind> {
        self.registry.find(scheme).ok_or_else(|| Error::not_found(self.registry.no_service_type(scheme)))
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

    /// Opens a service beside the threads that serve calls: thousands of tools take their time.
    async fn open_apart(
        self: &Arc<Self>,
        tenant: &TenantId,
        wanted: ServiceDefinition,
        env: &Env,
    ) -> Service {
        let (gateway, id, kept, shared) = (self.clone(), tenant.clone(), wanted.clone(), env.clone());
        let opening = tokio::task::spawn_blocking(move || gateway.open(&id, wanted, &shared));
        match opening.await {
            Ok(service) => service,
            Err(_) => {
                let problem =
                    ConfigProblem { message: "it could not be opened; see the log".to_owned(), reason: None };
                self.open(tenant, ServiceDefinition { problem: Some(problem), ..kept }, env)
            }
        }
    }

    fn open(&self, tenant: &TenantId, wanted: ServiceDefinition, env: &Env) -> Service {
        let goes_anywhere = wanted.goes_anywhere();
        let is_for_admins = wanted.built_in.as_ref().is_some_and(|built_in| built_in.is_for_admins);
        let state = if let Some(built_in) = wanted.built_in.filter(|_| wanted.is_enabled) {
            State::Open(built_in.connector)
        } else if let Some(problem) = wanted.problem.filter(|_| wanted.is_enabled) {
            State::Broken(problem.message)
        } else if wanted.is_enabled {
            let allow_private_network = env.allow_private_network || goes_anywhere;
            let env = Env {
                tenant: tenant.clone(),
                service: Some(wanted.id.clone()),
                made_at_ms: wanted.made_at_ms,
                allow_private_network,
                allow_private_sources: env.allow_private_network,
                ..env.clone()
            };
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
        let (pinning, named) = match &state {
            State::Open(connector) => (connector.pinning(), connector.named_tools()),
            State::Disabled | State::Broken(_) => (Pinning::Off, Vec::new()),
        };
        let named = named.into_iter().map(Arc::new).collect();
        Service {
            metrics: self.numbers.of(tenant, &wanted.scheme, &wanted.id),
            tenant: tenant.clone(),
            scheme: wanted.scheme,
            id: wanted.id,
            name: wanted.name,
            version: wanted.version,
            state,
            variables: wanted.variables,
            tools: ArcSwapOption::empty(),
            named: Arc::new(named),
            offer: ArcSwapOption::empty(),
            failure: ArcSwapOption::empty(),
            unreached: ArcSwapOption::empty(),
            since: Since::now(),
            report: ArcSwap::from_pointee(Report { pinning, ..Report::default() }),
            is_trusted: wanted.is_trusted,
            is_for_admins,
            made_at_ms: wanted.made_at_ms,
        }
    }

    /// Somebody may have approved, elsewhere, what a service has changed.
    fn look_again_later(self: &Arc<Self>, service: &Arc<Service>) {
        if service.report().to_approve().is_empty() {
            return;
        }
        let (gateway, service) = (self.clone(), service.clone());
        self.env.tasks.spawn(async move {
            let shutdown = gateway.env.shutdown.clone();
            shutdown.run_until_cancelled(gateway.look_again(&service)).await;
        });
    }

    pub(crate) async fn rebuild(&self, tenant: &TenantId) {
        let _turn = self.loading.lock().await;
        if let Some(previous) = self.catalog.tenant(tenant) {
            let services = previous.services().cloned().collect();
            let own = previous.own_tools().cloned().collect();
            let (limits, instances) = (previous.limits(), previous.instances());
            let may_use_private_network = previous.may_use_private_network();
            let tool_search = previous.tool_search().cloned();
            let parts =
                TenantParts { limits, may_use_private_network, services, own, instances, tool_search };
            self.swap(tenant, parts, Some(&previous)).await;
        }
    }

    async fn swap(&self, tenant: &TenantId, parts: TenantParts, previous: Option<&TenantCatalog>) {
        let budget = self.options.result_budget_bytes;
        let catalog = TenantCatalog::build(tenant, &self.types, parts, previous, budget);
        let catalog = Arc::new(catalog.with_words(previous, &self.options.tool_search).await);
        self.catalog.replace(tenant, Some(catalog.clone()));
        self.find_meanings(&catalog);
    }
}

/// Asks whether a service can be reached.
async fn probe(tenant: &TenantId, connector: &dyn Connector, name: &str) -> Result<()> {
    let cx = Context::system(tenant.clone(), HEALTH_TIMEOUT);
    tokio::time::timeout(HEALTH_TIMEOUT, connector.health(&cx))
        .await
        .unwrap_or_else(|_| Err(Error::timeout(format!("{name} did not answer within {HEALTH_TIMEOUT:?}"))))
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
