//! From the store to the catalog: what was written is callable at once, here and on other replicas.

use crate::tool_definition::definition_of;
use crate::{Flows, OwnServices};
use async_trait::async_trait;
use futures::future::join_all;
use gateway::{Discovery, Gateway, InstanceDefinition, ServiceDefinition, TenantDefinition};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use store::{Binding, BindingStatus, ErrorKind, Service, Status, Store, within};
use tokio::sync::{Mutex, broadcast};
use tokio_util::sync::CancellationToken;
use tool::{InstanceId, TenantId, ToolSearch};

/// How long whoever changes something waits for services to say what they offer, so that the answer shows it.
/// Slower ones arrive later.
const DISCOVERY_WAIT: Duration = Duration::from_secs(5);

/// What else is kept in memory of the store, and made again whenever anything in it changes.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// Reads everything again.
    ///
    /// # Errors
    /// When the store fails; what was read before stays.
    async fn reload(&self, store: &Store) -> store::Result<()>;
}

/// Keeps the snapshots in memory equal to the store.
pub struct Reload {
    store: Store,
    gateway: Arc<Gateway>,
    /// What else follows the store, e.g. who may sign in.
    also: Vec<Arc<dyn Snapshot>>,
    own: OwnServices,
    flows: Arc<Flows>,
    /// Stored services that the owner's hide.
    hidden: std::sync::Mutex<HashSet<String>>,
    /// How long the database may take to answer.
    timeout: Duration,
    /// What the snapshots show; held while they are made, so that an older read never replaces a newer one.
    shown: Mutex<Shown>,
    /// The revision that they show, for those who must not wait.
    revision: AtomicI64,
    loaded: broadcast::Sender<Loaded>,
}

/// Loads that may wait for a slow listener; more are missed, which it is told.
const LOADS: usize = 256;

/// The snapshots of some tenants were made anew.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The revision that they show now.
    pub revision: i64,
    /// Whose they are.
    pub tenants: Arc<[TenantId]>,
}

/// What the snapshots were made of.
#[derive(Clone, Copy)]
struct Shown {
    revision: i64,
    /// There is one tenant, which need not be kept from what others have.
    is_single_tenant: bool,
}

impl Reload {
    /// Loads everything but the snapshots of others, which are as their owners have made them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn new(
        store: Store,
        gateway: Arc<Gateway>,
        also: Vec<Arc<dyn Snapshot>>,
        own: OwnServices,
        flows: Arc<Flows>,
        timeout: Duration,
    ) -> store::Result<Self> {
        let revision = store.revisions().current().await?;
        let tenants = store.tenants().all().await?;
        let is_single_tenant = tenants.len() < 2;
        let shown = Mutex::new(Shown { revision, is_single_tenant });
        let hidden = std::sync::Mutex::default();
        let (revision, loaded) = (AtomicI64::new(revision), broadcast::Sender::new(LOADS));
        let reload = Self { store, gateway, also, own, flows, hidden, timeout, shown, revision, loaded };
        let mut discoveries = Vec::new();
        for tenant in tenants {
            discoveries.extend(reload.load(&tenant.id, is_single_tenant).await?);
        }
        wait_for(discoveries).await;
        Ok(reload)
    }

    /// The services of the owner of this process.
    #[must_use]
    pub fn own(&self) -> &OwnServices {
        &self.own
    }

    /// The last change that everybody here sees.
    #[must_use]
    pub fn revision(&self) -> i64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Tells of snapshots that are made from now on.
    #[must_use]
    pub fn loads(&self) -> broadcast::Receiver<Loaded> {
        self.loaded.subscribe()
    }

    fn tell(&self, revision: i64, tenants: Vec<TenantId>) {
        self.revision.store(revision, Ordering::Release);
        // Nobody listens unless somebody looks.
        let _ = self.loaded.send(Loaded { revision, tenants: tenants.into() });
    }

    /// Loads what has changed since the last time. Called after every write, so that the answer
    /// to it is already true; a failure is mended by the watcher.
    pub async fn catch_up(&self) {
        if let Err(error) = self.try_catch_up().await {
            tracing::warn!(%error, "a change is not loaded yet: {error}");
        }
    }

    async fn try_catch_up(&self) -> store::Result<()> {
        let mut shown = self.shown.lock().await;
        let (revision, mut tenants) =
            within(self.timeout, self.store.revisions().changed_since(shown.revision)).await?;
        if tenants.is_empty() {
            return Ok(());
        }
        for snapshot in &self.also {
            within(self.timeout, snapshot.reload(&self.store)).await?;
        }
        let is_single_tenant = within(self.timeout, self.store.tenants().count()).await? < 2;
        if is_single_tenant != shown.is_single_tenant {
            let all = within(self.timeout, self.store.tenants().all()).await?;
            let others = all.into_iter().map(|tenant| tenant.id).filter(|id| !tenants.contains(id));
            tenants.extend(others.collect::<Vec<_>>());
        }
        let mut discoveries = Vec::new();
        for tenant in &tenants {
            discoveries.extend(self.load(tenant, is_single_tenant).await?);
        }
        *shown = Shown { revision, is_single_tenant };
        self.tell(revision, tenants);
        // Other changes do not wait for services that are slow.
        drop(shown);
        wait_for(discoveries).await;
        Ok(())
    }

    async fn load(&self, id: &TenantId, is_single_tenant: bool) -> store::Result<Option<Discovery>> {
        let tenant = match within(self.timeout, self.store.tenants().get(id)).await {
            Ok(tenant) if tenant.status == Status::Active => tenant,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {
                self.gateway.unload(id).await;
                return Ok(None);
            }
        };
        let mut services: Vec<_> =
            within(self.timeout, self.store.services().all(id)).await?.into_iter().map(definition).collect();
        let own = self.own.of(id);
        self.hide(&mut services, &own);
        services.extend(own);
        services.extend(within(self.timeout, self.flows.services(id)).await?);
        let tools = within(self.timeout, self.store.tools().all(id))
            .await?
            .into_iter()
            .filter_map(definition_of)
            .collect();
        let bindings = within(self.timeout, self.store.instances().bindings(id, None)).await?;
        let searches = within(self.timeout, self.store.instances().tool_searches(id)).await?;
        let instances = instances_of(bindings, searches);
        let definition = TenantDefinition {
            id: tenant.id,
            limits: tenant.limits,
            may_use_private_network: tenant.allow_private_network.unwrap_or(is_single_tenant),
            services,
            tools,
            instances,
            tool_search: tenant.tool_search,
        };
        Ok(Some(self.gateway.load(definition).await))
    }

    /// Leaves out what the owner's services hide, and says so once.
    fn hide(&self, services: &mut Vec<ServiceDefinition>, own: &[ServiceDefinition]) {
        let is_own = |service: &ServiceDefinition| {
            own.iter().any(|own| own.scheme == service.scheme && own.id == service.id)
        };
        if own.is_empty() {
            return;
        }
        let mut known = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hidden = HashSet::new();
        services.retain(|service| {
            let is_hidden = is_own(service);
            if is_hidden {
                hidden.insert(format!("{}://{}", service.scheme, service.id));
            }
            !is_hidden
        });
        for service in hidden.difference(&known) {
            let place = self.own.place();
            tracing::warn!(
                service,
                "the stored service {service} is hidden: {place} has one of the same type and id; give one of them another id"
            );
        }
        *known = hidden;
    }

    /// Follows changes by others, and of the owner's services, until cancelled.
    pub async fn follow(self: Arc<Self>, cancel: CancellationToken) {
        let mut revisions = self.store.watch(cancel.clone());
        let mut own = self.own.clone();
        loop {
            tokio::select! {
                () = cancel.cancelled() => return,
                changed = revisions.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.catch_up().await;
                }
                () = own.changed() => {
                    let shown = self.shown.lock().await;
                    match self.load(&TenantId::default_tenant(), shown.is_single_tenant).await {
                        Ok(_) => self.tell(shown.revision, vec![TenantId::default_tenant()]),
                        Err(error) => {
                            tracing::warn!(%error, "the changed mcp.json is not in use yet: {error}");
                        }
                    }
                }
            }
        }
    }
}

async fn wait_for(mut discoveries: Vec<Discovery>) {
    let ended = join_all(discoveries.iter_mut().map(Discovery::ended));
    // Whoever is late arrives late.
    let _ = tokio::time::timeout(DISCOVERY_WAIT, ended).await;
}

/// Bindings come by instance.
fn instances_of(bindings: Vec<Binding>, searches: Vec<(InstanceId, ToolSearch)>) -> Vec<InstanceDefinition> {
    let mut instances: Vec<InstanceDefinition> = Vec::new();
    for binding in bindings {
        let tool = (binding.tool, binding.status == BindingStatus::Enabled);
        match instances.last_mut().filter(|last| last.id == binding.instance) {
            Some(last) => last.tools.push(tool),
            None => {
                let (id, tools) = (binding.instance, vec![tool]);
                instances.push(InstanceDefinition { id, tools, tool_search: None });
            }
        }
    }
    for (id, tool_search) in searches {
        let tool_search = Some(tool_search);
        match instances.iter_mut().find(|instance| instance.id == id) {
            Some(instance) => instance.tool_search = tool_search,
            None => instances.push(InstanceDefinition { id, tools: Vec::new(), tool_search }),
        }
    }
    instances
}

fn definition(service: Service) -> ServiceDefinition {
    // A service that was deleted and made again starts at version 1, at another time.
    let version = service.created_at.wrapping_mul(1 << 20).wrapping_add(service.version);
    ServiceDefinition {
        settings: settings_of(
            service.config,
            service.tools.into_iter().map(|tool| (tool.id, tool.definition)),
        ),
        scheme: service.scheme,
        id: service.id,
        name: service.name,
        is_enabled: service.is_enabled,
        is_trusted: false,
        variables: Vec::new(),
        problem: None,
        built_in: None,
        version,
        made_at_ms: Some(service.created_at),
    }
}

/// A service's settings as its connector reads them: the user's tools stand in the field `tools`.
pub fn settings_of(mut config: Value, tools: impl Iterator<Item = (String, Value)>) -> Value {
    let tools: Vec<Value> = tools.map(|(id, definition)| tool_settings(id, definition)).collect();
    if let Some(config) = config.as_object_mut().filter(|_| !tools.is_empty()) {
        config.insert("tools".into(), tools.into());
    }
    config
}

/// A tool with its id back in place.
pub fn tool_settings(id: String, mut definition: Value) -> Value {
    if let Some(definition) = definition.as_object_mut() {
        definition.shift_insert(0, "id".into(), id.into());
    }
    definition
}
