//! The rights of this moment of somebody who has come in before: for browsers, and for work that goes on meanwhile.

use super::{Accounts, Auth, KeyEntry, SignedIn};
use std::sync::Arc;
use tool::{Caller, Callers, Identity, TenantId};

/// After that long everybody who was made elsewhere is known here, too.
const NEWS_MS: i64 = 60_000;

/// Somebody with this id may have been made a moment ago.
fn is_new(id: &str) -> bool {
    tool::made_at_ms(id).is_none_or(|made| made + NEWS_MS > chrono::Utc::now().timestamp_millis())
}

impl Accounts {
    /// The same, which also knows who is gone since those before, as far as their ids do not say so by their age.
    pub(super) fn after(mut self, before: &Self) -> Self {
        let known = before.ids().chain(before.gone.iter().map(String::as_str));
        self.gone = known.filter(|id| !self.knows(id) && is_new(id)).map(str::to_owned).collect();
        self
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let keys = self.key_hashes.keys().map(|id| id.as_str());
        let users = self.users.keys().map(|id| id.as_str());
        keys.chain(users).chain(self.instance_hashes.keys().map(|id| id.as_str()))
    }

    fn knows(&self, id: &str) -> bool {
        self.key_hashes.contains_key(id)
            || self.users.contains_key(id)
            || self.instance_hashes.contains_key(id)
    }

    fn found(&self, identity: &Identity) -> Option<SignedIn> {
        match identity {
            Identity::Key(id) => self.keys.get(self.key_hashes.get(id)?).and_then(KeyEntry::signed_in),
            Identity::User(id) => self.users.get(id).and_then(SignedIn::as_user),
            Identity::Instance(id) => {
                let (visitor, _) = self.instances.get(self.instance_hashes.get(id)?)?;
                Some(visitor.clone()).filter(|visitor| !visitor.has_ended())
            }
            Identity::Local | Identity::System => None,
        }
    }
}

impl Auth {
    /// Whoever has signed in before, with the rights of now; nobody where the key or the user is gone.
    pub(crate) fn current(&self, who: &SignedIn) -> Option<SignedIn> {
        let is_person = matches!(who.caller.identity, Identity::Key(_) | Identity::User(_));
        let mut now = self.accounts.load().found(&who.caller.identity).filter(|_| is_person)?;
        now.tenant = now.tenant_or(Some(who.tenant.clone())).ok()?;
        Some(now)
    }
}

impl Callers for Auth {
    /// Somebody who was never seen here may have been made elsewhere a moment ago, and is taken as they came.
    fn now(&self, tenant: &TenantId, caller: &Arc<Caller>) -> Option<Arc<Caller>> {
        let accounts = self.accounts.load();
        let id = caller.identity.id();
        if !accounts.knows(id) {
            let is_nobodys = matches!(caller.identity, Identity::Local | Identity::System);
            let is_taken = is_nobodys || is_new(id) && !accounts.gone.contains(id);
            return is_taken.then(|| caller.clone());
        }
        let found = accounts.found(&caller.identity)?;
        found.tenant_or(Some(tenant.clone())).ok().map(|_| found.caller)
    }
}
