//! What a text of a client turned out to be, and why it may be turned away.

use super::request::Initialize;
use super::respond::Accepted;
use mcp::{Id, RpcError, envelope};
use tool::Context;

/// What a text turned out to be.
#[expect(clippy::large_enum_variant, reason = "requests are the rule, and a box would cost each of them")]
pub(super) enum Received {
    Message(Handled),
    /// One entry for each message of a batch that has a response.
    Batch(Vec<BatchEntry>),
    Refused(Refusal),
}

/// What is left to do about a message.
pub(super) enum Handled {
    Nothing,
    /// The client ends its connection.
    Exit,
    Initialize(Handshake),
    Request(Accepted),
}

/// A session begins, which each transport keeps in its own way.
pub(super) struct Handshake {
    pub(super) id: Id,
    pub(super) initialize: Initialize,
    pub(super) cx: Context,
    pub(super) owner: String,
}

/// A message of a batch that has a response.
#[expect(clippy::large_enum_variant, reason = "requests are the rule")]
pub(super) enum BatchEntry {
    Request(Accepted),
    Refused(Refusal),
}

/// Why a message is turned away before anybody works on it.
pub(super) struct Refusal {
    pub(super) fault: Fault,
    pub(super) id: Option<Id>,
    pub(super) error: RpcError,
}

/// What is wrong, for transports that have a word of their own for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The message as such: its envelope, its version, its headers.
    Message,
    /// There is no such session.
    Session,
    /// There is no such method.
    Method,
    /// What is asked.
    Request,
}

impl Refusal {
    pub(super) fn new(fault: Fault, error: RpcError) -> Self {
        Self { fault, id: None, error }
    }

    /// The response that says so.
    pub(super) fn response(&self) -> String {
        envelope::error(self.id.as_deref(), &self.error)
    }
}

impl From<RpcError> for Refusal {
    fn from(error: RpcError) -> Self {
        Self::new(Fault::Message, error)
    }
}
