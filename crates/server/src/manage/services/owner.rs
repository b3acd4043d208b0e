//! Services of whoever runs the server, from an mcp.json or the command line: shown and tested like all others, and
//! changed by the owner alone.

use super::ServiceView;
use super::view::source;
use crate::Shared;
use crate::error::{Code, Problem, Result};
use gateway::ServiceDefinition;
use runtime::Origin;
use serde_json::{Map, Value};
use std::collections::HashSet;
use store::{ErrorKind, ServiceFilter};
use tool::TenantId;

/// The owner's services that a tenant has and a list asks for.
pub(super) async fn matching(state: &Shared, tenant: &TenantId, filter: &ServiceFilter) -> Vec<ServiceView> {
    let mut found = state.reload.own().configured(tenant);
    let text = filter.text.as_deref().unwrap_or_default().to_lowercase();
    found.retain(|service| {
        filter.scheme.as_ref().is_none_or(|scheme| *scheme == service.scheme)
            && filter.is_enabled.is_none_or(|is_enabled| is_enabled == service.is_enabled)
            && service.id.to_lowercase().contains(&text)
    });
    if found.is_empty() {
        return Vec::new();
    }
    let mut shown = shown(state).await;
    let view = |service: ServiceDefinition| {
        let config = shown.remove(&service.id).unwrap_or_default();
        ServiceView::of_owner(state, tenant, service, config)
    };
    found.into_iter().map(view).collect()
}

/// A service of the owner, if there is such.
pub(super) async fn find(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Option<ServiceView> {
    let service = definition(state, tenant, scheme, id)?;
    let config = shown(state).await.remove(id).unwrap_or_default();
    Some(ServiceView::of_owner(state, tenant, service, config))
}

/// Refuses to go on without such a service, wherever it is configured.
pub(super) async fn must_exist(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
    match state.store.services().get(tenant, scheme, id).await {
        Err(error) if error.kind() == ErrorKind::NotFound && is_owned(state, tenant, scheme, id) => Ok(()),
        found => Ok(found.map(|_| ())?),
    }
}

/// Refuses to change a service that is the owner's and nowhere else, saying where it is changed.
pub(super) async fn refuse_change(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
    if !is_owned(state, tenant, scheme, id) || state.store.services().get(tenant, scheme, id).await.is_ok() {
        return Ok(());
    }
    let detail = match state.reload.own().origin() {
        Origin::File { path, .. } => format!(
            "{scheme}://{id} is a service of {}; change it in that file, which is in use at once",
            path.display()
        ),
        Origin::CommandLine(_) => format!(
            "{scheme}://{id} is the server that `serve -- …` was given; start the program with another one"
        ),
    };
    Err(Problem::new(Code::Conflict, detail))
}

/// Refuses to make a service that one of the owner would hide.
pub(super) fn refuse_hidden(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
    if !is_owned(state, tenant, scheme, id) {
        return Ok(());
    }
    let place = state.reload.own().place();
    Err(Problem::new(
        Code::Conflict,
        format!(
            "{place} has a service {scheme}://{id} already, which would hide this one; choose another id"
        ),
    ))
}

/// Which services of a tenant are the owner's, for those who ask about many.
pub(crate) struct Owned {
    services: HashSet<(String, String)>,
    source: &'static str,
}

/// The owner's services of a tenant.
pub(crate) fn owned(state: &Shared, tenant: &TenantId) -> Owned {
    let own = state.reload.own();
    let services = own.configured(tenant).into_iter().map(|service| (service.scheme, service.id));
    Owned { services: services.collect(), source: source(own.origin()) }
}

impl Owned {
    /// Where a service is configured.
    pub(crate) fn source_of(&self, scheme: &str, id: &str) -> &'static str {
        match self.services.contains(&(scheme.to_owned(), id.to_owned())) {
            true => self.source,
            false => "store",
        }
    }
}

/// Why a stored service cannot be used, if one of the owner hides it.
pub(super) fn hidden(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Option<String> {
    is_owned(state, tenant, scheme, id).then(|| {
        let place = state.reload.own().place();
        format!(
            "it is hidden: {place} has a service of the same type and id; take it out there, or make this one anew under another id"
        )
    })
}

/// Whether the owner has configured such a service for a tenant.
pub(super) fn is_owned(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> bool {
    definition(state, tenant, scheme, id).is_some()
}

fn definition(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Option<ServiceDefinition> {
    let mut all = state.reload.own().configured(tenant).into_iter();
    all.find(|service| service.scheme == scheme && service.id == id)
}

/// What the owner wrote about each service, secrets masked.
async fn shown(state: &Shared) -> Map<String, Value> {
    match state.reload.own().origin().clone() {
        Origin::File { path, show } => {
            tokio::task::spawn_blocking(move || show(&path)).await.unwrap_or_default()
        }
        Origin::CommandLine(shown) => shown,
    }
}
