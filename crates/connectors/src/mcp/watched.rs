//! What is heard from a server unasked: resources that somebody wants to hear of, and log entries.

use mcp::client::Notification;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, broadcast, watch};
use tool::{Error, LogEntry, Result, Update};

/// Changes that may wait for a slow listener; more are missed.
const UPDATES: usize = 256;
/// Resources that are watched at the same time.
const MAX_WATCHED: usize = 10_000;

/// The resources that are watched over one way to a server.
pub(super) struct Watched {
    subjects: Mutex<BTreeMap<String, Subject>>,
    /// Ticks when the set of resources is another.
    changes: watch::Sender<u64>,
    /// What a server without handshakes has said that it tells.
    stream: watch::Sender<Stream>,
    updates: broadcast::Sender<Update>,
    logs: broadcast::Sender<LogEntry>,
}

/// A resource.
struct Subject {
    watchers: usize,
    /// The server has been told in the connection of now.
    is_subscribed: bool,
    /// Of telling the server about it: what is said first must arrive first.
    turn: Arc<Semaphore>,
}

/// A stream of notifications, as the server describes it.
#[derive(Default)]
struct Stream {
    uris: Vec<String>,
    /// There is none at the moment, or never.
    is_down: bool,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            subjects: Mutex::default(),
            changes: watch::Sender::new(0),
            stream: watch::Sender::default(),
            updates: broadcast::Sender::new(UPDATES),
            logs: broadcast::Sender::new(UPDATES),
        }
    }
}

impl Watched {
    /// For another way to the same server; what is heard there comes out here, too.
    pub(super) fn beside(&self) -> Self {
        Self { updates: self.updates.clone(), logs: self.logs.clone(), ..Self::default() }
    }

    fn subjects(&self) -> MutexGuard<'_, BTreeMap<String, Subject>> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that somebody wants to hear of.
    pub(super) fn all(&self) -> Vec<String> {
        let subjects = self.subjects();
        subjects.iter().filter(|(_, subject)| subject.watchers > 0).map(|(uri, _)| uri.clone()).collect()
    }

    pub(super) fn has(&self, uri: &str) -> bool {
        self.subjects().get(uri).is_some_and(|subject| subject.watchers > 0)
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn updates(&self) -> broadcast::Receiver<Update> {
        self.updates.subscribe()
    }

    /// Where log entries come out that belong to no call.
    pub(super) fn logs(&self) -> broadcast::Receiver<LogEntry> {
        self.logs.subscribe()
    }

    /// One more wants to hear of it.
    pub(super) fn add(&self, uri: &str) -> Result<()> {
        let mut subjects = self.subjects();
        if subjects.len() >= MAX_WATCHED && !subjects.contains_key(uri) {
            return Err(Error::rate_limited(format!("{MAX_WATCHED} resources are watched already")));
        }
        let subject = subjects.entry(uri.to_owned()).or_insert_with(|| Subject {
            watchers: 0,
            is_subscribed: false,
            turn: Arc::new(Semaphore::new(1)),
        });
        subject.watchers += 1;
        if subject.watchers == 1 {
            self.changes.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    /// One less; true for the last.
    pub(super) fn remove(&self, uri: &str) -> bool {
        let mut subjects = self.subjects();
        let Some(subject) = subjects.get_mut(uri).filter(|subject| subject.watchers > 0) else {
            return false;
        };
        subject.watchers -= 1;
        let is_last = subject.watchers == 0;
        if is_last {
            if !subject.is_subscribed {
                subjects.remove(uri);
            }
            self.changes.send_modify(|count| *count += 1);
        }
        is_last
    }

    /// Held by whoever tells the server about this resource.
    pub(super) fn turn(&self, uri: &str) -> Option<Arc<Semaphore>> {
        self.subjects().get(uri).map(|subject| subject.turn.clone())
    }

    pub(super) fn is_subscribed(&self, uri: &str) -> bool {
        self.subjects().get(uri).is_some_and(|subject| subject.is_subscribed)
    }

    /// The server has been told.
    pub(super) fn subscribed(&self, uri: &str) {
        if let Some(subject) = self.subjects().get_mut(uri) {
            subject.is_subscribed = true;
        }
    }

    /// The server does not know of it any more.
    pub(super) fn unsubscribed(&self, uri: &str) {
        self.subjects().retain(|known, subject| {
            subject.is_subscribed &= known != uri;
            subject.is_subscribed || subject.watchers > 0
        });
    }

    /// A new connection: the server knows nothing.
    pub(super) fn all_unsubscribed(&self) {
        self.subjects().retain(|_, subject| {
            subject.is_subscribed = false;
            subject.watchers > 0
        });
        self.stream.send_replace(Stream::default());
    }

    /// There is no stream of notifications, for now at least: nobody need wait for it.
    pub(super) fn stream_is_down(&self) {
        self.stream.send_replace(Stream { uris: Vec::new(), is_down: true });
    }

    /// Waits until the server has said that it tells of this resource, or there is nothing to wait for.
    pub(super) async fn wait_for_stream(&self, uri: &str) {
        let mut stream = self.stream.subscribe();
        let is_told = |stream: &Stream| stream.is_down || stream.uris.iter().any(|told| told == uri);
        // It cannot fail while we are here.
        let _ = stream.wait_for(is_told).await;
    }

    /// Passes on what a server says unasked.
    pub(super) fn hear(&self, told: Notification) {
        match told.method.as_str() {
            "notifications/resources/updated" => self.hear_update(&told),
            "notifications/subscriptions/acknowledged" => self.hear_stream(&told),
            "notifications/message" => self.hear_log(told),
            _ => {}
        }
    }

    fn hear_update(&self, told: &Notification) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        if let Ok(Updated { uri }) = serde_json::from_str(params_of(told)) {
            // Nobody may listen at this moment.
            let _ = self.updates.send(Update { uri });
        }
    }

    fn hear_stream(&self, told: &Notification) {
        #[derive(Deserialize)]
        struct Acknowledged {
            notifications: Filter,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Filter {
            #[serde(default)]
            resource_subscriptions: Vec<String>,
        }
        if let Ok(Acknowledged { notifications }) = serde_json::from_str(params_of(told)) {
            let uris = notifications.resource_subscriptions;
            self.stream.send_replace(Stream { uris, is_down: false });
        }
    }

    fn hear_log(&self, told: Notification) {
        #[derive(Deserialize)]
        struct Entry {
            level: String,
        }
        let Some(entry) = told.params else { return };
        if let Ok(Entry { level }) = serde_json::from_str(entry.get()) {
            // Nobody may listen at this moment.
            let _ = self.logs.send(LogEntry { level, entry: entry.into() });
        }
    }
}

fn params_of(told: &Notification) -> &str {
    told.params.as_deref().map_or("{}", RawValue::get)
}
