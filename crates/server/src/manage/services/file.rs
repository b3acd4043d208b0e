//! Services of an mcp.json: shown and tested like all others, and changed in their file alone.

use super::ServiceView;
use crate::Shared;
use crate::error::{Code, Problem, Result};
use serde_json::{Map, Value};
use store::{ErrorKind, ServiceFilter};
use tool::TenantId;

/// The tenant's services of an mcp.json that a list asks for.
pub(super) async fn matching(state: &Shared, tenant: &TenantId, filter: &ServiceFilter) -> Vec<ServiceView> {
    let mut found = state.reload.own().in_file_of(tenant);
    let text = filter.text.as_deref().unwrap_or_default().to_lowercase();
    found.retain(|service| {
        filter.scheme.as_ref().is_none_or(|scheme| *scheme == service.scheme)
            && filter.is_enabled.is_none_or(|is_enabled| is_enabled == service.is_enabled)
            && service.id.to_lowercase().contains(&text)
    });
    let mut shown = shown(state, tenant).await;
    let mut config = |id: &str| shown.remove(id).unwrap_or_default();
    found
        .into_iter()
        .map(|service| {
            let config = config(&service.id);
            ServiceView::of_file(state, tenant, service, config)
        })
        .collect()
}

/// A service of an mcp.json, if there is such.
pub(super) async fn find(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Option<ServiceView> {
    let mut all = state.reload.own().in_file_of(tenant).into_iter();
    let service = all.find(|service| service.scheme == scheme && service.id == id)?;
    let config = shown(state, tenant).await.remove(id).unwrap_or_default();
    Some(ServiceView::of_file(state, tenant, service, config))
}

/// Refuses to go on without such a service, wherever it is configured.
pub(super) async fn must_exist(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
    match state.store.services().get(tenant, scheme, id).await {
        Err(error) if error.kind() == ErrorKind::NotFound && is_in_file(state, tenant, scheme, id) => Ok(()),
        found => Ok(found.map(|_| ())?),
    }
}

/// Refuses to change a service that is in an mcp.json and nowhere else, naming the file.
pub(super) async fn refuse_change(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> Result<()> {
    if !is_in_file(state, tenant, scheme, id) || state.store.services().get(tenant, scheme, id).await.is_ok()
    {
        return Ok(());
    }
    let Some(file) = state.reload.own().file_of(tenant) else { return Ok(()) };
    let path = file.path.display();
    let detail =
        format!("{scheme}://{id} is a service of {path}; change it in that file, which is in use at once");
    Err(Problem::new(Code::Conflict, detail))
}

fn is_in_file(state: &Shared, tenant: &TenantId, scheme: &str, id: &str) -> bool {
    let all = state.reload.own().in_file_of(tenant);
    all.iter().any(|service| service.scheme == scheme && service.id == id)
}

/// What the file says about each service, secrets masked.
async fn shown(state: &Shared, tenant: &TenantId) -> Map<String, Value> {
    let Some(file) = state.reload.own().file_of(tenant).cloned() else { return Map::new() };
    tokio::task::spawn_blocking(move || (file.show)(&file.path)).await.unwrap_or_default()
}
