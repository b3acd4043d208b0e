//! Notifications that belong to no call: changed lists, changed resources, log entries in between.

use super::request::{Filter, LEVELS};
use crate::auth::{Access, AccessWatch};
use gateway::{Fingerprints, Gateway, ResourceUpdate, ServiceLog};
use mcp::envelope;
use mcp::modern::SUBSCRIPTION_ID;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tool::Context;

/// Listens for one client.
pub(super) struct Listener {
    gateway: Arc<Gateway>,
    cx: Context,
    filter: Filter,
    /// The request that this answers, where there is one.
    subscription: Option<Box<RawValue>>,
    swaps: watch::Receiver<u64>,
    updates: broadcast::Receiver<ResourceUpdate>,
    logs: broadcast::Receiver<ServiceLog>,
    /// The lists as the client knows them.
    told: Fingerprints,
    /// Notifications that are due, last first.
    due: Vec<String>,
    stopping: CancellationToken,
    /// The client hears what it may hear now, and nothing once it may not be here.
    access: AccessWatch,
}

impl Listener {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        cx: Context,
        filter: Filter,
        stopping: CancellationToken,
        access: &Access,
    ) -> Self {
        Self {
            told: gateway.fingerprints(&cx),
            swaps: gateway.catalog().changes(),
            updates: gateway.resource_updates(),
            logs: gateway.logs(),
            gateway,
            cx,
            filter,
            subscription: None,
            due: Vec::new(),
            stopping,
            access: access.watch(),
        }
    }

    /// As the answer to a request, which is said first.
    pub(super) fn answering(mut self, id: &RawValue) -> Self {
        self.subscription = Some(id.to_owned());
        let filter = serde_json::json!({
            "toolsListChanged": self.filter.tools_list_changed,
            "promptsListChanged": self.filter.prompts_list_changed,
            "resourcesListChanged": self.filter.resources_list_changed,
            "resourceSubscriptions": self.filter.resource_subscriptions,
        });
        let wanted = filter.as_object().into_iter().flatten();
        let wanted =
            wanted.filter(|(_, value)| **value != Value::Bool(false) && **value != Value::Array(vec![]));
        let wanted: serde_json::Map<_, _> = wanted.map(|(key, value)| (key.clone(), value.clone())).collect();
        let acknowledged = self.notification(
            "notifications/subscriptions/acknowledged",
            &format!("\"notifications\":{}", Value::Object(wanted)),
        );
        self.due.push(acknowledged);
        self
    }

    /// The next notification; `None` when the server stops, or the client has lost its right to be here. `is_watched` says which resources the
    /// client wants to hear of besides those of its filter, `log_level` which log entries, as a place in `LEVELS`.
    pub(super) async fn next(
        &mut self,
        is_watched: impl Fn(&str) -> bool,
        log_level: impl Fn() -> Option<usize>,
    ) -> Option<String> {
        loop {
            if let Some(line) = self.due.pop() {
                return Some(line);
            }
            tokio::select! {
                () = self.stopping.cancelled() => return None,
                rights = self.access.changed() => {
                    self.cx.caller = rights.ok()?.caller;
                    self.compare();
                }
                changed = self.swaps.changed() => {
                    changed.ok()?;
                    self.compare();
                }
                log = self.logs.recv() => match log {
                    Ok(log) => self.logged(&log, log_level()),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                update = self.updates.recv() => match update {
                    Ok(update) => self.updated(&update, &is_watched),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            }
        }
    }

    /// Notes which lists are others now.
    fn compare(&mut self) {
        let now = self.gateway.fingerprints(&self.cx);
        let before = std::mem::replace(&mut self.told, now);
        let changed = [
            ("resources", self.filter.resources_list_changed && before.resources != now.resources),
            ("prompts", self.filter.prompts_list_changed && before.prompts != now.prompts),
            ("tools", self.filter.tools_list_changed && before.tools != now.tools),
        ];
        for (what, _) in changed.into_iter().filter(|(_, is_changed)| *is_changed) {
            let line = self.notification(&format!("notifications/{what}/list_changed"), "");
            self.due.push(line);
        }
    }

    fn logged(&mut self, told: &ServiceLog, least: Option<usize>) {
        let grave = LEVELS.iter().position(|name| *name == told.log.level).unwrap_or(LEVELS.len());
        if least.is_some_and(|least| grave >= least) && self.gateway.may_hear(&self.cx, told) {
            self.due.push(envelope::notification("notifications/message", told.log.entry.get()));
        }
    }

    fn updated(&mut self, update: &ResourceUpdate, is_watched: &impl Fn(&str) -> bool) {
        for name in self.gateway.names_of(&self.cx, update) {
            if !self.filter.resource_subscriptions.contains(&name) && !is_watched(&name) {
                continue;
            }
            let uri = format!("\"uri\":{}", Value::from(name));
            let line = self.notification("notifications/resources/updated", &uri);
            self.due.push(line);
        }
    }

    /// A notification with these fields, and with the subscription it belongs to.
    fn notification(&self, method: &str, fields: &str) -> String {
        let meta = self.subscription.as_ref().map(|id| {
            let comma = if fields.is_empty() { "" } else { "," };
            format!("{comma}\"_meta\":{{\"{SUBSCRIPTION_ID}\":{}}}", id.get())
        });
        match (fields, meta) {
            ("", None) => format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}"),
            (fields, meta) => {
                envelope::notification(method, &format!("{{{fields}{}}}", meta.unwrap_or_default()))
            }
        }
    }
}
