//! What a trigger is set to, as JSON: for those who keep it and show it.

use super::trigger::{CatchUp, Overlap, Source, Trigger, WebhookAuth};
use serde_json::{Value, json};
use std::time::Duration;

impl Trigger {
    /// Its type, as documents say it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.source {
            Source::Schedule { .. } => "schedule",
            Source::Webhook { .. } => "webhook",
            Source::Message { .. } => "message",
            Source::Table { .. } => "table",
            Source::File { .. } => "file",
        }
    }

    /// The fields of its type with their defaults, times in milliseconds. `inputs` and `dedupe` stay in the document.
    pub(crate) fn settings(&self) -> Value {
        match &self.source {
            Source::Schedule { cron, catch_up, overlap, .. } => json!({
                "cron": cron.to_string(),
                "catch_up": catch_up.as_str(),
                "overlap": overlap.as_str(),
            }),
            Source::Webhook { auth, header, prefix, tolerance } => json!({
                "auth": auth.as_str(), "header": header, "prefix": prefix, "tolerance": tolerance.map(milliseconds),
            }),
            Source::Message { from, limit } => json!({ "from": from.to_string(), "limit": limit }),
            Source::Table { table, json_path, on } => {
                json!({ "table": table, "json_path": json_path, "on": on })
            }
            Source::File { from, prefix, every } => {
                json!({ "from": from.to_string(), "prefix": prefix, "every": milliseconds(*every) })
            }
        }
    }
}

impl CatchUp {
    /// The word of documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Last => "last",
            Self::All => "all",
        }
    }
}

impl Overlap {
    /// The word of documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Skip => "skip",
            Self::Allow => "allow",
        }
    }
}

impl WebhookAuth {
    /// The word of documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Hmac => "hmac",
            Self::Standard => "standard",
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
