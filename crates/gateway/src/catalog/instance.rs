//! What an MCP instance offers: the Tools that are bound to it and switched on, by their own names.

use super::{Route, TenantCatalog, Types, shortened};
use std::collections::HashMap;
use std::sync::Arc;
use tool::{Error, InstanceId, Result, Target, ToolId, ToolSearch};

/// An MCP instance as it is configured.
#[derive(Debug, Clone)]
pub struct InstanceDefinition {
    /// The instance.
    pub id: InstanceId,
    /// The Tools that are bound to it, and whether each is switched on.
    pub tools: Vec<(ToolId, bool)>,
    /// How its door tells of them, where that is said.
    pub tool_search: Option<ToolSearch>,
}

/// What an instance has, by name.
#[derive(Debug, Default)]
pub(crate) struct InstanceTools {
    bound: HashMap<String, Bound>,
    /// What is switched on and can be called, by name.
    listed: Vec<Arc<Route>>,
    /// The same by the place that each has among all of the tenant's.
    places: HashMap<usize, Arc<Route>>,
    tool_search: Option<ToolSearch>,
}

#[derive(Debug)]
struct Bound {
    is_enabled: bool,
    /// What the Tool is called by in the tenant.
    name: String,
    route: Option<Arc<Route>>,
}

impl TenantCatalog {
    pub(super) fn add_instances(&mut self, definitions: Arc<Vec<InstanceDefinition>>) {
        let instances = definitions.iter().map(|instance| (instance.id.clone(), self.tools_of(instance)));
        self.instances = instances.collect();
        self.definitions = definitions;
    }

    fn tools_of(&self, definition: &InstanceDefinition) -> InstanceTools {
        let tool_search = definition.tool_search.clone();
        let mut tools = InstanceTools { tool_search, ..InstanceTools::default() };
        for (id, is_enabled) in &definition.tools {
            let Some(own) = self.own_by_id(id) else { continue };
            let title = &own.tool.title;
            let named = |route: &Arc<Route>| match route.name == *title {
                true => route.clone(),
                false => Arc::new(route.named(title)),
            };
            let route = own.route.as_ref().filter(|_| own.tool.is_active).map(named);
            if let Some(route) = route.as_ref().filter(|_| *is_enabled) {
                tools.listed.push(route.clone());
                tools.places.extend(self.place_of(&own.tool.name).map(|place| (place, route.clone())));
            }
            let bound = Bound { is_enabled: *is_enabled, name: own.tool.name.clone(), route };
            tools.bound.insert(title.clone(), bound);
        }
        tools.listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        tools
    }

    /// The instances as they are configured.
    pub(crate) fn instances(&self) -> Arc<Vec<InstanceDefinition>> {
        self.definitions.clone()
    }

    /// What an instance offers, by name; one that is gone offers nothing.
    pub(crate) fn offered(&self, instance: &InstanceId) -> &[Arc<Route>] {
        self.instances.get(instance).map_or(&[], |tools| &tools.listed)
    }

    /// How the door of an instance tells of its tools, where that is said.
    pub(crate) fn search_of_instance(&self, instance: &InstanceId) -> Option<&ToolSearch> {
        self.instances.get(instance)?.tool_search.as_ref()
    }

    /// The doors of instances that say how they tell of their tools, and those.
    pub(crate) fn doors(&self) -> impl Iterator<Item = (&ToolSearch, &[Arc<Route>])> {
        self.instances.values().filter_map(|tools| Some((tools.tool_search.as_ref()?, &*tools.listed)))
    }

    /// What an instance offers of what stands at a place among all of the tenant's.
    pub(crate) fn offered_at(&self, instance: &InstanceId, place: usize) -> Option<&Arc<Route>> {
        self.instances.get(instance)?.places.get(&place)
    }

    /// The route of a Tool that the instance offers, or why it does not.
    pub(super) fn resolve_bound(
        &self,
        instance: Option<&InstanceId>,
        target: &Target,
        types: &Types,
    ) -> Result<Arc<Route>> {
        let name = match target {
            Target::Name(name) => name.as_str(),
            Target::Uri(_) | Target::Trial(_) => {
                return Err(Error::denied("the tools of an MCP instance are called by name, not by URI"));
            }
        };
        let tools = instance.and_then(|instance| self.instances.get(instance));
        let Some(bound) = tools.and_then(|tools| tools.bound.get(name)) else {
            return Err(unknown_at_instance(name));
        };
        if !bound.is_enabled {
            let message =
                format!("tool '{name}' is not enabled for this MCP instance; ask its owner to enable it");
            return Err(Error::tool_disabled(message).with("tool", name));
        }
        match &bound.route {
            Some(route) => Ok(route.clone()),
            None => self.resolve_name(&bound.name, types),
        }
    }
}

/// What is said of a name that the instance does not offer.
pub(crate) fn unknown_at_instance(name: &str) -> Error {
    let name = shortened(name);
    let message = format!("Tool '{name}' not found: it is not registered with this MCP instance");
    Error::not_found(message).with("tool", name)
}
