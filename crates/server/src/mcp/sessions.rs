//! Sessions by their tokens. Any replica opens any token; those used last are not opened again each time.

use mcp::Version;
use mcp::session::{Sealer, Session};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool::{Result, Secret};

/// How many sessions are remembered; then it begins anew.
const MAX_OPENED: usize = 4096;

/// A session as its messages find it, on a connection or by its token.
pub(crate) struct OpenSession {
    pub(super) session: Session,
    /// Empty on a connection, which needs no other name for its one session.
    pub(super) token: Box<str>,
    /// The least grave log entries that its client wants to hear, as a place in `LEVELS`. It is remembered with
    /// the session, on the replica that was asked; where it is forgotten, all are heard.
    log_level: AtomicUsize,
}

impl OpenSession {
    fn new(session: Session, token: &str) -> Self {
        Self { session, token: token.into(), log_level: AtomicUsize::new(0) }
    }

    /// The session of a connection.
    pub(super) fn of_connection(version: Version, capabilities: Option<Box<RawValue>>) -> Self {
        Self::new(Session { version, owner: String::new(), capabilities }, "")
    }

    pub(super) fn log_level(&self) -> usize {
        self.log_level.load(Ordering::Relaxed)
    }

    pub(super) fn set_log_level(&self, level: usize) {
        self.log_level.store(level, Ordering::Relaxed);
    }
}

/// Seals and opens sessions.
pub(crate) struct Sessions {
    sealer: Sealer,
    /// Only tokens of ours get in, so their hash need not withstand anybody.
    opened: papaya::HashMap<Box<str>, Arc<OpenSession>, foldhash::fast::RandomState>,
}

impl Sessions {
    /// With a key of its own, derived from `secret` once.
    pub(crate) fn new(secret: &Secret) -> Result<Self> {
        Ok(Self { sealer: Sealer::new(secret)?, opened: papaya::HashMap::default() })
    }

    /// The session as a token for the `Mcp-Session-Id` header.
    pub(super) fn seal(&self, session: &Session) -> Result<String> {
        self.sealer.seal(session)
    }

    /// The session in a token, if it is one of ours.
    pub(super) fn open(&self, token: &str) -> Option<Arc<OpenSession>> {
        let opened = self.opened.pin();
        if let Some(session) = opened.get(token) {
            return Some(session.clone());
        }
        let session = Arc::new(OpenSession::new(self.sealer.open(token)?, token));
        if opened.len() >= MAX_OPENED {
            // Streams that are open go on hearing of what is asked of their session.
            opened.retain(|_, session| Arc::strong_count(session) > 1);
        }
        if opened.len() >= MAX_OPENED {
            opened.clear();
        }
        Some(opened.get_or_insert(token.into(), session).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_a_token_again_and_again_and_remembers_only_so_many() {
        let sessions = Sessions::new(&Secret::new("a")).unwrap();
        let token = |owner: usize| {
            let owner = owner.to_string();
            sessions.seal(&Session { version: Version::V2025_06_18, owner, capabilities: None }).unwrap()
        };
        let first = token(0);
        for _ in 0..3 {
            assert_eq!(sessions.open(&first).unwrap().session.owner, "0");
        }
        assert!(sessions.open(&first[1..]).is_none());
        let of_a_stream = sessions.open(&token(usize::MAX)).unwrap();
        for owner in 1..=MAX_OPENED + 10 {
            assert_eq!(sessions.open(&token(owner)).unwrap().session.owner, owner.to_string());
            assert!(sessions.opened.len() <= MAX_OPENED);
        }
        assert_eq!(sessions.open(&first).unwrap().session.owner, "0");
        let again = sessions.open(&of_a_stream.token).unwrap();
        assert!(
            Arc::ptr_eq(&again, &of_a_stream),
            "a stream that is open hears of what is asked of its session"
        );
    }
}
