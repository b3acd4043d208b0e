//! Listening: what services hand over by themselves, message by message, and what becomes of each.

use crate::{Context, Result};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What of a service can be listened to.
#[async_trait]
pub trait Triggers: Send + Sync {
    /// The names of the tools that can be listened to, in their order.
    fn sources(&self) -> Vec<String>;

    /// Hands every message to the sink until `cx.cancel` fires, and connects again by itself. Then it takes nothing
    /// new, and settles what is under way or leaves it to others. The deadline of `cx` does not count.
    ///
    /// # Errors
    /// What will not get better by itself: there is no such source, or it cannot be listened to.
    async fn listen(&self, cx: &Context, wanted: Subscription, sink: Arc<dyn Sink>) -> Result<()>;
}

/// Where messages go.
#[async_trait]
pub trait Sink: Send + Sync + 'static {
    /// Takes one message, which may have been delivered before under the same id. Only the answer settles it: while
    /// there is none, at most `max_in_flight` wait in memory and nothing more is fetched.
    async fn take(&self, delivery: Delivery) -> Verdict;
}

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is safe with whoever took it, and is acknowledged.
    Taken,
    /// It is to come again after this time. That counts as a failed attempt.
    Again(Duration),
    /// It cannot be used, and goes to the dead letters for this reason.
    Dead(String),
}

/// Who listens to what, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The name of the tool that would publish there.
    pub source: String,
    /// Those who listen under one name share the messages.
    pub group: String,
    /// Where a group begins that is new to a source which keeps what was read. A queue hands out all it has.
    pub from: Start,
    /// How many messages may be with the sink at once.
    pub max_in_flight: usize,
    /// After so many failed attempts a message is dead. A sink that cannot take anything for a while, e.g. because its
    /// database is away, sets the most there is and judges by [`Delivery::attempt`] itself.
    pub max_attempts: u32,
    /// One after the other, in their order.
    pub ordered: bool,
}

/// Where to begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Start {
    /// With what comes from now on.
    #[default]
    Latest,
    /// With the oldest that is there.
    Earliest,
}

/// One message on its way to a sink.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The same each time the message is delivered, and of no other message of its source.
    pub id: String,
    /// What it says, of the format and schema that its tool has.
    pub message: Box<RawValue>,
    /// What it is about, where that was said.
    pub key: Option<String>,
    /// What travelled along.
    pub headers: BTreeMap<String, String>,
    /// The how manieth attempt this is, from 1.
    pub attempt: u32,
    /// When it was published, in milliseconds since 1970, where that is known.
    pub published_at: Option<i64>,
    /// Where it stands in its source, in the words of the broker.
    pub position: String,
}

impl Subscription {
    /// The name of a group whose subscription has no other.
    #[must_use]
    pub fn default_group(cx: &Context, subscription: &str) -> String {
        format!("mcp-all-in-one.{}.{subscription}", cx.tenant)
    }

    /// A subscription with the usual patience: ten at once, five attempts.
    #[must_use]
    pub fn new(source: &str, group: &str) -> Self {
        Self {
            source: source.to_owned(),
            group: group.to_owned(),
            from: Start::default(),
            max_in_flight: 10,
            max_attempts: 5,
            ordered: false,
        }
    }
}
