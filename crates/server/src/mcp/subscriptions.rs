//! Subscriptions of sessions to resources, remembered on the replica that was asked.

use gateway::Watch;
use mcp::RpcError;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// More sessions than that make the oldest ones forget.
const MAX_SESSIONS: usize = 10_000;
/// Resources of one session.
const MAX_URIS: usize = 1000;

/// The subscriptions, by session.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<HashMap<String, SessionSubscriptions>>);

struct SessionSubscriptions {
    since: Instant,
    uris: HashMap<String, Watch>,
}

impl Subscriptions {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, SessionSubscriptions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a subscription of a session.
    pub(super) fn add(&self, session: &str, uri: String, watch: Watch) -> super::Answered<()> {
        let mut sessions = self.sessions();
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(session) {
            let oldest = sessions.iter().min_by_key(|(_, of)| of.since).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| sessions.remove(&oldest));
        }
        let of = sessions.entry(session.to_owned());
        let of = of.or_insert_with(|| SessionSubscriptions { since: Instant::now(), uris: HashMap::new() });
        if of.uris.len() >= MAX_URIS && !of.uris.contains_key(&uri) {
            return Err(RpcError::invalid_params(format!("a session can watch {MAX_URIS} resources")));
        }
        of.uris.insert(uri, watch);
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
