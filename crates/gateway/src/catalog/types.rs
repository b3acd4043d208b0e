//! The types of services there are, and the services that are there without being configured.

use super::{Route, Service, Since, State};
use crate::audit::Redaction;
use crate::service_metrics::{ALL, AllServices};
use crate::shape::Shape;
use arc_swap::ArcSwapOption;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use tool::{Ambient, Binder, Env, Kind, Registry, TenantId, Tool, Uri};

/// What a scheme stands for.
pub(crate) struct Types {
    registry: Registry,
    env: Env,
    numbers: Arc<AllServices>,
    ambient: HashMap<&'static str, AmbientType>,
}

/// A type whose services need no configuration. Its tools are the same everywhere, so they are
/// compiled once.
struct AmbientType {
    ambient: Ambient,
    tools: HashMap<String, Parts>,
}

/// What routes to the same tool of different services share.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) tool: Arc<Tool>,
    pub(super) binder: Arc<Binder>,
    pub(super) shape: Arc<Shape>,
    pub(super) redaction: Arc<Redaction>,
}

impl Types {
    pub(crate) fn new(
        registry: Registry,
        env: Env,
        numbers: Arc<AllServices>,
        result_budget: Option<usize>,
    ) -> Self {
        let of_kind = |kind: &Kind| {
            let ambient = kind.ambient?;
            let tools = (ambient.tools)().unwrap_or_else(|error| {
                tracing::error!(%error, "services of type {} have no tools: {error}", kind.scheme);
                Vec::new()
            });
            let parts = |tool: Tool| {
                let uri = Uri::of_tool(kind.scheme, "*", tool.name());
                (tool.name().to_owned(), Route::parts(Arc::new(tool), &uri, result_budget))
            };
            Some((kind.scheme, AmbientType { ambient, tools: tools.into_iter().map(parts).collect() }))
        };
        let ambient = registry.kinds.iter().filter_map(of_kind).collect();
        Self { registry, env, numbers, ambient }
    }

    /// Why a scheme stands for nothing, unless it does.
    pub(crate) fn absence(&self, scheme: &str) -> Option<String> {
        self.registry.find(scheme).is_none().then(|| self.registry.no_tool_type(scheme))
    }

    /// What services of a tenant share that nobody configured.
    pub(super) fn env_of(&self, tenant: &TenantId) -> Env {
        Env { tenant: tenant.clone(), ..self.env.clone() }
    }

    pub(crate) fn is_ambient(&self, scheme: &str) -> bool {
        self.ambient.contains_key(scheme)
    }

    /// The way to a tool of a service that nobody configured. Whether there is such a service
    /// only its connector knows.
    pub(super) fn ambient_route(&self, env: &Env, uri: &Uri) -> Option<Arc<Route>> {
        let of_type = self.ambient.get(uri.scheme())?;
        let parts = of_type.tools.get(uri.tool()?)?;
        // What cannot be the id of a service names none.
        let connector = (of_type.ambient.open)(uri.service(), env).ok()?;
        let service = Service {
            tenant: env.tenant.clone(),
            scheme: uri.scheme().to_owned(),
            id: uri.service().to_owned(),
            name: uri.service().to_owned(),
            version: 0,
            state: State::Open(connector),
            variables: Vec::new(),
            tools: ArcSwapOption::empty(),
            named: Arc::default(),
            offer: ArcSwapOption::empty(),
            failure: ArcSwapOption::empty(),
            unreached: ArcSwapOption::empty(),
            since: Since::now(),
            report: arc_swap::ArcSwap::default(),
            is_trusted: false,
            made_at_ms: None,
            metrics: self.numbers.of(&env.tenant, uri.scheme(), ALL),
            is_for_admins: false,
        };
        Some(Arc::new(Route::ambient(service, parts.clone())))
    }
}

impl fmt::Debug for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.registry.kinds.iter().map(|kind| kind.scheme)).finish()
    }
}
