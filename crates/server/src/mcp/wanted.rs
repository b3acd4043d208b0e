//! Notifications that a client wants while its request runs: progress, and log entries from a level on.

use super::request::LEVELS;
use mcp::modern::Meta;
use mcp::{Era, envelope};
use serde_json::value::RawValue;
use tool::{Context, Event, EventReceiver, Events};

/// What may wait for a client that reads slowly; progress beyond it is dropped.
const QUEUE: usize = 64;

/// What a client wants to be told while it waits.
pub(super) struct WantedNotifications {
    progress_token: Option<Box<RawValue>>,
    /// The least grave level, as a place in `LEVELS`; a small number, as each request that runs has one.
    log_level: Option<u8>,
}

impl WantedNotifications {
    /// With a handshake, log entries come down to the level that was set; without one, only if asked for.
    pub(super) fn of(era: Era, meta: &Meta<'_>, set_level: usize) -> Self {
        let level = |name: &str| place(LEVELS.iter().position(|level| *level == name)?);
        Self {
            progress_token: meta.progress_token.map(ToOwned::to_owned),
            log_level: match era {
                Era::Legacy => place(set_level),
                Era::Modern => meta.log_level.as_deref().and_then(level),
            },
        }
    }

    /// Has the events of a call come out here, if any are wanted.
    pub(super) fn listen(&self, cx: &mut Context) -> Option<EventReceiver> {
        if self.progress_token.is_none() && self.log_level.is_none() {
            return None;
        }
        let (emitter, rx) = Events::channel(QUEUE);
        cx.events = emitter;
        Some(rx)
    }

    /// An event as the message in which the client hears of it.
    pub(super) fn notification(&self, event: Event) -> Option<String> {
        match event {
            Event::Progress { progress, total, message } => {
                let token = self.progress_token.as_ref()?;
                let mut params = format!("{{\"progressToken\":{},\"progress\":{progress}", token.get());
                if let Some(total) = total {
                    params.push_str(&format!(",\"total\":{total}"));
                }
                if let Some(message) = message {
                    params.push_str(&format!(",\"message\":{}", serde_json::Value::from(message)));
                }
                params.push('}');
                Some(envelope::notification("notifications/progress", &params))
            }
            Event::Log { level, entry } => {
                let grave = LEVELS.iter().position(|name| *name == level).unwrap_or(LEVELS.len());
                (grave >= usize::from(self.log_level?))
                    .then(|| envelope::notification("notifications/message", entry.get()))
            }
            Event::Content(_) | Event::Step(_) => None,
        }
    }
}

/// There are eight of them.
fn place(level: usize) -> Option<u8> {
    u8::try_from(level).ok()
}
