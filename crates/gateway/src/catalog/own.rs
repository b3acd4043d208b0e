//! Routes of the Tools that tenants make themselves.

use super::naming::wire_name;
use super::{Route, Service, TenantCatalog, Types};
use crate::tools::UriTool;
use std::sync::Arc;
use tool::{Error, Result, RunKind, Target, TenantId, ToolId, Uri};

/// The type in the addresses of tenants' own Tools.
pub(crate) const OWN_TYPE: &str = "tool";
/// What stands behind the Tool's name in its address.
pub(crate) const OWN_TOOL: &str = "call";

/// A tenant's own Tool, as long as its definition stays the same.
#[derive(Debug)]
pub(crate) struct OwnTool {
    pub(crate) id: ToolId,
    /// What it is called by in the tenant, where no other has that name.
    pub(crate) name: String,
    /// What it is called by in the instances it is bound to.
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) is_active: bool,
    pub(crate) version: i64,
    pub(crate) source: ToolSource,
}

/// What a Tool leads to.
#[derive(Debug)]
pub(crate) enum ToolSource {
    /// A service of its own, with one tool.
    Own(Arc<Service>),
    /// A tool of one of the tenant's services.
    Uri(Box<UriTool>),
}

impl OwnTool {
    /// The service of its own, if it has one.
    pub(crate) fn service(&self) -> Option<&Arc<Service>> {
        match &self.source {
            ToolSource::Own(service) => Some(service),
            ToolSource::Uri(_) => None,
        }
    }

    /// Where the Tool leads, if that is another tool.
    pub(super) fn target(&self) -> Option<&Uri> {
        match &self.source {
            ToolSource::Own(_) => None,
            ToolSource::Uri(over) => Some(&over.uri),
        }
    }
}

/// A Tool with its route, if what it leads to is there.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) tool: Arc<OwnTool>,
    pub(super) route: Option<Arc<Route>>,
}

impl TenantCatalog {
    /// Puts a Tool in place, behind all services. One that did not change and leads to the same
    /// place keeps its route, with its compiled parts.
    pub(super) fn add_own(
        &mut self,
        tool: Arc<OwnTool>,
        target: Option<Arc<Route>>,
        previous: Option<&Self>,
        result_budget: Option<usize>,
    ) {
        let known = previous.and_then(|previous| previous.own.get(&tool.name));
        let known = known.filter(|known| Arc::ptr_eq(&known.tool, &tool));
        let known = known.and_then(|known| known.route.clone());
        let route = match &tool.source {
            ToolSource::Own(service) => {
                let offered = service.tools.load().iter().find_map(|tools| tools.first().cloned());
                let fresh = |offered| Arc::new(Route::of_own(service.clone(), offered, &tool, result_budget));
                known.or_else(|| offered.map(fresh))
            }
            ToolSource::Uri(over) => {
                let is_same = |route: &Arc<Route>, target: &Arc<Route>| {
                    let is_target = |known: &Arc<Route>| {
                        // Made anew each time, and always the same.
                        let is_ambient = known.listed.is_empty() && target.listed.is_empty();
                        Arc::ptr_eq(known, target) || (is_ambient && known.uri == target.uri)
                    };
                    route.uri_tool.as_ref().is_some_and(|uri_tool| is_target(&uri_tool.target))
                };
                target.map(|target| {
                    known
                        .filter(|route| is_same(route, &target))
                        .unwrap_or_else(|| Arc::new(Route::over(target, over, &tool, result_budget)))
                })
            }
        };
        if let Some(route) = route.as_ref().filter(|_| tool.is_active) {
            self.by_name.insert(tool.name.clone(), route.clone());
        }
        self.own_names.insert(tool.id.clone(), tool.name.clone());
        self.own.insert(tool.name.clone(), Own { tool, route });
    }

    /// The service's tool that a URI leads to; tenants' own Tools are none, so nothing goes in circles.
    pub(crate) fn target_of(&self, tenant: &TenantId, uri: &Uri, types: &Types) -> Option<Arc<Route>> {
        let known = self.route(uri.scheme(), uri.service(), uri.tool().unwrap_or_default());
        known.cloned().or_else(|| match &self.env {
            Some(env) => types.ambient_route(env, uri),
            None => types.ambient_route(&types.env_of(tenant), uri),
        })
    }

    /// The Tool with this id, whether it can be called or not.
    pub(crate) fn own_tool(&self, id: &ToolId) -> Option<&Arc<OwnTool>> {
        self.own_by_id(id).map(|own| &own.tool)
    }

    pub(super) fn own_by_id(&self, id: &ToolId) -> Option<&Own> {
        self.own.get(self.own_names.get(id)?)
    }

    /// Every Tool, by name.
    pub(crate) fn own_tools(&self) -> impl Iterator<Item = &Arc<OwnTool>> {
        self.own.values().map(|own| &own.tool)
    }

    /// A target without a route may have been meant for a flow or an agent: by its name, or by a Tool that leads to one.
    pub(crate) fn may_mean_run(&self, target: &Target) -> bool {
        let is_run = |scheme: &str| RunKind::of_scheme(scheme).is_some();
        let own = match target {
            Target::Name(name) => self.own.get(name),
            Target::Uri(uri) => self.own.get(uri.service()).filter(|_| uri.scheme() == OWN_TYPE),
            Target::Trial(id) => self.own_by_id(id),
        };
        let leads_there = own.and_then(|own| own.tool.target()).is_some_and(|uri| is_run(uri.scheme()));
        let is_called = |service: &Arc<Service>, name: &str| {
            is_run(&service.scheme) && (name == service.id || name == wire_name(&service.scheme, &service.id))
        };
        leads_there
            || matches!(target, Target::Name(name) if self.services().any(|service| is_called(service, name)))
    }

    /// The route of a Tool that is active, or why there is none. `None`: no such Tool.
    pub(super) fn resolve_own(&self, name: &str, types: &Types) -> Option<Result<Arc<Route>>> {
        let own = self.own.get(name)?;
        if !own.tool.is_active {
            let message = format!("tool '{name}' is not active; ask its owner to activate it");
            return Some(Err(Error::tool_disabled(message).with("tool", name)));
        }
        self.resolve_trial(name, types)
    }

    /// The route of a Tool, active or not, or why there is none. `None`: no such Tool.
    pub(super) fn resolve_trial(&self, name: &str, types: &Types) -> Option<Result<Arc<Route>>> {
        let own = self.own.get(name)?;
        if let Some(route) = &own.route {
            return Some(Ok(route.clone()));
        }
        let error = match &own.tool.source {
            ToolSource::Own(service) => match service.connector() {
                Err(error) => error,
                Ok(_) => Error::unavailable(format!("tool '{name}' is not ready yet")).retryable(),
            },
            ToolSource::Uri(over) => {
                match self.missing_tool(&over.uri, over.uri.tool().unwrap_or_default(), types) {
                    Err(error) => {
                        let message = format!("tool '{name}' leads to {}: {error}", over.uri);
                        error.restated(message).with("tool", name)
                    }
                    Ok(_) => Error::internal("a tool has no route though its target has one"),
                }
            }
        };
        Some(Err(error))
    }
}
