//! Subscriptions of sessions to resources, remembered on the replica that was asked.

use gateway::Watch;
use mcp::RpcError;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tool::{Identity, TenantId};

/// More sessions than that make the oldest one forget, of the tenant that has the most.
const MAX_SESSIONS: usize = 10_000;
/// Resources of one session.
const MAX_URIS: usize = 1000;
/// More resources of one caller than that make its oldest sessions forget: sessions over HTTP end without a word.
const MAX_URIS_OF_CALLER: usize = 2 * MAX_URIS;

/// Who subscribes.
#[derive(Clone, Copy)]
pub(super) struct Subscriber<'a> {
    /// The token of the session.
    pub(super) session: &'a str,
    pub(super) tenant: &'a TenantId,
    pub(super) caller: &'a Identity,
}

type Sessions<W> = HashMap<String, SessionSubscriptions<W>>;

/// The subscriptions, by session.
pub(super) struct Subscriptions<W = Watch>(Mutex<Sessions<W>>);

struct SessionSubscriptions<W> {
    since: Instant,
    tenant: TenantId,
    caller: Identity,
    uris: HashMap<String, W>,
}

impl<W> Default for Subscriptions<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W> Subscriptions<W> {
    fn sessions(&self) -> MutexGuard<'_, Sessions<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a subscription of a session.
    pub(super) fn add(&self, by: Subscriber<'_>, uri: String, watch: W) -> super::Answered<()> {
        let mut sessions = self.sessions();
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(by.session) {
            make_room(&mut sessions);
        }
        let of = sessions.entry(by.session.to_owned()).or_insert_with(|| SessionSubscriptions {
            since: Instant::now(),
            tenant: by.tenant.clone(),
            caller: by.caller.clone(),
            uris: HashMap::new(),
        });
        if of.uris.len() >= MAX_URIS && !of.uris.contains_key(&uri) {
            return Err(RpcError::invalid_params(format!("a session can watch {MAX_URIS} resources")));
        }
        of.uris.insert(uri, watch);
        forget_oldest_of(&mut sessions, by);
        Ok(())
    }

    /// Ends a subscription of a session.
    pub(super) fn remove(&self, session: &str, uri: &str) {
        let mut sessions = self.sessions();
        let Some(of) = sessions.get_mut(session) else { return };
        of.uris.remove(uri);
        if of.uris.is_empty() {
            sessions.remove(session);
        }
    }

    /// The session has subscribed to the resource.
    pub(super) fn has(&self, session: &str, uri: &str) -> bool {
        self.sessions().get(session).is_some_and(|of| of.uris.contains_key(uri))
    }
}

/// The tenant with the most sessions gives up its oldest one.
fn make_room<W>(sessions: &mut Sessions<W>) {
    let mut counts: HashMap<&TenantId, usize> = HashMap::new();
    for of in sessions.values() {
        *counts.entry(&of.tenant).or_default() += 1;
    }
    let largest = counts.into_iter().max_by_key(|(_, count)| *count).map(|(tenant, _)| tenant.clone());
    forget_oldest(sessions, |_, of| Some(&of.tenant) == largest.as_ref());
}

/// The one that subscribes keeps what it has, however old it is.
fn forget_oldest_of<W>(sessions: &mut Sessions<W>, by: Subscriber<'_>) {
    let is_theirs = |of: &SessionSubscriptions<W>| of.caller == *by.caller && of.tenant == *by.tenant;
    while sessions.values().filter(|of| is_theirs(of)).map(|of| of.uris.len()).sum::<usize>()
        > MAX_URIS_OF_CALLER
    {
        forget_oldest(sessions, |name, of| name != by.session && is_theirs(of));
    }
}

fn forget_oldest<W>(sessions: &mut Sessions<W>, is_meant: impl Fn(&str, &SessionSubscriptions<W>) -> bool) {
    let oldest = sessions.iter().filter(|(name, of)| is_meant(name, of)).min_by_key(|(_, of)| of.since);
    if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
        sessions.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::KeyId;

    #[test]
    fn a_caller_s_older_sessions_give_way_to_the_one_that_subscribes() {
        let subscriptions = Subscriptions::default();
        let (tenant, caller) = (TenantId::generate(), Identity::Key(KeyId::generate()));
        let other = Identity::Key(KeyId::generate());
        let add = |session: &str, caller: &Identity, count: usize| {
            for number in 0..count {
                let by = Subscriber { session, tenant: &tenant, caller };
                subscriptions.add(by, format!("memo://{number}"), ()).unwrap();
            }
        };
        add("oldest", &caller, 500);
        add("of another", &other, MAX_URIS);
        add("old", &caller, MAX_URIS);
        add("new", &caller, 500);
        // One more than all of them may have.
        add("oldest", &caller, 501);
        let has = |session: &str| subscriptions.has(session, "memo://0");
        assert_eq!(["oldest", "of another", "old", "new"].map(has), [true, true, false, true]);
    }
}
