//! Who calls: an identity with a role, and how much of it may be used.

use crate::{InstanceId, KeyId, Limits, Pattern, Role, Scope, UserId};

/// Who calls, and what that someone may do.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whether a key, a person, this machine's owner or this program itself calls.
    pub identity: Identity,
    /// A name for people: of the key or of the user.
    pub name: String,
    /// What the caller is for.
    pub role: Role,
    /// Less than the role allows; empty is no restriction.
    pub scopes: Vec<Scope>,
    /// Tools and URIs the caller may use; empty is no restriction.
    pub allow: Vec<Pattern>,
    /// How much the caller may use.
    pub limits: Limits,
    /// The unit of the tenant that the caller works for, where it works for one.
    pub bu_code: Option<String>,
}

/// How a caller is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// By an API key.
    Key(KeyId),
    /// By a sign-in.
    User(UserId),
    /// By the key of an MCP instance, which stands in the path of its door.
    Instance(InstanceId),
    /// By running the process.
    Local,
    /// Not at all: it is this program itself, which looks after a tenant's services.
    System,
}

impl Identity {
    /// The identity as it stands in audit records.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Key(id) => id.as_str(),
            Self::User(id) => id.as_str(),
            Self::Instance(id) => id.as_str(),
            Self::Local => "local",
            Self::System => "system",
        }
    }

    /// What kind of identity it is, in audit records.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::User(_) => "user",
            Self::Instance(_) => "instance",
            Self::Local => "local",
            Self::System => "system",
        }
    }
}

impl Caller {
    /// The owner of the process: everything is allowed.
    #[must_use]
    pub fn local() -> Self {
        Self {
            identity: Identity::Local,
            name: "local".into(),
            role: Role::Admin,
            scopes: Vec::new(),
            allow: Vec::new(),
            limits: Limits::default(),
            bu_code: None,
        }
    }

    /// This program itself, on behalf of a tenant: within that tenant it may call, and nothing that is for people.
    #[must_use]
    pub fn system() -> Self {
        Self { identity: Identity::System, name: "system".into(), role: Role::Caller, ..Self::local() }
    }

    /// Neither the role nor the scopes speak against it.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.role >= scope.role() && (self.scopes.is_empty() || self.scopes.contains(&scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_narrow_a_role_and_never_widen_it() {
        let mut caller = Caller { role: Role::Caller, ..Caller::local() };
        assert!(caller.may(Scope::Call) && caller.may(Scope::Read) && !caller.may(Scope::Manage));
        caller.scopes = vec![Scope::Read, Scope::Manage];
        assert!(!caller.may(Scope::Call) && caller.may(Scope::Read) && !caller.may(Scope::Manage));
    }
}
