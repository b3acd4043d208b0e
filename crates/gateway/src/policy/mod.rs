//! Policy: who may call what, and how much. Lists are filtered by the same rule that admits calls.

mod limiter;

pub use limiter::{Limiter, Permit};

use crate::catalog::{Entry, Route};
use std::sync::Arc;
use std::time::Instant;
use tool::uri::Options;
use tool::{Caller, Context, Error, Identity, Pattern, Result, Role, Run, Scope, TenantId, Uri, runs};

/// With so many limiters, those of callers that have gone are looked for.
const MANY_LIMITERS: usize = 1024;

/// The limiters of callers that have limits, made on first use.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    callers: papaya::HashMap<(TenantId, Identity), Arc<Limiter>>,
}

/// The one rule: may this caller use this tool at all? Called by nothing but its name, it has the options
/// that a Tool has set.
pub(crate) fn permits(caller: &Caller, route: &Route) -> Result<()> {
    let set = route.uri_tool.as_ref().map(|uri_tool| uri_tool.tool.uri.options());
    permits_with(caller, route, set.unwrap_or(&Options::default()))
}

/// The same rule for a call with options.
pub(crate) fn permits_with(caller: &Caller, route: &Route, options: &Options) -> Result<()> {
    if route.service.is_for_admins && caller.role < Role::Admin {
        return Err(Error::denied(format!("'{}' is for admins of the platform", route.name)));
    }
    may_call(caller)?;
    // Whoever asks about a run is told of those alone whose flow is on the list.
    if caller.allow.is_empty() || route.uri.scheme() == runs::POLLING_SCHEME {
        return Ok(());
    }
    let acting = options.acting(route.own_method());
    // A Tool's own name stands for what the Tool has set.
    let set = route.uri_tool.as_ref().map(|uri_tool| uri_tool.tool.uri.options().acting(route.own_method()));
    let is_as_named = acting == set.unwrap_or_default();
    let (shown, in_full) = (shown(route, &acting), shown(route, &options.without_limits()));
    let is_allowed = |allow: &Pattern| {
        (is_as_named && allow.matches(&route.name))
            || allow.matches_with(&route.address, &shown)
            || (acting.is_empty() && allow.matches_with(&route.address, &in_full))
    };
    if caller.allow.iter().any(is_allowed) {
        return Ok(());
    }
    Err(not_listed(caller, &format!("{}{shown}", route.name)))
}

/// Options as they stand behind an address: `?method=DELETE`.
fn shown(route: &Route, options: &Options) -> String {
    if options.is_empty() {
        return String::new();
    }
    let shown = route.uri.with_options(options.clone()).to_string();
    shown.split_once('?').map(|(_, options)| format!("?{options}")).unwrap_or_default()
}

/// The same rule for a document or a prompt.
pub(crate) fn permits_entry(caller: &Caller, entry: &Entry) -> Result<()> {
    permits_named(caller, &entry.key, &entry.address)
}

/// The same rule for anything with a name and an address.
///
/// # Errors
/// `Denied`, saying which right is missing.
pub fn permits_named(caller: &Caller, name: &str, address: &str) -> Result<()> {
    may_call(caller)?;
    if is_listed(caller, name, address) { Ok(()) } else { Err(not_listed(caller, name)) }
}

/// The same rule for a version of a flow, as a call of it would name it: `?version=2`.
///
/// # Errors
/// `Denied`, saying which right is missing.
pub fn permits_version(caller: &Caller, flow: &Uri, version: u32) -> Result<()> {
    may_call(caller)?;
    let (address, options) = (flow.to_string(), format!("?version={version}"));
    let is_allowed = |allow: &Pattern| allow.matches_with(&address, &options);
    if caller.allow.is_empty() || caller.allow.iter().any(is_allowed) {
        return Ok(());
    }
    Err(not_listed(caller, &format!("{address}{options}")))
}

/// The caller's allow-list has it, or there is no such list: also of those who call nothing.
#[must_use]
pub fn is_listed(caller: &Caller, name: &str, address: &str) -> bool {
    caller.allow.is_empty() || caller.allow.iter().any(|allow| allow.matches(name) || allow.matches(address))
}

/// The same rule for work that goes on: whoever may still use what started it sees its own, managers see all.
pub(crate) fn permits_run(caller: &Caller, run: &Run) -> bool {
    let is_own = caller.identity == run.caller || caller.may(Scope::Manage);
    is_own && permits_named(caller, &run.tool, &run.address).is_ok()
}

fn not_listed(caller: &Caller, name: &str) -> Error {
    Error::denied(format!("'{name}' is not on the allow-list of {}", caller.name))
}

/// Whether the caller may call anything, which is all that finding tools needs.
pub(crate) fn may_call(caller: &Caller) -> Result<()> {
    if caller.may(Scope::Call) {
        return Ok(());
    }
    let (name, role) = (&caller.name, caller.role.as_str());
    if caller.role >= Scope::Call.role() {
        let scopes: Vec<_> = caller.scopes.iter().map(|scope| scope.as_str()).collect();
        let scopes = scopes.join(", ");
        let message = format!("{name} may not call tools (its scopes are {scopes}); it needs the scope call");
        return Err(Error::denied(message));
    }
    Err(Error::denied(format!("{name} may not call tools (role {role}); use a key with role caller")))
}

impl Policy {
    /// Lets a call in, or says why not. The permit counts against the limits until dropped.
    pub(crate) fn admit(
        &self,
        cx: &Context,
        route: &Route,
        options: &Options,
        tenant: Option<Arc<Limiter>>,
    ) -> Result<Permit> {
        permits_with(&cx.caller, route, options)?;
        self.admit_within_limits(cx, tenant)
    }

    /// Lets in what was permitted, as far as the limits go. A call inside another counts, and has the place of the
    /// one around it: otherwise whoever may make one call at a time could not run a flow.
    pub(crate) fn admit_within_limits(&self, cx: &Context, tenant: Option<Arc<Limiter>>) -> Result<Permit> {
        let mut permit = Permit::default();
        let limiters = [(self.limiter_of(cx), "this key"), (tenant, "this tenant")];
        for (limiter, whose) in
            limiters.iter().filter_map(|(limiter, whose)| Some((limiter.as_ref()?, whose)))
        {
            match cx.nested.as_deref() {
                None => permit.add(limiter.admit(whose)?),
                Some(nested) if nested.step.is_let_in => {}
                Some(_) => limiter.count(whose)?,
            }
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
        if callers.len() >= MANY_LIMITERS {
            self.forget_idle(Instant::now());
        }
        // Two calls may come at once: both count with the one limiter that gets in first.
        let newest =
            |held: &Arc<Limiter>| if held.limits() == limits { held.clone() } else { limiter.clone() };
        Some(callers.update_or_insert(key, newest, limiter.clone()).clone())
    }

    fn forget_idle(&self, now: Instant) {
        self.callers.pin().retain(|_, limiter| !limiter.is_idle(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tool::{Door, KeyId, Limits};

    #[test]
    fn calls_at_once_of_a_new_caller_share_one_limiter() {
        let limits = Limits { calls_per_minute: None, concurrent_calls: Some(1) };
        let tenant = TenantId::generate();
        for _ in 0..200 {
            let policy = Policy::default();
            let caller = Caller { identity: Identity::Key(KeyId::generate()), limits, ..Caller::local() };
            let cx = Context::new(tenant.clone(), Arc::new(caller), Door::Rest, Duration::ZERO);
            let start = std::sync::Barrier::new(4);
            let admitted = std::thread::scope(|scope| {
                let calls = [(); 4].map(|()| {
                    scope.spawn(|| {
                        start.wait();
                        policy.admit_within_limits(&cx, None).ok()
                    })
                });
                calls.map(|call| call.join().unwrap()).into_iter().flatten().collect::<Vec<_>>()
            });
            assert_eq!(admitted.len(), 1);
        }
    }

    #[test]
    fn forgets_the_limiters_of_callers_that_have_gone() {
        let policy = Policy::default();
        let limits = Limits { calls_per_minute: None, concurrent_calls: Some(1) };
        let tenant = TenantId::generate();
        let permit_of = |key: &KeyId| {
            let caller = Caller { identity: Identity::Key(key.clone()), limits, ..Caller::local() };
            let cx = Context::new(tenant.clone(), Arc::new(caller), Door::Rest, Duration::ZERO);
            policy.admit_within_limits(&cx, None)
        };
        let (busy, gone) = (KeyId::generate(), KeyId::generate());
        let _permit = permit_of(&busy).unwrap();
        drop(permit_of(&gone).unwrap());
        policy.forget_idle(Instant::now() + Duration::from_secs(3600));
        assert_eq!(policy.callers.len(), 1);
        assert!(permit_of(&busy).is_err(), "whoever has a place is remembered");
    }
}
