//! The catalog: what can be called now, per tenant, in snapshots that are swapped as a whole.

mod instance;
mod lists;
pub mod naming;
pub mod overview;
mod own;
mod own_door;
mod route;
mod service;
mod types;
mod words;

pub use instance::InstanceDefinition;
pub(crate) use instance::{InstanceTools, unknown_at_instance};
pub use lists::Entry;
pub(crate) use lists::{Lists, address};
pub(crate) use own::{OWN_TOOL, OWN_TYPE, OwnTool, ToolSource};
pub use route::Route;
pub(crate) use service::Since;
pub use service::{Service, State};
pub(crate) use types::Types;
pub(crate) use words::{Words, service_of};

use crate::policy::Limiter;
use crate::tools::address_of;
use arc_swap::ArcSwap;
use own::Own;
use ranking::{CALL_TOOL, FIND_TOOLS};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::watch;
use tool::{
    Context, Env, Error, InstanceId, Limits, Result, Target, TenantId, ToolId, ToolSearch, Uri, runs,
};

/// Two tools that wanted the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The name both wanted.
    pub name: String,
    /// Who got it.
    pub kept_by: String,
    /// Who got another.
    pub renamed: String,
    /// The other name.
    pub renamed_to: String,
}

/// What one tenant can call.
#[derive(Debug, Default)]
pub struct TenantCatalog {
    /// The tenant's limits in use.
    pub(crate) limiter: Option<Arc<Limiter>>,
    limits: Limits,
    /// Its services were opened with leave to use the private network where they say so.
    may_use_private_network: bool,
    services: BTreeMap<String, BTreeMap<String, Arc<Service>>>,
    /// Those of them that had never said what they offer when the snapshot was made, and can be asked.
    unheard: Vec<Arc<Service>>,
    by_address: HashMap<String, HashMap<String, HashMap<String, Arc<Route>>>>,
    by_name: HashMap<String, Arc<Route>>,
    own: BTreeMap<String, Own>,
    own_names: HashMap<ToolId, String>,
    instances: HashMap<InstanceId, InstanceTools>,
    definitions: Arc<Vec<InstanceDefinition>>,
    listed: Vec<Arc<Route>>,
    collisions: Vec<Collision>,
    lists: Lists,
    /// What its tools are found by.
    words: Words,
    tool_search: Option<ToolSearch>,
    /// What its services share that nobody configured.
    env: Option<Env>,
}

/// What a tenant has, opened.
pub(crate) struct TenantParts {
    pub(crate) limits: Limits,
    pub(crate) may_use_private_network: bool,
    pub(crate) services: Vec<Arc<Service>>,
    pub(crate) own: Vec<Arc<OwnTool>>,
    pub(crate) instances: Arc<Vec<InstanceDefinition>>,
    pub(crate) tool_search: Option<ToolSearch>,
}

impl TenantCatalog {
    /// Builds what can be called from services, the tools they are known to have, and the tenant's
    /// own Tools, which win where names collide. Routes of what `previous` had too are taken over,
    /// with their compiled parts.
    pub(crate) fn build(
        tenant: &TenantId,
        types: &Types,
        parts: TenantParts,
        previous: Option<&Self>,
        result_budget: Option<usize>,
    ) -> Self {
        let TenantParts { limits, may_use_private_network, services, own, instances, tool_search } = parts;
        let limiter = match previous {
            Some(previous) if previous.limits == limits => previous.limiter.clone(),
            _ => Limiter::new(limits).map(Arc::new),
        };
        let env = Some(types.env_of(tenant));
        let mut catalog =
            Self { limiter, limits, may_use_private_network, env, tool_search, ..Self::default() };
        for service in services {
            let of_type = catalog.services.entry(service.scheme.clone()).or_default();
            of_type.insert(service.id.clone(), service);
        }
        let mut all: Vec<_> = catalog.services.values().flat_map(BTreeMap::values).cloned().collect();
        // Whoever was there first keeps its names; of those as old, the first by type and id.
        all.sort_by_key(|service| service.made_at_ms);
        let taken = own.iter().filter(|tool| tool.is_active).map(|tool| tool.name.as_str());
        let taken = taken.chain([FIND_TOOLS, CALL_TOOL]).collect();
        for service in &all {
            if service.connector().is_ok() && !service.has_answered() {
                catalog.unheard.push(service.clone());
            }
            catalog.add_routes(service, &taken, previous, result_budget);
        }
        for tool in own {
            let target = |uri: &Uri| catalog.target_of(tenant, uri, types);
            let target = tool.target().and_then(target);
            catalog.add_own(tool, target, previous, result_budget);
        }
        catalog.listed = catalog.by_name.values().cloned().collect();
        catalog.listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        catalog.lists = Lists::of(all.iter(), previous.map(|previous| &previous.lists));
        catalog.add_instances(instances);
        catalog
    }

    fn add_routes(
        &mut self,
        service: &Arc<Service>,
        taken: &HashSet<&str>,
        previous: Option<&Self>,
        result_budget: Option<usize>,
    ) {
        for tool in service.known_tools().iter() {
            let mut name = match service.is_prefixed() {
                true => naming::wire_name(&service.id, tool.name()),
                false => tool.name().to_owned(),
            };
            let holder = match self.by_name.get(&name) {
                Some(holder) => Some(holder.address.clone()),
                None if taken.contains(name.as_str()) => Some(address_of(&name).to_string()),
                None => None,
            };
            if let Some(kept_by) = holder {
                let address = Uri::of(&service.scheme, &service.id, tool.name()).to_string();
                let renamed_to = self.other_name(service, &name, &address, taken);
                let collision = Collision { kept_by, renamed: address, renamed_to: renamed_to.clone(), name };
                let before = previous.and_then(|previous| previous.by_name.get(&renamed_to));
                if before.is_none_or(|before| before.address != collision.renamed) {
                    let Collision { name, renamed, renamed_to, .. } = &collision;
                    tracing::warn!(name, renamed, "{renamed} is listed as {renamed_to}: {name} is taken");
                }
                self.collisions.push(collision);
                name = renamed_to;
            }
            let uri = Uri::of(&service.scheme, &service.id, tool.name());
            let known = previous.and_then(|previous| previous.route_to(&uri));
            let route = match known {
                Some(route)
                    if Arc::ptr_eq(&route.service, service)
                        && Arc::ptr_eq(&route.tool, tool)
                        && route.name == name =>
                {
                    route.clone()
                }
                _ => Arc::new(Route::new(service.clone(), tool.clone(), name.clone(), result_budget)),
            };
            let of_type = self.by_address.entry(service.scheme.clone()).or_default();
            let of_service = of_type.entry(service.id.clone()).or_default();
            of_service.insert(uri.tool().unwrap_or_default().to_owned(), route.clone());
            self.by_name.insert(name, route);
        }
    }

    /// The name for a tool whose own one is taken. Flows have one that people can guess.
    fn other_name(&self, service: &Service, name: &str, address: &str, taken: &HashSet<&str>) -> String {
        let of_flow = naming::wire_name(runs::SCHEME, name);
        let is_free = !self.by_name.contains_key(&of_flow) && !taken.contains(of_flow.as_str());
        match service.scheme == runs::SCHEME && is_free {
            true => of_flow,
            false => naming::with_suffix(name, address),
        }
    }

    fn route(&self, scheme: &str, service: &str, tool: &str) -> Option<&Arc<Route>> {
        self.by_address.get(scheme)?.get(service)?.get(tool)
    }

    fn route_to(&self, uri: &Uri) -> Option<&Arc<Route>> {
        self.route(uri.scheme(), uri.service(), uri.tool().unwrap_or_default())
    }

    /// Documents and prompts.
    pub(crate) fn lists(&self) -> &Lists {
        &self.lists
    }

    /// What the tenant may use.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn may_use_private_network(&self) -> bool {
        self.may_use_private_network
    }

    /// A service by type and id.
    #[must_use]
    pub fn service(&self, scheme: &str, id: &str) -> Option<&Arc<Service>> {
        self.services.get(scheme)?.get(id)
    }

    /// Every service, by type and id.
    pub fn services(&self) -> impl Iterator<Item = &Arc<Service>> {
        self.services.values().flat_map(BTreeMap::values)
    }

    /// Every route, by name.
    #[must_use]
    pub fn routes(&self) -> &[Arc<Route>] {
        &self.listed
    }

    /// Where a route stands among all, by its name in the tenant.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        self.listed.binary_search_by(|route| route.name.as_str().cmp(name)).ok()
    }

    /// How the tenant's door tells of its tools, where the tenant has its own way.
    pub(crate) fn tool_search(&self) -> Option<&ToolSearch> {
        self.tool_search.as_ref()
    }

    /// The routes of one service, in no particular order.
    pub fn routes_of(&self, scheme: &str, id: &str) -> impl Iterator<Item = &Arc<Route>> {
        let of_service = self.by_address.get(scheme).and_then(|of_type| of_type.get(id));
        of_service.into_iter().flat_map(HashMap::values)
    }

    /// The names that two tools wanted.
    #[must_use]
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    fn resolve_name(&self, name: &str, types: &Types) -> Result<Arc<Route>> {
        if let Some(route) = self.by_name.get(name) {
            return Ok(route.clone());
        }
        if let Some(result) = self.resolve_own(name, types) {
            return result;
        }
        // A service without routes still says why, if the name can only be one of its tools.
        let is_of = |service: &&Arc<Service>| {
            name.strip_prefix(service.id.as_str()).is_some_and(|rest| rest.starts_with(naming::SEPARATOR))
        };
        let is_held =
            |service: &Arc<Service>| service.held(|tool| naming::wire_name(&service.id, tool) == name);
        if let Some(error) = self.services().find_map(is_held) {
            return Err(error);
        }
        match self.services().find(is_of).and_then(|service| self.excuse(service)) {
            Some(error) => Err(error),
            None => {
                let name = shortened(name);
                Err(Error::not_found(format!("Tool '{name}' not found")).with("tool", name))
            }
        }
    }

    fn resolve_uri(&self, tenant: &TenantId, uri: &Uri, types: &Types) -> Result<Arc<Route>> {
        if uri.scheme() == OWN_TYPE && uri.tool() == Some(OWN_TOOL) {
            let missing = || Err(Error::not_found(format!("there is no tool '{}'", uri.service())));
            return self.resolve_own(uri.service(), types).unwrap_or_else(missing);
        }
        self.resolve_service_tool(tenant, uri, types)
    }

    fn resolve_service_tool(&self, tenant: &TenantId, uri: &Uri, types: &Types) -> Result<Arc<Route>> {
        let tool = uri.tool().unwrap_or_default();
        if let Some(route) = self.target_of(tenant, uri, types) {
            return Ok(route);
        }
        self.missing_tool(uri, tool, types)
    }

    /// What a call to a tool meets that the service is not known to have, where that is not the last word.
    fn excuse(&self, service: &Arc<Service>) -> Option<Error> {
        let is_unheard = || self.unheard.iter().any(|unheard| Arc::ptr_eq(unheard, service));
        service.excuse().or_else(|| is_unheard().then(|| service.unheard()))
    }

    /// Why a URI leads nowhere.
    fn missing_tool(&self, uri: &Uri, tool: &str, types: &Types) -> Result<Arc<Route>> {
        let scheme = uri.scheme();
        if scheme == runs::SCHEME && self.service(scheme, uri.service()).is_none() {
            return Err(Error::not_found(format!("there is no published flow '{}'", uri.service())));
        }
        if let Some(absence) = types.absence(scheme).filter(|_| scheme != runs::SCHEME) {
            return Err(Error::not_found(format!("{absence} (in {uri})")));
        }
        if types.is_ambient(scheme) {
            return Err(Error::not_found(format!("there is no {uri}")));
        }
        let Some(service) = self.service(scheme, uri.service()) else {
            return Err(Error::not_found(format!("there is no service {scheme}://{}", uri.service())));
        };
        if let Some(error) = self.excuse(service).or_else(|| service.held(|held| held == tool)) {
            return Err(error);
        }
        let why = service.connector().ok().and_then(|connector| connector.absence(tool));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        Err(Error::not_found(format!("service {scheme}://{} has no tool '{tool}'{why}", service.id))
            .of_service(&service.id))
    }
}

/// A name from outside, cut to what an answer or a record should repeat of it.
pub(crate) fn shortened(name: &str) -> String {
    const MAX_CHARACTERS: usize = 200;
    name.chars().take(MAX_CHARACTERS).collect()
}

/// What everyone can call now.
#[derive(Debug, Default)]
pub struct Catalog {
    tenants: ArcSwap<HashMap<TenantId, Arc<TenantCatalog>>>,
    swaps: watch::Sender<u64>,
}

impl Catalog {
    /// The snapshot of a tenant; it stays what it is however long it is held.
    #[must_use]
    pub fn tenant(&self, tenant: &TenantId) -> Option<Arc<TenantCatalog>> {
        self.tenants.load().get(tenant).cloned()
    }

    /// Finds the route, in constant time.
    pub(crate) fn resolve(
        &self,
        cx: &Context,
        target: &Target,
        types: &Types,
    ) -> Result<(Arc<Route>, Option<Arc<Limiter>>)> {
        let tenants = self.tenants.load();
        let empty = Arc::default();
        let Context { tenant, instance, service, .. } = cx;
        let catalog = tenants.get(tenant).unwrap_or(&empty);
        let route = match target {
            _ if instance.is_some() => catalog.resolve_bound(instance.as_ref(), target, types)?,
            _ if service.is_some() => {
                catalog.resolve_at_own_door(service.as_deref().unwrap_or_default(), target)?
            }
            Target::Name(name) => catalog.resolve_name(name, types)?,
            Target::Trial(id) => {
                let missing = || Err(Error::not_found(format!("there is no tool {id}")));
                let name = catalog.own_names.get(id);
                name.and_then(|name| catalog.resolve_trial(name, types)).unwrap_or_else(missing)?
            }
            Target::Uri(uri) => catalog.resolve_uri(tenant, uri, types)?,
        };
        Ok((route, catalog.limiter.clone()))
    }

    /// Puts a tenant's new snapshot in place, or takes the tenant out. Writers take turns
    /// elsewhere; readers never wait.
    pub(crate) fn replace(&self, tenant: &TenantId, catalog: Option<Arc<TenantCatalog>>) {
        let mut tenants = HashMap::clone(&self.tenants.load());
        match catalog {
            Some(catalog) => tenants.insert(tenant.clone(), catalog),
            None => tenants.remove(tenant),
        };
        self.tenants.store(Arc::new(tenants));
        self.swaps.send_modify(|count| *count += 1);
    }

    /// Ticks whenever a tenant's snapshot was replaced.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.swaps.subscribe()
    }

    /// Every tenant that has a snapshot.
    #[must_use]
    pub fn tenants(&self) -> Vec<TenantId> {
        self.tenants.load().keys().cloned().collect()
    }
}
