//! Requests under way over HTTP, so that their clients can take them back.

use mcp::Message;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The requests under way, by a keyed hash of their session and id.
#[derive(Default)]
pub(super) struct Flights {
    hasher: RandomState,
    tokens: papaya::HashMap<u64, CancellationToken>,
}

/// A request under way, until dropped.
pub(super) struct Flight {
    flights: Arc<Flights>,
    key: u64,
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.tokens.pin().remove(&self.key);
    }
}

impl Flights {
    /// A request has begun.
    pub(super) fn begin(
        self: &Arc<Self>,
        session: &str,
        id: &RawValue,
        cancel: &CancellationToken,
    ) -> Flight {
        let key = self.hasher.hash_one((session, id.get()));
        self.tokens.pin().insert(key, cancel.clone());
        Flight { flights: self.clone(), key }
    }

    /// The client takes a request back.
    pub(super) fn cancel(&self, session: &str, message: &Message<'_>) {
        if let Some(id) = cancelled_id(message)
            && let Some(token) = self.tokens.pin().get(&self.hasher.hash_one((session, id.get())))
        {
            token.cancel();
        }
    }
}

/// The id in a `notifications/cancelled`.
pub(super) fn cancelled_id<'a>(message: &Message<'a>) -> Option<&'a RawValue> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
    }
    message.params::<Cancelled<'a>>().ok().map(|cancelled| cancelled.request_id)
}
