//! Requests under way over HTTP, so that their clients can take them back.

use mcp::Message;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// So many that two threads hardly ever meet at one.
const SHARDS: usize = 64;

/// The requests under way. They come and go with every call: a map without locks would have to bury each of
/// them, which costs more than a lock that nobody waits for.
pub(super) struct Flights {
    hasher: RandomState,
    /// By a keyed hash of session and id, which also says where.
    shards: [Mutex<Tokens>; SHARDS],
}

type Tokens = HashMap<u64, CancellationToken, foldhash::fast::RandomState>;

impl Default for Flights {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

/// A request under way, until dropped.
pub(super) struct Flight {
    flights: Arc<Flights>,
    key: u64,
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.shard(self.key).remove(&self.key);
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
        self.shard(key).insert(key, cancel.clone());
        Flight { flights: self.clone(), key }
    }

    /// The client takes a request back.
    pub(super) fn cancel(&self, session: &str, message: &Message<'_>) {
        let Some(id) = cancelled_id(message) else { return };
        let key = self.hasher.hash_one((session, id.get()));
        let token = self.shard(key).get(&key).cloned();
        // Not under the lock, as it wakes whoever works on the request.
        if let Some(token) = token {
            token.cancel();
        }
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Tokens> {
        let at = usize::try_from(key % SHARDS as u64).unwrap_or_default();
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
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
