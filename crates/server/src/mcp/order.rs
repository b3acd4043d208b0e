//! What a message of a client on a way of its own asks of us, read.

use super::Answered;
use super::asked::Asked;
use super::conversation::Wishes;
use mcp::{Era, Version};
use serde_json::value::RawValue;

/// What a message asks of us.
pub(super) enum Read {
    /// An answer under this id, if what is asked can be understood.
    Request(Box<RawValue>, Answered<Request>),
    Nothing,
    Exit,
}

/// A request, read.
pub(super) enum Request {
    Shutdown,
    Other(Box<Order>),
}

/// What is asked, and how.
pub(super) struct Order {
    pub(super) version: Version,
    pub(super) asked: Asked,
    /// What the client says it can do, if it says so with each request.
    pub(super) capabilities: Option<Box<RawValue>>,
    pub(super) wishes: Wishes,
}

impl Request {
    pub(super) fn is_initialize(&self) -> bool {
        matches!(self, Self::Other(order) if matches!(order.asked, Asked::Initialize(_)))
    }

    /// It says itself in which version it is written.
    pub(super) fn is_modern(&self) -> bool {
        matches!(self, Self::Other(order) if order.version.era() == Era::Modern)
    }
}
