//! A service's own door: what the service offers by its own names, and nothing else.

use super::{Route, Service, TenantCatalog, shortened};
use std::sync::Arc;
use tool::{Error, Result, Target};

impl TenantCatalog {
    /// The service whose door this is.
    ///
    /// # Errors
    /// `NotFound` when there is none of this id, or several of different types.
    pub fn with_own_door(&self, id: &str) -> Result<&Arc<Service>> {
        let mut found = self.services.values().filter_map(|of_type| of_type.get(id));
        let (one, other) = match (found.next(), found.next()) {
            (Some(service), None) => return Ok(service),
            (None, _) => return Err(Error::not_found(format!("there is no service '{}'", shortened(id)))),
            (Some(one), Some(other)) => (&one.scheme, &other.scheme),
        };
        let id = shortened(id);
        let message = format!(
            "two services have the id '{id}', {one}://{id} and {other}://{id}; give one of them another"
        );
        Err(Error::not_found(message))
    }

    /// The routes of the service whose door this is, by the tools' own names.
    pub(crate) fn routes_at_own_door(&self, id: &str) -> Vec<&Arc<Route>> {
        let Ok(service) = self.with_own_door(id) else { return Vec::new() };
        let mut routes: Vec<_> = self.routes_of(&service.scheme, &service.id).collect();
        routes.sort_unstable_by(|a, b| a.tool.name().cmp(b.tool.name()));
        routes
    }

    /// The route of a tool of the service whose door this is, or why there is none.
    pub(super) fn resolve_at_own_door(&self, id: &str, target: &Target) -> Result<Arc<Route>> {
        let name = match target {
            Target::Name(name) => name.as_str(),
            Target::Uri(_) | Target::Trial(_) => {
                return Err(Error::denied(
                    "at the door of one service, tools are called by name, not by URI",
                ));
            }
        };
        let service = self.with_own_door(id)?;
        if let Some(route) = self.route(&service.scheme, &service.id, name) {
            return Ok(route.clone());
        }
        if let Some(error) = self.excuse(service).or_else(|| service.held(|held| held == name)) {
            return Err(error);
        }
        let name = shortened(name);
        Err(Error::not_found(format!("Tool '{name}' not found")).with("tool", name))
    }
}
