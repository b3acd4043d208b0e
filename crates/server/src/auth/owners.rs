//! The owners of MCP instances: an instance holds no more than its owner does at the time of a call.

use super::{Grant, SignedIn};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use store::{Instance, Key, KeyHash, User};
use tool::{Caller, Identity, InstanceId, Role, Scope};

/// What everyone who may sign in holds now, by id.
pub(super) struct Owners(HashMap<String, Grant>);

/// The instances that may be visited, and the ids of those that may not.
type Doors = (HashMap<KeyHash, (SignedIn, InstanceId)>, HashSet<InstanceId>);

impl Owners {
    /// Of the keys and users that are active.
    pub(super) fn of(keys: &[Key], users: &[User]) -> Self {
        let keys = keys.iter().map(|key| (key.id.as_str().to_owned(), Grant::of_key(key)));
        let grant = |user: &User| Grant::of_user(user.role, user.bu_code.clone());
        let users = users.iter().map(|user| (user.id.as_str().to_owned(), grant(user)));
        Self(keys.chain(users).collect())
    }

    /// Who comes through the doors of instances. Logs those that are closed and were not among `known`.
    pub(super) fn doors(&self, instances: Vec<Instance>, known: &HashSet<InstanceId>) -> Doors {
        let (mut open, mut closed) = (HashMap::new(), HashSet::new());
        for instance in instances {
            if let Some(grant) = self.grant_of(&instance) {
                open.insert(instance.hash, visitor_of(instance, grant));
                continue;
            }
            if !known.contains(&instance.id) {
                let (id, owner) = (instance.id.as_str(), instance.owner.as_str());
                tracing::warn!(
                    instance = id,
                    owner,
                    "MCP instance {id} is closed: its owner {owner} is deleted, disabled, expired or may not call; \
                     restore the owner, or make another instance"
                );
            }
            closed.insert(instance.id);
        }
        (open, closed)
    }

    /// What the instance's owner holds, if that allows calls. Where no key and no user was ever named as the owner,
    /// nobody can have lost anything.
    fn grant_of(&self, instance: &Instance) -> Option<Grant> {
        let has_owner = !instance.owner.is_empty() && instance.owner != Identity::Local.id();
        if !has_owner {
            return Some(Grant::of_instance());
        }
        self.0.get(&instance.owner).filter(|grant| grant.may(Scope::Call)).cloned()
    }
}

/// Whoever holds the key of an instance may call what it offers and its owner may call, and nothing else.
fn visitor_of(instance: Instance, owner: Grant) -> (SignedIn, InstanceId) {
    let caller = Caller {
        identity: Identity::Instance(instance.id.clone()),
        name: instance.name,
        role: Role::Caller,
        scopes: vec![Scope::Call],
        allow: owner.allow,
        limits: owner.limits,
        bu_code: owner.bu_code,
    };
    let (tenant, expires_at_ms) = (instance.tenant, owner.expires_at_ms);
    (SignedIn { tenant, caller: Arc::new(caller), expires_at_ms }, instance.id)
}
