//! A service as REST shows it: where it is configured, how it is, and its settings without secrets.

use super::owner;
use super::tools::routes;
use crate::Shared;
use crate::manage::secrets::{Visibility, masked};
use crate::manage::{time, words};
use gateway::catalog::{self, State, TenantCatalog};
use gateway::{Route, ServiceDefinition};
use runtime::{Origin, tool_settings};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Service, ServiceTool};
use tool::{TenantId, runs};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceView {
    #[serde(rename = "type")]
    pub(super) scheme: String,
    pub(super) id: String,
    name: String,
    description: Option<String>,
    /// Where it is configured: `store` is here; `mcp.json` is the file of whoever runs the server, `command_line` what
    /// the server was started with, and both are changed there.
    #[schema(value_type = words::ServiceSource)]
    source: &'static str,
    /// The settings; secrets are shown as `***`.
    pub(super) config: Value,
    /// The tools that users defined; of a service that is not in the store, those that it offers.
    #[schema(value_type = Vec<std::collections::HashMap<String, Value>>)]
    pub(super) tools: Vec<Value>,
    #[schema(value_type = words::ServiceStatus)]
    status: &'static str,
    enabled: bool,
    health: HealthView,
    /// Nothing for a service that is not in the store.
    created_at: Option<String>,
    /// Nothing for a service that is not in the store.
    updated_at: Option<String>,
    /// Nothing for a service that is not in the store.
    version: Option<i64>,
    /// Stored secrets that this change did not keep, as the service has another address now: give them again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(super) dropped_secrets: Vec<String>,
    /// What was saved and may not work as it is meant, e.g. an agent's tool that nothing fits now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(super) warnings: Vec<String>,
}

/// Services that somebody has configured: neither the flows, which have pages of their own, nor what is for admins alone.
pub(crate) fn configured(catalog: &TenantCatalog) -> impl Iterator<Item = &Arc<catalog::Service>> {
    catalog.services().filter(|service| service.scheme != runs::SCHEME && !service.is_for_admins())
}

/// How a service was when it was last asked what it offers.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ServiceHealth)]
pub(crate) struct HealthView {
    #[schema(value_type = words::ServiceHealthState)]
    state: &'static str,
    /// Since when it is so, as far as this process has seen; nothing for a service it has not loaded yet.
    since: Option<String>,
    /// Why it fails.
    error: Option<String>,
}

impl ServiceView {
    pub(super) fn new(state: &Shared, service: Service, visibility: Visibility) -> Self {
        let schema = schema_of(state, &service.scheme);
        let health = HealthView::of_stored(state, &service);
        let tools = service.tools.into_iter().map(|tool| masked_tool(tool, &schema, visibility)).collect();
        Self {
            config: masked(&service.config, &schema, visibility),
            tools,
            health,
            scheme: service.scheme,
            id: service.id,
            name: service.name,
            description: service.description,
            source: "store",
            status: status(service.is_enabled),
            enabled: service.is_enabled,
            created_at: Some(time::show(service.created_at)),
            updated_at: Some(time::show(service.updated_at)),
            version: Some(service.version),
            dropped_secrets: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// A service of whoever runs the server, whose `config` is masked already.
    pub(super) fn of_owner(
        state: &Shared,
        tenant: &TenantId,
        service: ServiceDefinition,
        config: Value,
    ) -> Self {
        Self {
            config,
            tools: offered(state, tenant, &service),
            health: HealthView::of(state, tenant, &service.scheme, &service.id),
            scheme: service.scheme,
            id: service.id,
            name: service.name,
            description: None,
            source: source(state.reload.own().origin()),
            status: status(service.is_enabled),
            enabled: service.is_enabled,
            created_at: None,
            updated_at: None,
            version: None,
            dropped_secrets: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl HealthView {
    /// What stands in the catalog under the id of a hidden service is another one.
    fn of_stored(state: &Shared, service: &Service) -> Self {
        match owner::hidden(state, &service.tenant, &service.scheme, &service.id) {
            Some(why) => Self { state: "failing", since: None, error: Some(why) },
            None => Self::of(state, &service.tenant, &service.scheme, &service.id),
        }
    }

    fn of(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Self {
        let catalog = state.gateway.catalog().tenant(tenant);
        match catalog.as_deref().and_then(|catalog| catalog.service(scheme, id)) {
            Some(service) => Self::of_service(service),
            None => Self { state: "unknown", since: None, error: None },
        }
    }

    pub(crate) fn error(&self) -> Option<String> {
        self.error.clone()
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.state == "failing"
    }

    /// As the catalog knows it.
    pub(crate) fn of_service(service: &gateway::catalog::Service) -> Self {
        let (state, error) = match &service.state {
            State::Disabled => ("disabled", None),
            State::Broken(why) => ("failing", Some(why.clone())),
            State::Open(_) => match service.failure().or_else(|| service.trouble()) {
                Some(why) => ("failing", Some(why)),
                None if service.has_answered() => ("ok", None),
                None => ("unknown", None),
            },
        };
        Self { state, since: Some(time::show(service.since_ms())), error }
    }
}

pub(super) fn source(origin: &Origin) -> &'static str {
    match origin {
        Origin::File { .. } => "mcp.json",
        Origin::CommandLine(_) => "command_line",
    }
}

fn status(is_enabled: bool) -> &'static str {
    if is_enabled { "enabled" } else { "disabled" }
}

/// The tools that a service offers now, by name.
fn offered(state: &Shared, tenant: &TenantId, service: &ServiceDefinition) -> Vec<Value> {
    let shown =
        |route: Arc<Route>| json!({ "id": route.tool.name(), "description": route.tool.description() });
    routes(state, tenant, &service.scheme, &service.id).into_iter().map(shown).collect()
}

/// The schema of a type's settings; a service of a type we no longer have shows no field.
pub(crate) fn schema_of(state: &Shared, scheme: &str) -> Value {
    let hidden = || json!({ "additionalProperties": { "writeOnly": true } });
    state.gateway.kind(scheme).map_or_else(|_| hidden(), |kind| kind.settings_schema().clone())
}

/// A tool's definition with its id, secrets masked.
pub(crate) fn masked_tool(tool: ServiceTool, schema: &Value, visibility: Visibility) -> Value {
    let settings = json!({ "tools": [tool_settings(tool.id, tool.definition)] });
    let mut settings = masked(&settings, schema, visibility);
    settings["tools"][0].take()
}
