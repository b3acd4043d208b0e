//! The port to queues of this program's own: messages that wait in its database, and calls that are made later.

use crate::{Result, TenantId};
use async_trait::async_trait;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use tokio::sync::watch;

/// What is put behind the name of a queue for the one that takes its dead letters.
pub const DEAD: &str = ".dead";

/// The header that says why a message is among the dead letters.
pub const DEAD_REASON: &str = "x-dead-reason";

/// A message that is to wait.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// What it is known by.
    pub id: String,
    /// What it says.
    pub body: Box<RawValue>,
    /// What it is about, where that was said.
    pub key: Option<String>,
    /// What travels along.
    pub headers: BTreeMap<String, String>,
    /// How long nobody is to get it.
    pub delay: Duration,
}

/// A key that a message is published once for, and what whoever asks again is told; its place is put in.
#[derive(Debug, Clone)]
pub struct OnceKey {
    /// What the key belongs to.
    pub scope: String,
    /// The key as it was begun.
    pub key: String,
    /// An object, which gets the `position`.
    pub result: Map<String, Value>,
}

/// What became of a new message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Its number in the queue.
    pub position: i64,
    /// When it can be had, in milliseconds since 1970.
    pub available_at: i64,
}

/// A message that waits.
#[derive(Debug, Clone)]
pub struct QueuedMessage {
    /// What it is known by.
    pub id: String,
    /// What it says.
    pub body: Box<RawValue>,
    /// What it is about, where that was said.
    pub key: Option<String>,
    /// What travels along.
    pub headers: BTreeMap<String, String>,
    /// When it was published, in milliseconds since 1970.
    pub published_at: i64,
    /// Its number in the queue.
    pub position: i64,
    /// The how manieth delivery this is, from 1.
    pub attempt: u32,
}

impl QueuedMessage {
    /// What the message is settled by.
    #[must_use]
    pub fn claim(&self) -> Claim {
        Claim { position: self.position, attempt: self.attempt }
    }
}

/// A message that is somebody's for a while: whoever comes too late has an older attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Its number in the queue.
    pub position: i64,
    /// The how manieth delivery it is.
    pub attempt: u32,
}

/// In which order messages are claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The longest due first, as many at once as there are.
    Any,
    /// One at a time: nobody gets the next one before the first is settled.
    Strict,
}

/// What becomes of a message that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It is done with, and goes.
    Done,
    /// It comes again, after this time at the earliest.
    Again(Duration),
    /// It comes again at once, and this delivery does not count.
    Back,
    /// It goes to the dead letters for this reason.
    Dead(String),
}

/// A call that is to be made at a later time.
#[derive(Debug, Clone)]
pub struct LaterCall {
    /// What it is known by.
    pub id: String,
    /// The address of the tool. Calls to one service are made one after the other, in order of their time.
    pub uri: String,
    /// An object.
    pub arguments: Box<RawValue>,
    /// How much later.
    pub delay: Duration,
}

/// Messages that wait durably, and calls that wait for their time. Every name belongs to one tenant.
#[async_trait]
pub trait Queue: fmt::Debug + Send + Sync + 'static {
    /// Keeps the message; it is durable when this returns.
    ///
    /// # Errors
    /// `RateLimited` when the tenant has no room for more, and what keeps it from being written.
    async fn publish(&self, tenant: &TenantId, queue: &str, message: NewMessage) -> Result<Published>;

    /// The same together with the end of its key, both or neither; nothing where the key has its end already.
    ///
    /// # Errors
    /// As `publish`.
    async fn publish_once(
        &self,
        tenant: &TenantId,
        queue: &str,
        message: NewMessage,
        key: OnceKey,
    ) -> Result<Option<Published>>;

    /// The next messages that could be had behind the first `skip`, left where they are.
    ///
    /// # Errors
    /// What keeps them from being read.
    async fn peek(
        &self,
        tenant: &TenantId,
        queue: &str,
        skip: usize,
        max: usize,
    ) -> Result<Vec<QueuedMessage>>;

    /// Takes the next messages for `lease`: whoever does not settle or renew them by then loses them to others.
    ///
    /// # Errors
    /// What keeps them from being taken.
    async fn claim(
        &self,
        tenant: &TenantId,
        queue: &str,
        max: usize,
        order: Order,
        lease: Duration,
    ) -> Result<Vec<QueuedMessage>>;

    /// Has a message for `lease` again.
    ///
    /// # Errors
    /// `Missing` when somebody else has it by now, and what keeps it from being renewed.
    async fn renew(&self, tenant: &TenantId, queue: &str, claim: Claim, lease: Duration) -> Result<()>;

    /// Says what becomes of a message that was claimed.
    ///
    /// # Errors
    /// `Missing` when somebody else has it by now, and what keeps it from being written.
    async fn settle(
        &self,
        tenant: &TenantId,
        queue: &str,
        claim: Claim,
        settlement: Settlement,
    ) -> Result<()>;

    /// Ticks when this process has put something into a queue. What others put there is seen by looking.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Keeps a call for later, and says when it will be made at the earliest, in milliseconds since 1970.
    ///
    /// # Errors
    /// `RateLimited` when the tenant has too many, and what keeps it from being written.
    async fn call_later(&self, tenant: &TenantId, call: LaterCall) -> Result<i64>;

    /// The right to be the only process that does what `name` says; nothing when another has it.
    ///
    /// # Errors
    /// What keeps it from being had.
    async fn hold(&self, tenant: &TenantId, name: &str) -> Result<Option<Box<dyn Hold>>>;
}

/// The right to be the only process that does something; it ends when it is dropped, after a while.
#[async_trait]
pub trait Hold: Send + Sync {
    /// Keeps the right; returns only when it is lost.
    async fn lost(&self);

    /// Gives it back at once.
    async fn release(&self);
}
