//! Requests without a response yet, so that their clients can cancel them.

use mcp::Message;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// So many that two threads hardly ever meet at one.
const SHARDS: usize = 64;

/// The pending requests. They come and go with every call: a map without locks would have to bury each of
/// them, which costs more than a lock that nobody waits for.
pub(super) struct PendingRequests {
    hasher: RandomState,
    /// By a keyed hash of session and id, which also says where.
    shards: [Mutex<Tokens>; SHARDS],
}

type Tokens = HashMap<u64, CancellationToken, foldhash::fast::RandomState>;

impl Default for PendingRequests {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

/// A pending request, until dropped.
pub(super) struct PendingRequest {
    requests: Arc<PendingRequests>,
    key: u64,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.requests.shard(self.key).remove(&self.key);
    }
}

impl PendingRequests {
    /// Notes a request of a session, unless another one of that id is pending.
    pub(super) fn begin(
        self: &Arc<Self>,
        session: &str,
        id: &RawValue,
        cancel: &CancellationToken,
    ) -> Option<PendingRequest> {
        let key = self.hasher.hash_one((session, id.get()));
        match self.shard(key).entry(key) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                place.insert(cancel.clone());
                Some(PendingRequest { requests: self.clone(), key })
            }
        }
    }

    /// Cancels the request that a `notifications/cancelled` of its session names; one that has ended, or that
    /// another session has sent, is none of them.
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
fn cancelled_id<'a>(message: &Message<'a>) -> Option<&'a RawValue> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
    }
    message.params::<Cancelled<'a>>().ok().map(|cancelled| cancelled.request_id)
}
