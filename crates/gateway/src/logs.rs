//! Log entries of services that belong to no call, for those who may use the service.

use crate::catalog::Service;
use crate::{Gateway, policy};
use std::sync::{Arc, Weak};
use tokio::sync::broadcast;
use tool::{Context, ListKind, LogEntry, Role};

/// A log entry, and whose it is.
#[derive(Debug, Clone)]
pub struct ServiceLog {
    /// Not kept alive by what it wrote.
    service: Weak<Service>,
    /// What the service wrote.
    pub log: LogEntry,
}

impl Gateway {
    /// Where log entries come out that belong to no call, of every tenant.
    #[must_use]
    pub fn logs(&self) -> broadcast::Receiver<ServiceLog> {
        self.logs.subscribe()
    }

    pub(crate) fn log(&self, service: &Arc<Service>, log: LogEntry) {
        // Nobody may listen at this moment.
        let _ = self.logs.send(ServiceLog { service: Arc::downgrade(service), log });
    }

    /// The caller may hear what this service writes: it is its tenant's, and offers the caller something at its door.
    #[must_use]
    pub fn may_hear(&self, cx: &Context, told: &ServiceLog) -> bool {
        told.service.upgrade().is_some_and(|service| self.may_use(cx, &service))
    }

    /// The service offers the caller something at its door.
    pub(crate) fn may_use(&self, cx: &Context, service: &Arc<Service>) -> bool {
        let is_elsewhere = cx.instance.is_some()
            || service.tenant != cx.tenant
            || cx.service.as_ref().is_some_and(|door| **door != *service.id)
            || service.is_for_admins && cx.caller.role < Role::Admin;
        if is_elsewhere {
            return false;
        }
        let Some(tenant) = self.catalog.tenant(&cx.tenant) else { return false };
        let mut routes = tenant.routes_of(&service.scheme, &service.id);
        let is_of = |entry: &&Arc<crate::catalog::Entry>| Arc::ptr_eq(&entry.service, service);
        let kinds = [ListKind::Prompts, ListKind::Resources, ListKind::Templates];
        let mut entries = kinds.iter().flat_map(|kind| tenant.lists().list(*kind)).filter(is_of);
        routes.any(|route| policy::permits(&cx.caller, route).is_ok())
            || entries.any(|entry| policy::permits_entry(&cx.caller, entry).is_ok())
    }
}
