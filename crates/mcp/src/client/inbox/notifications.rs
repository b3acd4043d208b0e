//! Notifications of a server, and whom they are for.

use super::{Inbox, NOTIFICATION_BYTES, Notification, PendingRequest};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::atomic::Ordering;
use tool::depth::is_too_deep;
use tool::{Door, Event, Events, readable};

/// Whom a log entry is for.
enum For {
    Call(Events),
    All,
    Nobody,
}

impl Inbox {
    pub(super) fn notified(&self, method: &str, params: Option<&RawValue>, about: Option<u64>) {
        match method {
            "notifications/progress" => return self.progressed(params),
            "notifications/message" => return self.logged(params, about),
            "notifications/cancelled" => return self.cancelled(params),
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => {
                return self.lists_changed.send_modify(|count| *count += 1);
            }
            _ => {}
        }
        self.tell(method, params);
    }

    /// Hands on what is no call's affair, as long as there is room for it.
    fn tell(&self, method: &str, params: Option<&RawValue>) {
        let is_small = params.is_none_or(|params| params.get().len() <= NOTIFICATION_BYTES);
        let sent = is_small
            && self
                .notifications
                .try_send(Notification { method: method.to_owned(), params: params.map(ToOwned::to_owned) })
                .is_ok();
        if !sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn progressed(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Progress<'a> {
            #[serde(borrow, rename = "progressToken")]
            token: &'a RawValue,
            progress: f64,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        let Some(params) = params.map(|params| readable(params.get())) else { return };
        let parsed = serde_json::from_str::<Progress<'_>>(&params).ok();
        let Some(Progress { token, progress, total, message }) = parsed else { return };
        let Ok(id) = token.get().trim_matches('"').parse() else { return };
        if let Some(request) = self.pending().requests.get(&id) {
            request.cx.events.emit(Event::Progress { progress, total, message });
        }
    }

    /// A log entry goes to the caller it belongs to. One that belongs to no call is told to whoever listens to the
    /// server; one that may belong to the call of any of several callers to nobody.
    fn logged(&self, params: Option<&RawValue>, about: Option<u64>) {
        #[derive(Deserialize)]
        struct Entry {
            level: String,
        }
        let is_usable =
            |params: &&RawValue| params.get().len() <= NOTIFICATION_BYTES && !is_too_deep(params.get());
        let Some(params) = params.filter(is_usable) else { return };
        let Ok(Entry { level }) = serde_json::from_str(params.get()) else { return };
        match self.logs_for(about) {
            For::Call(events) => events.emit(Event::Log { level, entry: params.to_owned() }),
            For::All => self.tell("notifications/message", Some(params)),
            For::Nobody => {}
        }
    }

    fn logs_for(&self, about: Option<u64>) -> For {
        let pending = self.pending();
        // What we ask on our own account is nobody's call.
        let is_ours = |request: &PendingRequest| request.cx.door == Door::System;
        if let Some(id) = about {
            return match pending.requests.get(&id) {
                Some(request) if is_ours(request) => For::All,
                Some(request) => For::Call(request.cx.events.clone()),
                None => For::Nobody,
            };
        }
        let mut calls = pending.requests.values().filter(|request| !is_ours(request));
        match (calls.next(), calls.next()) {
            (None, _) => For::All,
            (Some(request), None) => For::Call(request.cx.events.clone()),
            (Some(_), Some(_)) if self.has_only_client() => For::All,
            (Some(_), Some(_)) => For::Nobody,
        }
    }

    /// The server cancels a request of its own.
    fn cancelled(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            id: &'a RawValue,
        }
        let cancelled = params.and_then(|params| serde_json::from_str::<Cancelled<'_>>(params.get()).ok());
        let request =
            cancelled.and_then(|cancelled| self.pending().server_requests.remove(cancelled.id.get()));
        if let Some(request) = request {
            request.cancel();
        }
    }
}
