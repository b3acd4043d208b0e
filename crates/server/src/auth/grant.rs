//! What somebody holds, and whether it covers what they want to give, make or change.

use crate::error::{Problem, Result};
use crate::manage::time;
use store::Key;
use tool::{Limits, Pattern, Role, Scope};

/// What a key, a person or the door of an MCP instance may do.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) role: Role,
    /// Empty is everything that the role allows.
    pub(crate) scopes: Vec<Scope>,
    /// Empty is every tool.
    pub(crate) allow: Vec<Pattern>,
    pub(crate) limits: Limits,
    /// The unit of its tenant; without one it is bound to none.
    pub(crate) bu_code: Option<String>,
    pub(crate) expires_at_ms: Option<i64>,
}

impl Grant {
    /// Everything that a role allows, without limits and without end: what people hold.
    pub(crate) fn of_user(role: Role, bu_code: Option<String>) -> Self {
        Self {
            role,
            scopes: Vec::new(),
            allow: Vec::new(),
            limits: Limits::default(),
            bu_code,
            expires_at_ms: None,
        }
    }

    /// What those hold who come through the door of an MCP instance.
    pub(crate) fn of_instance() -> Self {
        Self { scopes: vec![Scope::Call], ..Self::of_user(Role::Caller, None) }
    }

    /// What a key holds.
    pub(crate) fn of_key(key: &Key) -> Self {
        Self {
            role: key.role,
            scopes: key.scopes.clone(),
            allow: key.allow.clone(),
            limits: key.limits,
            bu_code: key.bu_code.clone(),
            expires_at_ms: key.expires_at,
        }
    }

    /// Refuses what goes beyond this one in any way.
    ///
    /// # Errors
    /// `FORBIDDEN` with the field that goes beyond, and how far it may go.
    pub(crate) fn must_cover(&self, other: &Self) -> Result<()> {
        let Some((field, message)) = self.missing_for(other) else { return Ok(()) };
        Err(Problem::beyond(field, message))
    }

    /// The same for those who have no lists, limits or ends: `what` is who that is.
    pub(crate) fn must_cover_all(&self, other: &Self, what: &str) -> Result<()> {
        match self.missing_for(other) {
            None => Ok(()),
            Some((field @ ("role" | "bu_code"), message)) => Err(Problem::beyond(field, message)),
            Some((field, _)) => Err(Problem::forbidden(self.held_back(field, what))),
        }
    }

    /// What those have who have no such field, and this one has not.
    fn held_back(&self, field: &str, what: &str) -> String {
        let (theirs, own) = match field {
            "scopes" => {
                let own: Vec<_> = self.scopes.iter().copied().map(name_of).collect();
                let own = own.join(", ");
                return format!(
                    "{what} may do what your key may not (its scopes are {own}); use a key without scopes"
                );
            }
            "allow" => ("no allow-list", "an allow-list"),
            "limits" => ("no limits", "limits"),
            _ => ("no end", "an end"),
        };
        format!("{what} has {theirs}, and your key has {own}; use a key without")
    }

    fn missing_for(&self, other: &Self) -> Option<(&'static str, String)> {
        if other.role > self.role {
            let message =
                format!("that needs the role {}; you are {}", other.role.as_str(), self.role.as_str());
            return Some(("role", message));
        }
        let scopes = [Scope::Read, Scope::Call, Scope::Manage];
        if scopes.into_iter().any(|scope| other.may(scope) && !self.may(scope)) {
            let own: Vec<_> = scopes.into_iter().filter(|scope| self.may(*scope)).map(name_of).collect();
            let message = format!(
                "'scopes' may only contain your own scopes: {}; an empty list means all of the role",
                own.join(", ")
            );
            return Some(("scopes", message));
        }
        if !self.allow.is_empty() {
            let is_covered = |wanted: &Pattern| self.allow.iter().any(|own| own.covers(wanted));
            if other.allow.is_empty() || !other.allow.iter().all(is_covered) {
                let own: Vec<_> = self.allow.iter().map(ToString::to_string).collect();
                let message = format!("'allow' must stay within your own allow-list: {}", own.join(", "));
                return Some(("allow", message));
            }
        }
        for (name, own, wanted) in [
            ("calls_per_minute", self.limits.calls_per_minute, other.limits.calls_per_minute),
            ("concurrent_calls", self.limits.concurrent_calls, other.limits.concurrent_calls),
        ] {
            if own.is_some_and(|own| wanted.is_none_or(|wanted| wanted > own)) {
                let own = own.unwrap_or_default();
                let message = format!("'limits.{name}' must be at most {own}, your own limit");
                return Some(("limits", message));
            }
        }
        if self.bu_code.is_some() && self.bu_code != other.bu_code {
            let own = self.bu_code.as_deref().unwrap_or_default();
            return Some(("bu_code", format!("'bu_code' must be '{own}', your own")));
        }
        let end = self.expires_at_ms?;
        if other.expires_at_ms.is_none_or(|wanted| wanted > end) {
            let message = format!("'expires_at' must be no later than your own end, {}", time::show(end));
            return Some(("expires_at", message));
        }
        None
    }

    pub(super) fn may(&self, scope: Scope) -> bool {
        scope.role() <= self.role && (self.scopes.is_empty() || self.scopes.contains(&scope))
    }
}

fn name_of(scope: Scope) -> &'static str {
    match scope {
        Scope::Read => "read",
        Scope::Call => "call",
        Scope::Manage => "manage",
    }
}
