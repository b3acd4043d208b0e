//! Requests that we have sent to clients — elicitation, sampling, roots — until their responses arrive.

use mcp::Message;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tool::{Error, Result};

/// All of one door together.
const MAX_PENDING: usize = 10_000;

/// Who waits for which response.
#[derive(Default)]
pub(super) struct ServerRequests {
    pending: Mutex<HashMap<String, Pending>>,
    /// No response comes any more.
    is_closed: AtomicBool,
}

struct Pending {
    /// Nobody else's response counts.
    owner: String,
    response: oneshot::Sender<Result<Box<RawValue>>>,
}

/// Ends the wait when dropped.
pub(super) struct Forget {
    requests: Arc<ServerRequests>,
    id: String,
}

impl Drop for Forget {
    fn drop(&mut self) {
        self.requests.pending().remove(&self.id);
    }
}

type Expected = (String, oneshot::Receiver<Result<Box<RawValue>>>, Forget);

/// Whether one more may wait. Where it gets crowded no tenant, which the name of an owner begins with, has more than its
/// share: nobody keeps the others from being asked.
pub(super) fn has_room<'a, I: Iterator<Item = &'a str>>(
    count: usize,
    most: usize,
    owner: &str,
    owners: impl FnOnce() -> I,
) -> bool {
    if count < most / 2 {
        return true;
    }
    let tenant_of = |owner: &'a str| owner.split('/').next();
    let tenant = owner.split('/').next();
    count < most && owners().filter(|owner| tenant_of(owner) == tenant).count() < most / 10
}

impl ServerRequests {
    fn pending(&self) -> MutexGuard<'_, HashMap<String, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id for a new request, and where its response will arrive.
    pub(super) fn expect(self: &Arc<Self>, owner: &str) -> Result<Expected> {
        let id = uuid::Uuid::new_v4().to_string();
        let (response, rx) = oneshot::channel();
        let mut pending = self.pending();
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Error::unavailable(
                "the client has closed its end of the connection and cannot answer",
            ));
        }
        if !has_room(pending.len(), MAX_PENDING, owner, || pending.values().map(|pending| &*pending.owner)) {
            return Err(Error::rate_limited("too many questions wait for answers"));
        }
        pending.insert(id.clone(), Pending { owner: owner.to_owned(), response });
        let forget = Forget { requests: self.clone(), id: id.clone() };
        Ok((id, rx, forget))
    }

    /// No response will come: whoever waits for one, or comes to wait, is told.
    pub(super) fn close(&self) {
        let mut pending = self.pending();
        self.is_closed.store(true, Ordering::Relaxed);
        pending.clear();
    }

    /// Takes a response. One that nobody waits for is ignored, and so is another client's.
    pub(super) fn respond(&self, owner: &str, id: &RawValue, message: &Message<'_>) {
        let Ok(id) = serde_json::from_str::<String>(id.get()) else { return };
        let mut pending = self.pending();
        if pending.get(&id).is_none_or(|request| request.owner != owner) {
            return;
        }
        let Some(request) = pending.remove(&id) else { return };
        let response = match (message.result.filter(|result| result.get() != "null"), message.error) {
            (Some(result), _) => Ok(result.to_owned()),
            (None, Some(error)) => {
                let text = mcp::RpcError::from_raw(error).message;
                Err(Error::upstream(format!("the client refused: {text}")).relaying(error.to_owned()))
            }
            (None, None) => Err(Error::upstream("the client did not answer")),
        };
        // Whoever has stopped waiting does not need it.
        let _ = request.response.send(response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tenant_leaves_room_for_the_others() {
        let requests = Arc::new(ServerRequests::default());
        let fill = |owner: &str| {
            let mut held = Vec::new();
            while let Ok(expected) = requests.expect(owner) {
                held.push(expected);
            }
            held
        };
        let of_one = fill("one/key/door/");
        assert_eq!(of_one.len(), MAX_PENDING / 2);
        assert!(requests.expect("one/another_key/door/").is_err());
        let of_two = fill("two/key/door/");
        assert_eq!(of_two.len(), MAX_PENDING / 10);
        let others: Vec<_> = (0..10).map(|tenant| fill(&format!("{tenant}/key/"))).collect();
        assert_eq!(others.iter().map(Vec::len).sum::<usize>(), MAX_PENDING / 10 * 4, "all together");
        drop(of_one);
        assert!(requests.expect("one/key/door/").is_ok());
    }
}
