//! What changes while the server runs, and who is told: sessions of the older versions, and subscriptions.

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionContext};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use tokio::sync::broadcast;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The one resource that can be watched.
    Watched,
}

pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) struct Changes {
    has_tool: AtomicBool,
    has_prompt: AtomicBool,
    sessions: Mutex<Vec<Weak<Session>>>,
    listeners: broadcast::Sender<Change>,
}

/// What a session of the older versions has said about itself.
#[derive(Default)]
pub(crate) struct Session {
    peer: OnceLock<Peer<RoleServer>>,
    subscribed: Mutex<HashSet<String>>,
    level: Mutex<Option<LoggingLevel>>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            has_tool: AtomicBool::default(),
            has_prompt: AtomicBool::default(),
            sessions: Mutex::default(),
            listeners: broadcast::channel(64).0,
        }
    }
}

impl Changes {
    pub(crate) fn has_tool(&self) -> bool {
        self.has_tool.load(Ordering::Relaxed)
    }

    pub(crate) fn has_prompt(&self) -> bool {
        self.has_prompt.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    /// Makes the change and tells everybody who wants to know.
    pub(crate) async fn make(&self, change: Change) {
        match change {
            Change::Tools => drop(self.has_tool.fetch_xor(true, Ordering::Relaxed)),
            Change::Prompts => drop(self.has_prompt.fetch_xor(true, Ordering::Relaxed)),
            Change::Resources | Change::Watched => {}
        }
        // Nobody listens: then nobody is told. A session that has just ended cannot be told either.
        let _ = self.listeners.send(change);
        let sessions: Vec<_> = lock(&self.sessions).iter().filter_map(Weak::upgrade).collect();
        for session in sessions {
            let Some(peer) = session.peer.get() else { continue };
            let _ = match change {
                Change::Tools => peer.notify_tool_list_changed().await,
                Change::Prompts => peer.notify_prompt_list_changed().await,
                Change::Resources => peer.notify_resource_list_changed().await,
                Change::Watched if !session.is_watching() => continue,
                Change::Watched => {
                    peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(WATCHED)).await
                }
            };
        }
    }

    /// Tells a subscription of 2026-07-28 what it asked for until it ends.
    pub(crate) async fn relay(&self, cx: &SubscriptionContext) {
        let mut changes = self.listeners.subscribe();
        loop {
            let change = tokio::select! {
                () = cx.cancelled() => return,
                change = changes.recv() => change,
            };
            let sink = cx.sink();
            // What was not asked for is refused by the sink, which is what we want.
            let _ = match change {
                Ok(Change::Tools) => sink.notify_tool_list_changed().await,
                Ok(Change::Prompts) => sink.notify_prompt_list_changed().await,
                Ok(Change::Resources) => sink.notify_resource_list_changed().await,
                Ok(Change::Watched) => sink.notify_resource_updated(WATCHED).await,
                Err(_) => return,
            };
        }
    }
}

impl Session {
    pub(crate) fn begin(&self, peer: Peer<RoleServer>) {
        // A second handshake in one session changes nothing.
        let _ = self.peer.set(peer);
    }

    pub(crate) fn subscribe(&self, uri: &str) {
        lock(&self.subscribed).insert(uri.to_owned());
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        lock(&self.subscribed).remove(uri);
    }

    pub(crate) fn set_level(&self, level: LoggingLevel) {
        *lock(&self.level) = Some(level);
    }

    pub(crate) fn level(&self) -> Option<LoggingLevel> {
        *lock(&self.level)
    }

    fn is_watching(&self) -> bool {
        lock(&self.subscribed).contains(WATCHED)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
