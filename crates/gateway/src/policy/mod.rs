//! Policy: who may call what, and how much. Lists are filtered by the same rule that admits calls.

mod limiter;

pub use limiter::{Limiter, Permit};

use crate::catalog::{Entry, Route};
use std::sync::Arc;
use tool::{Caller, Context, Error, Identity, Result, Role, Scope, TenantId};

/// The limiters of callers that have limits, made on first use.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    callers: papaya::HashMap<(TenantId, Identity), Arc<Limiter>>,
}

/// The one rule: may this caller use this tool at all?
pub(crate) fn permits(caller: &Caller, route: &Route) -> Result<()> {
    if route.service.is_for_admins && caller.role < Role::Admin {
        return Err(Error::denied(format!("'{}' is for those who manage the platform", route.name)));
    }
    permits_named(caller, &route.name, &route.address)
}

/// The same rule for a document or a prompt.
pub(crate) fn permits_entry(caller: &Caller, entry: &Entry) -> Result<()> {
    permits_named(caller, &entry.key, &entry.address)
}

/// The same rule for anything with a name and an address.
pub(crate) fn permits_named(caller: &Caller, name: &str, address: &str) -> Result<()> {
    may_call(caller)?;
    let is_allowed = caller.allow.is_empty()
        || caller.allow.iter().any(|allow| allow.matches(name) || allow.matches(address));
    if !is_allowed {
        return Err(Error::denied(format!("'{name}' is not on the allow-list of {}", caller.name)));
    }
    Ok(())
}

fn may_call(caller: &Caller) -> Result<()> {
    if caller.may(Scope::Call) {
        return Ok(());
    }
    let role = caller.role.as_str();
    Err(Error::denied(format!(
        "{} may not call tools (role {role}); use a key with role caller",
        caller.name
    )))
}

impl Policy {
    /// Lets a call in, or says why not. The permit counts against the limits until dropped.
    pub(crate) fn admit(&self, cx: &Context, route: &Route, tenant: Option<Arc<Limiter>>) -> Result<Permit> {
        permits(&cx.caller, route)?;
        self.admit_within_limits(cx, tenant)
    }

    /// Lets in what was permitted, as far as the limits go.
    pub(crate) fn admit_within_limits(&self, cx: &Context, tenant: Option<Arc<Limiter>>) -> Result<Permit> {
        let mut permit = Permit::default();
        if let Some(limiter) = self.limiter_of(cx) {
            permit.add(limiter.admit("this key")?);
        }
        if let Some(limiter) = tenant {
            permit.add(limiter.admit("this tenant")?);
        }
        Ok(permit)
    }

    fn limiter_of(&self, cx: &Context) -> Option<Arc<Limiter>> {
        let limits = cx.caller.limits;
        if limits == Default::default() {
            return None;
        }
        let key = (cx.tenant.clone(), cx.caller.identity.clone());
        let callers = self.callers.pin();
        if let Some(limiter) = callers.get(&key).filter(|limiter| limiter.limits() == limits) {
            return Some(limiter.clone());
        }
        let limiter = Arc::new(Limiter::new(limits)?);
        callers.insert(key, limiter.clone());
        Some(limiter)
    }
}
