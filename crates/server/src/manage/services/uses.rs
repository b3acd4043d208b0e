//! What a service would use of other services, looked at when it is saved.

use crate::Shared;
use crate::auth::SignedIn;
use gateway::Route;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tool::uses::Right;
use tool::{Caller, Context, Door, Error, ErrorKind, Kind, Pattern, Problem, Scope, Uri, Use};

/// What keeps the settings from being saved: something that must be there is not, or whoever saves them would
/// give away more than they hold.
pub(super) fn problems(state: &Shared, signed_in: &SignedIn, kind: &Kind, settings: &Value) -> Vec<Problem> {
    let found = looked_up(state, signed_in, kind, settings);
    found.into_iter().filter_map(|(used, error)| problem(signed_in, &used, error.as_ref())).collect()
}

/// What is worth a word, and no more: what is not there now may come.
pub(super) fn warnings(state: &Shared, signed_in: &SignedIn, scheme: &str, settings: &Value) -> Vec<String> {
    let Ok(kind) = state.gateway.kind(scheme) else { return Vec::new() };
    let missing = looked_up(state, signed_in, kind, settings).into_iter().filter_map(|(used, error)| {
        let is_missing = error.is_some_and(|error| error.kind() != ErrorKind::Denied);
        is_missing.then(|| format!("{}: nothing fits '{}' now", used.path, used.what))
    });
    missing.chain(doubles(&state.gateway.list(&looking(signed_in)), &kind.uses(settings))).collect()
}

/// Names that a tool behind a pattern would share with another one: it is left out.
fn doubles(listed: &[Arc<Route>], uses: &[Use]) -> Vec<String> {
    let named = uses.iter().filter(|used| used.naming.is_some());
    let (patterns, single): (Vec<_>, Vec<_>) = named.partition(|used| used.what.0.contains('*'));
    let (mut known, mut names, mut doubles) = (HashSet::new(), HashSet::new(), Vec::new());
    let name = |used: &Use, route: &Route| used.naming.as_ref().map(|naming| naming.name(&route.name));
    for used in single {
        let Ok(uri) = used.what.0.parse::<Uri>() else { continue };
        let address = uri.with_options(Default::default()).to_string();
        let route = listed.iter().find(|route| route.address == address);
        names.extend(route.and_then(|route| name(used, route)));
        known.insert(address);
    }
    for used in patterns {
        let fitting = listed.iter().filter(|route| used.what.matches(&route.address));
        for route in fitting {
            let Some(name) = name(used, route).filter(|_| known.insert(route.address.clone())) else {
                continue;
            };
            if !names.insert(name.clone()) {
                let (path, address) = (&used.path, &route.address);
                doubles.push(format!(
                    "{path}: two tools would be called '{name}', and {address} is left out; name it in 'as'"
                ));
            }
        }
    }
    doubles
}

/// Whoever saves looks at what there is.
fn looking(signed_in: &SignedIn) -> Context {
    let (tenant, caller) = (signed_in.tenant.clone(), signed_in.caller.clone());
    Context::new(tenant, caller, Door::Rest, Duration::from_secs(1))
}

/// Everything that the settings lead to, and why it cannot be called by whoever saves them.
fn looked_up(
    state: &Shared,
    signed_in: &SignedIn,
    kind: &Kind,
    settings: &Value,
) -> Vec<(Use, Option<Error>)> {
    let uses = kind.uses(settings);
    if uses.is_empty() {
        return Vec::new();
    }
    let cx = looking(signed_in);
    let listed: Vec<String> = state.gateway.list(&cx).iter().map(|route| route.address.clone()).collect();
    let look = |used: Use| {
        let error = match (used.what.0.contains('*'), used.what.0.parse::<Uri>()) {
            (true, _) if listed.iter().any(|address| used.what.matches(address)) => None,
            (true, _) => Some(Error::not_found("nothing fits")),
            // What is no address is told by whoever reads the settings.
            (false, Err(_)) => None,
            (false, Ok(uri)) => state.gateway.find(&cx, &uri).err(),
        };
        (used, error)
    };
    uses.into_iter().map(look).collect()
}

/// The caller holds all of it, whatever is there now: more may come that fits, and what is not there may come back. Those
/// who have an allow-list save nothing today; should they ever, they give away nothing beyond it.
fn may_give(caller: &Caller, what: &Pattern) -> bool {
    let is_listed = caller.allow.is_empty() || caller.allow.iter().any(|own| own.covers(what));
    caller.may(Scope::Call) && is_listed
}

fn problem(signed_in: &SignedIn, used: &Use, error: Option<&Error>) -> Option<Problem> {
    let Use { path, what, right, must_exist, naming: _ } = used;
    let is_denied = error.is_some_and(|error| error.kind() == ErrorKind::Denied);
    if *right == Right::Saver && (is_denied || !may_give(&signed_in.caller, what)) {
        let name = &signed_in.caller.name;
        let message = format!(
            "'{path}': {name} may not call all of {what}, and so cannot let others call it; name no more than its own \
             rights and allow-list cover"
        );
        return Some(Problem::new(path, "Forbidden", message));
    }
    let is_missing = error.is_some_and(|error| error.kind() == ErrorKind::NotFound);
    (*must_exist && is_missing)
        .then(|| Problem::new(path, "Unknown", format!("'{path}': there is no {what}; make it first")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AG-6
    #[test]
    fn an_allow_list_covers_a_pattern_as_a_whole() {
        let caller = |allow: &[&str]| Caller {
            allow: allow.iter().map(|own| Pattern((*own).to_owned())).collect(),
            ..Caller::local()
        };
        let listed = caller(&["mcp://Time/*", "agent://*"]);
        for (what, expected) in [
            ("mcp://Time/*", true),
            ("mcp://Time/now", true),
            ("agent://ops", true),
            ("*://*", false),
            ("mcp://*", false),
            ("api://gone/x", false),
        ] {
            assert_eq!(may_give(&listed, &Pattern(what.to_owned())), expected, "{what}");
            assert!(may_give(&caller(&[]), &Pattern(what.to_owned())));
        }
    }
}
