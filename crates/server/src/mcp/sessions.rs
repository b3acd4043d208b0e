//! Sessions by their tokens. Any replica opens any token; those used last are not opened again each time.

use mcp::session::{Sealer, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool::{Result, Secret};

/// How many sessions are remembered; then it begins anew.
const MAX_OPENED: usize = 4096;

/// A session that was opened here.
pub(crate) struct Opened {
    pub(super) session: Session,
    /// The least grave log entries that its client wants to hear, as a place in `LEVELS`. It is remembered with
    /// the session, on the replica that was asked; where it is forgotten, all are heard.
    log_level: AtomicUsize,
}

impl Opened {
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
    opened: papaya::HashMap<Box<str>, Arc<Opened>, foldhash::fast::RandomState>,
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
    pub(super) fn open(&self, token: &str) -> Option<Arc<Opened>> {
        let opened = self.opened.pin();
        if let Some(session) = opened.get(token) {
            return Some(session.clone());
        }
        let session = Opened { session: self.sealer.open(token)?, log_level: AtomicUsize::new(0) };
        let session = Arc::new(session);
        if opened.len() >= MAX_OPENED {
            opened.clear();
        }
        opened.insert(token.into(), session.clone());
        Some(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp::Version;

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
        for owner in 1..=MAX_OPENED + 10 {
            assert_eq!(sessions.open(&token(owner)).unwrap().session.owner, owner.to_string());
            assert!(sessions.opened.len() <= MAX_OPENED);
        }
        assert_eq!(sessions.open(&first).unwrap().session.owner, "0");
    }
}
